/**
 * Objects in a bucket; `s3-artifacts.ts` states the layout and its invariants.
 *
 * What a failed write might have done is found out by its write id: a request that was repeated after its answer got
 * lost is refused the second time, though the first one stored the object.
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ArtifactIntegrityError } from './artifact-errors.ts';
import { readRecord } from './object-record.ts';
import type {
  IncomingBody,
  ListedObject,
  ObjectRecord,
  ObjectSeal,
  ObjectStorage,
  OutgoingBody,
  StoredObject,
} from './object-storage.ts';
import { takeFirstPart, uploadParts } from './s3-upload.ts';

/** User metadata: what is known of the artifact, and which write it came from. */
const RECORD_HEADER = 'muster-artifact';
const WRITE_HEADER = 'muster-write';
/** Present when the digest lies apart. */
const DIGEST_APART_HEADER = 'muster-digest';

export interface S3ObjectStorageOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
  readonly place: string;
  readonly partBytes: number;
  readonly uploadConcurrency: number;
  readonly conditionalWrites: boolean;
}

export class S3ObjectStorage implements ObjectStorage {
  readonly place: string;
  readonly #client: S3Client;
  readonly #options: S3ObjectStorageOptions;
  readonly #artifacts: string;

  constructor(options: S3ObjectStorageOptions) {
    this.place = options.place;
    this.#client = options.client;
    this.#options = options;
    this.#artifacts = `${options.prefix}artifacts/`;
  }

