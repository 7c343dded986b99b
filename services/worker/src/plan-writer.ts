/**
 * Takes the pages of a plan: cuts them into chunks and writes those under the run's fence.
 *
 * Invariant: what ends the writing is remembered here. It is thrown through the plan chart, and a chart may swallow it.
 */
import { type DryRunNote, type PlannedSubject, RunFailure } from '@muster/envelope';
import { getTenantQuota, type PlannedChunk, type RunClaim, writeChunks } from '@muster/results';
import { CanaryBuffer, chooseCanary } from './canary.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { TargetCount } from './target-count.ts';
import type { WorkerContext } from './worker-context.ts';

/** Thrown through the plan chart when the fence has moved on: somebody else plans this run now. */
class FenceLostError extends Error {
  override readonly name = 'FenceLostError';
}

export interface PlanWriting {
  readonly chunkSize: number;
  /** Whether targets are counted: for a dry run, and for a question. */
  readonly countsTargets: boolean;
  /** Notes an outage while chunks are written. */
  noting<T>(work: Promise<T>): Promise<T>;
}

export class PlanWriter {
  readonly #context: WorkerContext;
  readonly #claim: RunClaim;
  readonly #maxSubjects: number | null;
  readonly #noting: PlanWriting['noting'];
  readonly #buffer: Pick<ChunkBuffer, 'add' | 'flush'>;
  readonly #targets: TargetCount | undefined;
  #lost = false;
  #refusal: RunFailure | undefined;

  private constructor(context: WorkerContext, claim: RunClaim, options: PlanWriting, maxSubjects: number | null) {
    const { canaryPercent, id } = claim.run;
    const openBuffer = (wave: number) =>
      new ChunkBuffer(options.chunkSize, context.newId, (chunkId, items) => context.box.seal(items, chunkId), wave);
    this.#context = context;
    this.#claim = claim;
    this.#maxSubjects = maxSubjects;
    this.#noting = options.noting;
    this.#buffer =
      canaryPercent === null ? openBuffer(0) : new CanaryBuffer(chooseCanary(id, canaryPercent), openBuffer);
    this.#targets = options.countsTargets ? new TargetCount() : undefined;
  }

  static async open(context: WorkerContext, claim: RunClaim, options: PlanWriting): Promise<PlanWriter> {
    const quota = await getTenantQuota(context.db, claim.run.tenant);
    return new PlanWriter(context, claim, options, quota?.maxSubjectsPerRun ?? null);
  }

  /** Somebody else plans this run now. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Why the plan went no further. */
  get refusal(): RunFailure | undefined {
    return this.#refusal;
  }

  /** What a dry run counted by target. */
  get targets(): DryRunNote['targets'] {
    return this.#targets?.note();
  }

  /** How many targets were counted. */
  get targetCount(): number | undefined {
    return this.#targets?.distinct;
  }

  /** Takes a page in. @throws RunFailure `quota_exceeded`; FenceLostError */
  async add(page: readonly PlannedSubject[]): Promise<void> {
    const planned = (page.at(-1)?.ordinal ?? -1) + 1;
    if (this.#maxSubjects !== null && planned > this.#maxSubjects) {
      this.#refusal = tooManyForTenant(this.#maxSubjects);
      throw this.#refusal;
    }
    this.#targets?.add(page);
    await this.#write(this.#buffer.add(page));
  }

  /** Writes what is left. */
  async end(): Promise<void> {
    await this.#write(this.#buffer.flush());
  }

  async #write(chunks: readonly PlannedChunk[]): Promise<void> {
    if (chunks.length === 0) return;
    const { fence, run } = this.#claim;
    const written = writeChunks(this.#context.db, { runId: run.id, fence, chunks });
    this.#lost ||= !(await this.#noting(written));
    if (this.#lost) throw new FenceLostError();
  }
}

/** The failure of a run whose plan finds more subjects than its tenant may have in a run. */
export function tooManyForTenant(limit: number): RunFailure {
  const message = `the plan found more than ${limit} subjects, the tenant's quota max_subjects_per_run`;
  return new RunFailure('quota_exceeded', message);
}
