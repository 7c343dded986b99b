/**
 * The artifacts of one attempt: each is announced by a staged row, then put, then committed by the transaction that
 * makes use of it (DESIGN 12). What an attempt leaves behind is swept.
 */
import { newArtifactRef } from '@muster/artifacts';
import type { ArtifactSink, MintInput } from '@muster/envelope';
import { scopeOf } from '@muster/host';
import { type ArtifactCommit, type RunRecord, stageArtifact } from '@muster/results';
import type { WorkerContext } from './worker-context.ts';

/** What an attempt holds: the run, the chunk when it is a chunk's, and the fence. */
export interface Attempt {
  readonly run: RunRecord;
  readonly chunkId?: string;
  readonly fence: number;
}

const PURPOSES: Readonly<Record<string, string>> = { 'recording/chart-walk': 'walk', 'recording/run': 'recording' };

export class AttemptArtifacts implements ArtifactSink {
  readonly #context: WorkerContext;
  readonly #attempt: Attempt;
  readonly #done: ArtifactCommit[] = [];

  constructor(context: WorkerContext, attempt: Attempt) {
    this.#context = context;
    this.#attempt = attempt;
  }

  /** What was put, for the transaction that commits it. */
  get commits(): readonly ArtifactCommit[] {
    return this.#done;
  }

  async put(
    input: Omit<MintInput, 'data'> & { readonly data: string | Uint8Array },
  ): Promise<{ readonly ref: string }> {
    const { run, chunkId, fence } = this.#attempt;
    const { db, store, workerId } = this.#context;
    const scope = scopeOf(run);
    const ref = newArtifactRef();
    await stageArtifact(db, {
      ref,
      tenant: run.tenant,
      sessionId: run.sessionId,
      runId: run.id,
      ...(chunkId !== undefined && { chunkId }),
      fence,
      purpose: PURPOSES[input.kind] ?? input.kind.slice(input.kind.indexOf('/') + 1),
      owner: workerId,
      kind: input.kind,
      mediaType: input.mediaType,
      storeConversation: scope.conversationId,
    });
    const { meta } = await store.put(scope, { ...input, ref, digest: 'sha-256' });
    this.#done.push({ ref, bytes: meta.bytes, ...(meta.digest !== undefined && { digest: meta.digest }) });
    return { ref };
  }
}
