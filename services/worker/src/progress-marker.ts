import { type Database, markProgress, type RunRecord, runProgress } from '@muster/results';

const EVERY_MS = 1000;

/** Writes progress marks into a run's history, at most one a second and run from this worker; the row keeps it to 100. */
export class ProgressMarker {
  readonly #db: Database;
  readonly #elapsedMs: () => number;
  readonly #noted = new Map<string, number>();

  constructor(db: Database, elapsedMs: () => number = () => performance.now()) {
    this.#db = db;
    this.#elapsedMs = elapsedMs;
  }

  /** Notes that a chunk of the run was settled. */
  async note(run: RunRecord): Promise<void> {
    const now = this.#elapsedMs();
    for (const [runId, at] of this.#noted) if (now - at >= EVERY_MS) this.#noted.delete(runId);
    if (this.#noted.has(run.id)) return;
    this.#noted.set(run.id, now);
    const progress = await runProgress(this.#db, { tenant: run.tenant, runId: run.id });
    if (progress === undefined || progress.total === null || progress.total === 0) return;
    const percent = Math.floor((100 * progress.settled) / progress.total);
    if (percent >= 1 && percent < 100) await markProgress(this.#db, run.id, percent);
  }
}
