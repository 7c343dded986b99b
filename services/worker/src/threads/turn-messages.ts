/**
 * What the worker and its chart threads say to each other. Bulk travels as transferred bytes: a structured clone of a
 * subject would cost a quarter of what assessing it does (FACTS).
 */
import type { FleetTotals } from '@muster/envelope';
import type { StopReason, SubjectSettlement } from '@muster/results';
import type { SegmentPart } from '../walk-segment.ts';

/** What a thread is started with. */
export interface ThreadData {
  readonly runbooksModule: string | undefined;
  readonly buildId: string | undefined;
  /** One Int32: counted up while the thread's event loop turns. */
  readonly beat: SharedArrayBuffer;
}

/** A turn to take. */
export interface TurnRequest {
  readonly turn: number;
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  /** UTF-8 JSON of the turn's {@link TurnSubject}s, in order. */
  readonly subjects: Uint8Array;
  readonly sliceMs: number;
  /** One byte a subject: 0 waiting, 1 begun, 2 done. What a dead thread was in is read here. */
  readonly crumbs: SharedArrayBuffer;
  /** The run is to stop already. */
  readonly stop?: StopReason;
}

/** A subject as it travels to a thread. */
export type TurnSubject = readonly [
  ordinal: number,
  key: string,
  identity: string | null,
  target: string | null,
  subject: unknown,
];

export type ToThread =
  | { readonly type: 'turn'; readonly request: TurnRequest }
  /** Without a reason the worker stops: what was not assessed stays open. */
  | { readonly type: 'stop'; readonly turn: number; readonly reason?: StopReason };

export type FromThread =
  /** Loaded: the digest of each definition by its name. */
  | { readonly type: 'ready'; readonly definitions: readonly (readonly [name: string, digest: string])[] }
  /** Results of the next subjects in order: UTF-8 JSON of a {@link TurnBatch}. */
  | { readonly type: 'batch'; readonly turn: number; readonly bytes: Uint8Array }
  | { readonly type: 'end'; readonly turn: number };

/** How one subject ended, ready for its row: columns and evidence are JSON text. */
export interface TurnResult {
  readonly outcome: SubjectSettlement['outcome'];
  readonly verdict?: string;
  readonly standing?: 'ok' | 'problem' | 'declined';
  readonly reasonCode?: string;
  readonly reason: string;
  readonly columns: string;
  readonly evidence?: string;
  /** Its walk rows as NDJSON, with their size and hash; absent when there are none. */
  readonly walk?: SegmentPart;
}

export interface TurnBatch {
  readonly results: readonly TurnResult[];
  readonly totals: FleetTotals;
}
