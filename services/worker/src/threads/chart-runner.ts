/**
 * Where charts of subjects run. The worker asks for turns and does not know whether threads take them.
 */
import type { FleetTotals } from '@muster/envelope';
import type { StopReason } from '@muster/results';
import type { TurnResult, TurnSubject } from './turn-messages.ts';

/** A turn as the worker asks for it. */
export interface Turn {
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  readonly subjects: readonly TurnSubject[];
  readonly sliceMs: number;
  /** Its charts wait for tools, many subjects at once. */
  readonly waits: boolean;
  /** How long one subject may keep a thread's event loop from turning. */
  readonly subjectTimeoutMs: number;
  readonly stop: { readonly signal: AbortSignal; reason(): StopReason | undefined };
  readonly stopping: AbortSignal;
}

/** What a turn covered: the first subjects of it, in order. */
export interface TurnCover {
  readonly results: readonly TurnResult[];
  readonly totals: FleetTotals;
}

export interface ChartRunner {
  /** The digest of each definition that it runs, by name; known once it has started. */
  readonly definitions: ReadonlyMap<string, string>;
  start(): Promise<void>;
  /** Takes a turn; it covers the first subjects of it, perhaps all, perhaps (when the worker stops) none. */
  take(turn: Turn): Promise<TurnCover>;
  close(): Promise<void>;
}
