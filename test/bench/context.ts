import type { BackendName } from './stage.ts';

/** What a suite is given. */
export interface BenchContext {
  /** Fleet sizes, smallest first, when they were asked for. */
  readonly subjects: readonly number[] | undefined;
  readonly backends: readonly BackendName[];
  readonly limitMinutes: number;
  /** Aborted when the benchmark is told to stop. */
  readonly signal: AbortSignal;
  /** Told what is being measured, and what came of it. */
  readonly note: (words: string) => void;
}

/** Sweeps before the first one that counts: a worker in production is warm. */
export const WARM_UP_SUBJECTS = 2000;
