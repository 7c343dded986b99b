/**
 * Stored bytes on their way out: handed on as they are asked for, checked as they pass.
 *
 * Invariants:
 * - nothing is read ahead of the consumer;
 * - a body that is shorter or longer than promised, or whose digest differs, ends with an error and never with its end;
 * - the body is closed once: at its end, on an error, on cancel, and on abort, also when nothing was read.
 */
import { createHash } from 'node:crypto';
import { ArtifactIntegrityError } from './artifact-errors.ts';
import type { OutgoingBody } from './object-storage.ts';

export interface StreamChecks {
  readonly ref: string;
  readonly expectedBytes: number;
  /** `sha-256:<hex>` of the whole body, when it is to be checked. */
  readonly digest?: string;
  readonly signal?: AbortSignal;
  /** Makes the store's error out of the technology's. */
  readonly wrapFailure: (error: unknown) => Error;
}

/** Makes the stream that a reader gets. */
export function checkedStream(body: OutgoingBody, checks: StreamChecks): ReadableStream<Uint8Array> {
  const hash = checks.digest === undefined ? undefined : createHash('sha256');
  let seen = 0;
  let closed = false;
  let onAbort: (() => void) | undefined;

  const close = async () => {
    if (closed) return;
    closed = true;
    if (onAbort !== undefined) checks.signal?.removeEventListener('abort', onAbort);
    await body.close();
  };

  const verifyEnd = () => {
    if (seen !== checks.expectedBytes) throw damaged(checks, `${seen} bytes came of ${checks.expectedBytes}`);
    if (hash !== undefined && `sha-256:${hash.digest('hex')}` !== checks.digest)
      throw damaged(checks, 'its digest differs');
  };

  /** The next chunk that holds anything, or undefined after a good end. */
  const readChunk = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      const step = await body.chunks.next();
      if (step.done) {
        verifyEnd();
        return undefined;
      }
      seen += step.value.length;
      if (seen > checks.expectedBytes) throw damaged(checks, `more than ${checks.expectedBytes} bytes came`);
      hash?.update(step.value);
      if (step.value.length > 0) return step.value;
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (checks.signal === undefined) return;
        onAbort = () => {
          controller.error(checks.signal?.reason);
          close().catch(() => {});
        };
        if (checks.signal.aborted) onAbort();
        else checks.signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        try {
          const chunk = await readChunk();
          if (closed) return;
          if (chunk !== undefined) controller.enqueue(chunk);
          else {
            await close();
            controller.close();
          }
        } catch (error) {
          if (closed) return;
          await close().catch(() => {});
          controller.error(error instanceof ArtifactIntegrityError ? error : checks.wrapFailure(error));
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}

function damaged(checks: StreamChecks, finding: string): ArtifactIntegrityError {
  return new ArtifactIntegrityError(checks.ref, finding);
}
