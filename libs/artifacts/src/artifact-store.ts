/**
 * The artifact store port: payloads by reference, so that rows and messages carry a ref and not the bytes.
 *
 * Invariants, the same for every adapter (`src/contract` is their executable form):
 * - the scope comes first in every call, and the whole tuple isolates: a ref of another scope does not exist;
 * - missing, expired and foreign cannot be told apart: all three are null;
 * - an artifact is visible whole or not at all, and never changes after its put;
 * - limits are enforced here, before and while bytes go in.
 */
import type { ArtifactRef } from './artifact-ref.ts';

/** Whose artifact it is. Parts differ byte for byte: an absent part is not an empty one, and case counts. */
export interface ArtifactScope {
  readonly tenant?: string;
  readonly principal?: string;
  /** Not empty. A session's or run's id where no conversation exists. */
  readonly conversationId: string;
}

/** Where an artifact came from. */
export interface ArtifactOrigin {
  readonly runId?: string;
  readonly toolCallId?: string;
}

/** What is known about an artifact without reading it. */
export interface ArtifactMeta {
  readonly ref: ArtifactRef;
  readonly kind: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly label?: string;
  /** `sha-256:<hex>`, present when it was asked for at put. */
  readonly digest?: string;
  /** Unix milliseconds; from then on the artifact does not exist for readers. */
  readonly expiresAt?: number;
  readonly origin?: ArtifactOrigin;
  readonly parentRefs?: readonly ArtifactRef[];
  /** Unix milliseconds, by the clock of the process that put it. */
  readonly createdAt: number;
}

/** What a put says about its payload. Kind, mediaType, label, origin and parentRefs share 1,100 bytes as JSON. */
export interface PutArtifactDetails {
  readonly kind: string;
  /** `type/subtype`, perhaps with parameters; printable ASCII. */
  readonly mediaType: string;
  readonly label?: string;
  /** Asks for a digest, which is checked whenever the artifact is read whole. */
  readonly digest?: 'sha-256';
  readonly expiresAt?: number;
  readonly origin?: ArtifactOrigin;
  /** Each must exist in the same scope at put. */
  readonly parentRefs?: readonly ArtifactRef[];
  /** For a caller who wrote the ref down first. A ref in use in the scope is refused. */
  readonly ref?: ArtifactRef;
}

/** What `put` takes. */
export interface PutArtifactInput extends PutArtifactDetails {
  /**
   * A string or Uint8Array is kept byte for byte; anything else must be JSON. Object properties that are undefined are
   * left out and `toJSON` is honoured, as JSON does; what JSON would lose or change in silence is refused.
   */
  readonly data: unknown;
}

/** What `putStream` takes: the same, with a source instead of the payload. */
export interface PutArtifactStreamInput extends PutArtifactDetails {
  /** The length, if it is known before: over the limit it is refused at once, and a source of another length is refused. */
  readonly bytes?: number;
}

/** `swept` is always empty: no store throws others out to make room. */
export interface PutArtifactResult {
  readonly meta: ArtifactMeta;
  readonly swept: readonly ArtifactRef[];
}

/** What `get` gives. */
export interface GetArtifactResult {
  readonly meta: ArtifactMeta;
  /** As it was put: string, Uint8Array or parsed JSON. A streamed put comes back as Uint8Array. */
  readonly data: unknown;
}

/** Byte range: `start` inclusive (0), `end` exclusive (the length). Both are cut down to the artifact's length. */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number;
}

/** What `getStream` gives. */
export interface GetArtifactStreamResult {
  readonly meta: ArtifactMeta;
  /** Read it to the end or cancel it: an open body holds a connection or a file. */
  readonly body: ReadableStream<Uint8Array>;
  /** The range that `body` really is, after cutting it to the artifact's length. */
  readonly range: { readonly start: number; readonly end: number };
}

/** One page of a listing, newest first. */
export interface ArtifactPage {
  readonly artifacts: readonly ArtifactMeta[];
  /** Present when there is more. A page may be short, even empty, and still have one. */
  readonly cursor?: string;
}

/** Everything that yields chunks; a web ReadableStream and a Node Readable are both such. */
export type ArtifactSource = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** The store port. The scope comes first in every call: a ref alone opens nothing. */
export interface ArtifactStore {
  /** The limit of one artifact, in bytes. */
  readonly maxBytes: number;

  /**
   * Keeps a payload.
   * @throws ArtifactTooLargeError, ArtifactInvalidError, ArtifactParentUnknownError, ArtifactRefTakenError,
   * ArtifactStoreUnavailableError; after each of them nothing is visible.
   */
  put(scope: ArtifactScope, input: PutArtifactInput): Promise<PutArtifactResult>;

  /**
   * Keeps a payload of any length without ever holding it whole. An error of the source comes back as it is, an abort
   * as the signal's reason; after either nothing is visible.
   */
  putStream(
    scope: ArtifactScope,
    input: PutArtifactStreamInput,
    source: ArtifactSource,
    options?: { signal?: AbortSignal },
  ): Promise<PutArtifactResult>;

  /** What is known about an artifact, or null. */
  head(scope: ArtifactScope, ref: ArtifactRef): Promise<ArtifactMeta | null>;

  /**
   * The artifact as it was put, or null. It is held in memory: use {@link getStream} for large ones.
   * @throws ArtifactIntegrityError when a digest was asked for and the bytes are others.
   */
  get(scope: ArtifactScope, ref: ArtifactRef): Promise<GetArtifactResult | null>;

  /**
   * The bytes of an artifact, or of a range of it, as they come; or null. A body read whole ends with
   * ArtifactIntegrityError instead of its end when the digest differs. A range is not checked: nobody asked for its digest.
   */
  getStream(
    scope: ArtifactScope,
    ref: ArtifactRef,
    options?: ByteRange & { signal?: AbortSignal },
  ): Promise<GetArtifactStreamResult | null>;

  /** Removes an artifact and whatever an interrupted put left under its ref. Nothing there is no error. */
  delete(scope: ArtifactScope, ref: ArtifactRef): Promise<void>;

  /**
   * The scope's artifacts, newest first, 1 to 1,000 a page (100). Within a page the order is exact; across pages it is
   * that of the times at which the store wrote them, which S3 keeps to the second. The whole scope's names are read for
   * each page, but never held: scopes are meant to hold hundreds, not millions.
   */
  list(scope: ArtifactScope, options?: { cursor?: string; limit?: number }): Promise<ArtifactPage>;

  /** Resolves when the store can be used. @throws ArtifactStoreUnavailableError */
  checkAvailable(): Promise<void>;

  /** Removes what puts that were cut off by a crash left behind, when older than `olderThanMs` (a day); returns how many. */
  sweepUnfinished(options?: { olderThanMs?: number }): Promise<number>;

  /** Lets go of connections. The store is not used after it. */
  close(): Promise<void>;
}
