/**
 * A source on its way into a store: counted, limited and digested while it passes.
 *
 * Invariants:
 * - a chunk that goes over the limit is not handed on;
 * - the first error is remembered, so that the driver can tell a broken source from a broken store;
 * - whatever ends the passage early, the source is told to stop.
 */
import { createHash } from 'node:crypto';
import { ArtifactInvalidError, ArtifactTooLargeError } from './artifact-errors.ts';
import type { ArtifactSource } from './artifact-store.ts';
import type { IncomingBody, ObjectSeal } from './object-storage.ts';

export interface MeterOptions {
  readonly maxBytes: number;
  readonly declaredBytes?: number;
  readonly digest?: 'sha-256';
  readonly signal?: AbortSignal;
}

/** Measures a source as it is read. */
export class MeteredBody implements IncomingBody {
  readonly wantsDigest: boolean;
  /** The reason why the passage ended early, if it did and the store was not the reason. */
  failure: { readonly error: unknown } | undefined;
  readonly #source: ArtifactSource;
  readonly #options: MeterOptions;
  readonly #hash: ReturnType<typeof createHash> | undefined;
  #bytes = 0;
  #seal: ObjectSeal | undefined;

  constructor(source: ArtifactSource, options: MeterOptions) {
    this.#source = source;
    this.#options = options;
    this.wantsDigest = options.digest !== undefined;
    this.#hash = this.wantsDigest ? createHash('sha256') : undefined;
  }

  seal(): ObjectSeal {
    if (this.#seal === undefined) throw new Error('the seal was asked for before the body had ended');
    return this.#seal;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    const { signal } = this.#options;
    let iterator: AsyncIterator<Uint8Array> | undefined;
    let ended = false;
    try {
      iterator = (this.#source as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      for (;;) {
        const step = await unlessAborted(() => iterator!.next(), signal);
        if (step.done) break;
        this.#measure(step.value);
        if (step.value.length > 0) yield step.value;
      }
      ended = true;
      this.#finish();
    } catch (error) {
      this.failure ??= { error };
      throw error;
    } finally {
      // Not awaited: a source that hangs in next() would never answer.
      if (!ended) Promise.resolve(iterator?.return?.()).catch(() => {});
    }
  }

  #measure(chunk: unknown): void {
    if (!(chunk instanceof Uint8Array))
      throw new ArtifactInvalidError('the source gave a chunk that is not a Uint8Array');
    this.#bytes += chunk.length;
    const { maxBytes, declaredBytes } = this.#options;
    if (this.#bytes > maxBytes) throw new ArtifactTooLargeError({ bytes: this.#bytes, how: 'at least' }, maxBytes);
    if (declaredBytes !== undefined && this.#bytes > declaredBytes) throw wrongLength(declaredBytes, 'more');
    this.#hash?.update(chunk);
  }

  #finish(): void {
    const { declaredBytes } = this.#options;
    if (declaredBytes !== undefined && this.#bytes < declaredBytes) throw wrongLength(declaredBytes, `${this.#bytes}`);
    const digest = this.#hash === undefined ? {} : { digest: `sha-256:${this.#hash.digest('hex')}` };
    this.#seal = { bytes: this.#bytes, ...digest };
  }
}

function wrongLength(declared: number, given: string): ArtifactInvalidError {
  return new ArtifactInvalidError(`the source was declared as ${declared} bytes and gave ${given}`);
}

/** Waits for a step, but not longer than the signal lets it. */
async function unlessAborted<T>(step: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return step();
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([step(), aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
