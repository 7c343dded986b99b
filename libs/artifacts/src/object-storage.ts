/**
 * The small port under a store: bytes and a record under a key. An adapter carries the technology and nothing else;
 * scopes, refs, limits, digests, expiry and parents are the driver's (`object-artifact-store.ts`).
 *
 * Keys are path segments of `a-z A-Z 0-9 - _` joined by `/`; the last one is the ref.
 */

import type { PayloadEncoding } from './artifact-payload.ts';
import type { ArtifactMeta } from './artifact-store.ts';

/** What is known before the first byte. */
export interface ObjectRecord extends Omit<ArtifactMeta, 'bytes' | 'digest'> {
  readonly encoding: PayloadEncoding;
}

/** What is known after the last byte. */
export interface ObjectSeal {
  readonly bytes: number;
  readonly digest?: string;
}

/** The payload on its way in. Iterate it once, and ask for the seal when it has ended. */
export interface IncomingBody extends AsyncIterable<Uint8Array> {
  /** Whether the seal will carry a digest. */
  readonly wantsDigest: boolean;
  seal(): ObjectSeal;
}

/** An object as its storage describes it. */
export interface StoredObject {
  readonly record: ObjectRecord;
  readonly seal: ObjectSeal;
  /** The length of what really lies there; the driver compares it with the seal. */
  readonly storedBytes: number;
}

/** Stored bytes on their way out. `close` is called once, also when nothing was read. */
export interface OutgoingBody {
  readonly chunks: AsyncIterator<Uint8Array>;
  close(): void | Promise<void>;
}

/** One object of a listing. */
export interface ListedObject {
  readonly key: string;
  /** When it was written, by the storage's own clock: Unix milliseconds, or any number that grows with time. */
  readonly writtenAt: number;
}

/** What an {@link ObjectArtifactStore} stands on: keys, records and bytes. */
export interface ObjectStorage {
  /** Where it is, for messages: a folder, or a bucket and a host. Never a credential. */
  readonly place: string;

  /**
   * Writes an object so that it appears whole, in one step, after its body has ended; when the body throws, nothing
   * appears and that error comes out. With `exclusive` a key in use is left alone and answered with `taken`.
   */
  putObject(
    key: string,
    record: ObjectRecord,
    body: IncomingBody,
    options: { exclusive: boolean },
  ): Promise<'stored' | 'taken'>;

  headObject(key: string): Promise<StoredObject | null>;

  /** Opens an object, or `range` of it (`end` exclusive and above `start`). A range outside of it is an empty body. */
  getObject(
    key: string,
    range?: { start: number; end: number },
    signal?: AbortSignal,
  ): Promise<(StoredObject & { readonly body: OutgoingBody }) | null>;

  /** Removes an object and what an unfinished put of it left; nothing there is no error. */
  deleteObject(key: string): Promise<void>;

  /** Every object under a prefix that ends in `/`, in any order. */
  listObjects(prefix: string): AsyncIterable<ListedObject>;

  checkAvailable(): Promise<void>;

  sweepUnfinished(olderThanMs: number): Promise<number>;

  close(): Promise<void>;
}
