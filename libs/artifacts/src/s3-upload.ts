/**
 * A payload on its way into a bucket: one part, or many.
 *
 * Invariant: the source is asked for more only as parts leave, so that a few parts are in memory and no more.
 */
import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';

export interface UploadTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly ContentType: string;
  readonly Metadata: Record<string, string>;
  readonly IfNoneMatch?: string;
}

/** The start of a payload: all of it in `bytes`, or, when it is longer, everything in `rest`. */
export type FirstPart = { bytes: Uint8Array; rest?: undefined } | { rest: AsyncIterable<Uint8Array> };

/** Reads until the payload has ended or is longer than a part. */
export async function takeFirstPart(body: AsyncIterable<Uint8Array>, partBytes: number): Promise<FirstPart> {
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let taken = 0;
  while (taken <= partBytes) {
    const step = await iterator.next();
    if (step.done) return { bytes: Buffer.concat(chunks) };
    chunks.push(step.value);
    taken += step.value.length;
  }
  return { rest: resume(chunks, iterator) };
}

/** Uploads in parts, and aborts the upload when the source or the service fails. */
export async function uploadParts(
  client: S3Client,
  target: UploadTarget,
  chunks: AsyncIterable<Uint8Array>,
  options: { partBytes: number; uploadConcurrency: number },
): Promise<void> {
  const body = Readable.from(chunks, { objectMode: false });
  try {
    await new Upload({
      client,
      params: { ...target, Body: body },
      partSize: options.partBytes,
      queueSize: options.uploadConcurrency,
    }).done();
  } finally {
    body.destroy();
  }
}

async function* resume(taken: Uint8Array[], iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    // Let go of one after the other: the list would keep the whole first part alive.
    for (let chunk = taken.shift(); chunk !== undefined; chunk = taken.shift()) yield chunk;
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) yield step.value;
  } finally {
    await iterator.return?.();
  }
}
