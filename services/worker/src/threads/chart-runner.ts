/**
 * Where charts of subjects run. The worker asks for turns and does not know whether threads take them.
 */
import type { CallPacer } from '@muster/envelope';
import type { StopReason } from '@muster/results';
import type { TurnCover } from './turn-cover.ts';
import type { TurnSubjects } from './turn-messages.ts';

/** A turn as the worker asks for it. */
export interface Turn {
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  readonly subjects: TurnSubjects;
  /** The turn is over the first so many of them. */
  readonly count: number;
  readonly sliceMs: number;
  /** Its charts wait for tools, many subjects at once. */
  readonly waits: boolean;
  /** How long one subject may keep a thread's event loop from turning. */
  readonly subjectTimeoutMs: number;
  readonly stop: { readonly signal: AbortSignal; reason(): StopReason | undefined };
  readonly stopping: AbortSignal;
}

export interface ChartRunner {
  /** The digest of each definition that it runs, by name; known once it has started. */
  readonly definitions: ReadonlyMap<string, string>;
  /** `pacer` holds the limits of the tools that charts call; without it they hold within this process. */
  start(pacer?: CallPacer): Promise<void>;
  /** Takes a turn; it covers the first subjects of it, perhaps all, perhaps (when the worker stops) none. */
  take(turn: Turn): Promise<TurnCover>;
  close(): Promise<void>;
}