  async putObject(
    key: string,
    record: ObjectRecord,
    body: IncomingBody,
    options: { exclusive: boolean },
  ): Promise<'stored' | 'taken'> {
    const write = randomBytes(12).toString('hex');
    const target = {
      ...this.#at(key),
      ContentType: record.mediaType,
      ...(options.exclusive && this.#options.conditionalWrites ? { IfNoneMatch: '*' } : {}),
    };
    const first = await takeFirstPart(body, this.#options.partBytes);
    try {
      if (first.rest === undefined) {
        const Metadata = { [RECORD_HEADER]: encodeMetadata({ record, seal: body.seal() }), [WRITE_HEADER]: write };
        await this.#client.send(new PutObjectCommand({ ...target, Metadata, Body: first.bytes }));
      } else {
        const Metadata: Record<string, string> = { [RECORD_HEADER]: encodeMetadata({ record }), [WRITE_HEADER]: write };
        if (body.wantsDigest) Metadata[DIGEST_APART_HEADER] = 'apart';
        const chunks = this.#thenDigest(first.rest, key, write, body);
        await uploadParts(this.#client, { ...target, Metadata }, chunks, this.#options);
      }
      return 'stored';
    } catch (error) {
      const outcome = await this.#settleWrite(key, write, error);
      if (outcome === 'taken' && body.wantsDigest) await this.#deleteDigest(key, write).catch(() => {});
      if (outcome === 'unknown') throw error;
      return outcome;
    }
  }

  async headObject(key: string): Promise<StoredObject | null> {
    const found = await unlessMissing(this.#client.send(new HeadObjectCommand(this.#at(key))));
    return found === null ? null : this.#readObject(key, found.Metadata, found.ContentLength ?? 0);
  }

  async getObject(
    key: string,
    range?: { start: number; end: number },
    signal?: AbortSignal,
  ): Promise<(StoredObject & { body: OutgoingBody }) | null> {
    const command = new GetObjectCommand({
      ...this.#at(key),
      ...(range === undefined ? {} : { Range: rangeHeader(range) }),
    });
    let found: GetObjectCommandOutput | null;
    try {
      found = await unlessMissing(this.#client.send(command, signal === undefined ? {} : { abortSignal: signal }));
    } catch (error) {
      // Outside of the object, and any range of an empty one.
      if (statusOf(error) !== 416) throw error;
      const head = await this.headObject(key);
      return head === null ? null : { ...head, body: readableBody(undefined) };
    }
    if (found === null) return null;
    const body = readableBody(found.Body as Readable | undefined);
    const size = Number(found.ContentRange?.split('/')[1] ?? found.ContentLength ?? 0);
    try {
      const object = await this.#readObject(key, found.Metadata, size);
      if (object !== null) return { ...object, body };
    } catch (error) {
      await body.close();
      throw error;
    }
    await body.close();
    return null;
  }

  async deleteObject(key: string): Promise<void> {
    await unlessMissing(this.#client.send(new DeleteObjectCommand(this.#at(key))));
    for await (const { Key } of this.#listKeys(`${this.#digestsOf(key)}/`)) {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#options.bucket, Key }));
    }
  }

  async *listObjects(prefix: string): AsyncGenerator<ListedObject> {
    for await (const { Key, LastModified } of this.#listKeys(this.#artifacts + prefix)) {
      yield { key: Key.slice(this.#artifacts.length), writtenAt: LastModified?.getTime() ?? 0 };
    }
  }

  async checkAvailable(): Promise<void> {
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#options.bucket }));
  }

  async sweepUnfinished(olderThanMs: number): Promise<number> {
    const { bucket } = this.#options;
    const before = Date.now() - olderThanMs;
    let swept = 0;
    let marker: { KeyMarker?: string; UploadIdMarker?: string } = {};
    for (;;) {
      const page = await this.#client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: this.#artifacts, ...marker }),
      );
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Initiated === undefined || Initiated.getTime() > before) continue;
        await unlessMissing(this.#client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })));
        swept += 1;
      }
      if (!page.IsTruncated || page.NextKeyMarker === undefined) return swept;
      const { NextKeyMarker, NextUploadIdMarker } = page;
      marker = { KeyMarker: NextKeyMarker, ...(NextUploadIdMarker ? { UploadIdMarker: NextUploadIdMarker } : {}) };
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: this.#artifacts + key };
  }

  #digestsOf(key: string): string {
    return `${this.#options.prefix}digests/${key}`;
  }

  /** The chunks, and after the last one the digest, so that the upload is completed only when the digest is there. */
  async *#thenDigest(
    chunks: AsyncIterable<Uint8Array>,
    key: string,
    write: string,
    body: IncomingBody,
  ): AsyncGenerator<Uint8Array> {
    yield* chunks;
    const { digest } = body.seal();
    if (digest === undefined) return;
    const Key = `${this.#digestsOf(key)}/${write}`;
    await this.#client.send(new PutObjectCommand({ Bucket: this.#options.bucket, Key, Body: digest }));
  }

  async #deleteDigest(key: string, write: string): Promise<void> {
    const Key = `${this.#digestsOf(key)}/${write}`;
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#options.bucket, Key }));
  }

  /** What a refused last step means: ours after all, somebody else's, or still a failure. */
  async #settleWrite(key: string, write: string, error: unknown): Promise<'stored' | 'taken' | 'unknown'> {
    const isRefusal = [404, 409, 412].includes(statusOf(error) ?? 0);
    if (!isRefusal) return 'unknown';
    const found = await this.#client.send(new HeadObjectCommand(this.#at(key))).catch(() => undefined);
    if (found === undefined) return 'unknown';
    return found.Metadata?.[WRITE_HEADER] === write ? 'stored' : 'taken';
  }

  /** Reads an object's metadata; null when the object is not one of ours. */
  async #readObject(
    key: string,
    metadata: Record<string, string> | undefined,
    storedBytes: number,
  ): Promise<StoredObject | null> {
    const read = readRecord(decodeMetadata(metadata?.[RECORD_HEADER]));
    if (read === undefined) return null;
    const { record } = read;
    if (read.seal !== undefined) return { record, seal: read.seal, storedBytes };
    const write = metadata?.[WRITE_HEADER];
    const digest =
      metadata?.[DIGEST_APART_HEADER] === undefined ? undefined : await this.#readDigest(key, record, write);
    const seal: ObjectSeal = digest === undefined ? { bytes: storedBytes } : { bytes: storedBytes, digest };
    return { record, seal, storedBytes };
  }

  async #readDigest(key: string, record: ObjectRecord, write: string | undefined): Promise<string> {
    const Key = `${this.#digestsOf(key)}/${write}`;
    const found = await unlessMissing(this.#client.send(new GetObjectCommand({ Bucket: this.#options.bucket, Key })));
    const digest = await found?.Body?.transformToString();
    if (digest === undefined) throw new ArtifactIntegrityError(record.ref, 'its digest is gone');
    return digest;
  }

  async *#listKeys(prefix: string): AsyncGenerator<{ Key: string; LastModified?: Date }> {
    let token: string | undefined;
    do {
      const page = await this.#client.send(
        new ListObjectsV2Command({
          Bucket: this.#options.bucket,
          Prefix: prefix,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      );
      for (const { Key, LastModified } of page.Contents ?? []) {
        if (Key !== undefined) yield { Key, ...(LastModified === undefined ? {} : { LastModified }) };
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }
}

/** Metadata travel as HTTP headers: base64url is plain ASCII whatever a label says. */
function encodeMetadata(value: { record: ObjectRecord; seal?: ObjectSeal }): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decodeMetadata(value: string | undefined): string {
  return Buffer.from(value ?? '', 'base64url').toString('utf8');
}

function rangeHeader({ start, end }: { start: number; end: number }): string {
  return end === Number.MAX_SAFE_INTEGER ? `bytes=${start}-` : `bytes=${start}-${end - 1}`;
}

function readableBody(readable: Readable | undefined): OutgoingBody {
  if (readable === undefined) {
    return { chunks: { next: async () => ({ done: true, value: undefined }) }, close() {} };
  }
  // A destroyed response can still emit an error, which nobody would be listening for.
  readable.on('error', () => {});
  return {
    chunks: readable[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>,
    close: () => void readable.destroy(),
  };
}

/** A missing bucket is not a missing object: it says so wherever the service's answer has a body. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return null;
    throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } })?.$metadata?.httpStatusCode;
}
