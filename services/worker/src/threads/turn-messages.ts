/**
 * What the worker and its chart threads say to each other. Bulk travels as bytes: a structured clone of a subject would
 * cost a quarter of what assessing it does (FACTS).
 */
import type { MessagePort } from 'node:worker_threads';
import type { StopReason, SubjectNames } from '@muster/results';
import type { TurnCover } from './turn-cover.ts';

/** What a thread is started with. */
export interface ThreadData {
  readonly runbooksModule: string | undefined;
  readonly buildId: string | undefined;
  /** One Int32: counted up while the thread's event loop turns. */
  readonly beat: SharedArrayBuffer;
  /** Where limits of tools are asked for. */
  readonly pacing: MessagePort;
}

/** Subjects of a chunk, as it holds them. */
export interface TurnSubjects {
  readonly firstOrdinal: number;
  readonly names: readonly SubjectNames[];
  /** UTF-8 JSON of the list of them. Only what runs the charts reads it. */
  readonly items: Uint8Array;
}

/** A turn to take. */
export interface TurnRequest {
  readonly turn: number;
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  readonly subjects: Omit<TurnSubjects, 'names'> & { readonly namesJson: string };
  /** The turn is over those from this place on, up to and without that. */
  readonly from: number;
  readonly to: number;
  readonly sliceMs: number;
  /** One byte a subject of the turn: 0 waiting, 1 begun, 2 done. What a dead thread was in is read here. */
  readonly crumbs: SharedArrayBuffer;
  /** The run is to stop already. */
  readonly stop?: StopReason;
}

export type ToThread =
  | { readonly type: 'turn'; readonly request: TurnRequest }
  /** Without a reason the worker stops: what was not assessed stays open. */
  | {
      readonly type: 'stop';
      readonly turn: number;
      readonly reason?: StopReason;
      /** What is under way is not waited for. */
      readonly atOnce?: boolean;
    };

export type FromThread =
  /** Loaded: the digest of each definition by its name. */
  | { readonly type: 'ready'; readonly definitions: readonly (readonly [name: string, digest: string])[] }
  /** The next subjects of the turn in order. */
  | { readonly type: 'batch'; readonly turn: number; readonly cover: TurnCover }
  | { readonly type: 'end'; readonly turn: number };
