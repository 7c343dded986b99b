/**
 * The store's own logic, once for all adapters: scoping, refs, limits, digests, expiry and parents over an
 * {@link ObjectStorage} that knows of none of them.
 *
 * Invariants:
 * - every key is made here, from the scope and then the ref; nothing else reaches the storage;
 * - a refused or broken put leaves nothing visible: the storage shows an object only after its body has ended well;
 * - what the technology throws leaves as ArtifactStoreUnavailableError, what a source throws leaves as it came.
 */
import {
  ArtifactError,
  ArtifactIntegrityError,
  ArtifactInvalidError,
  ArtifactParentUnknownError,
  ArtifactRefTakenError,
  ArtifactStoreUnavailableError,
  ArtifactTooLargeError,
} from './artifact-errors.ts';
import { decodePayload, encodePayload } from './artifact-payload.ts';
import { type ArtifactRef, isArtifactRef } from './artifact-ref.ts';
import { scopePrefix } from './artifact-scope.ts';
import type {
  ArtifactMeta,
  ArtifactPage,
  ArtifactScope,
  ArtifactSource,
  ArtifactStore,
  ByteRange,
  GetArtifactResult,
  GetArtifactStreamResult,
  PutArtifactInput,
  PutArtifactResult,
  PutArtifactStreamInput,
} from './artifact-store.ts';
import { checkedStream } from './checked-stream.ts';
import { MeteredBody } from './metered-body.ts';
import { pickNewestFirst } from './newest-first-page.ts';
import { artifactMeta, buildRecord } from './object-record.ts';
import type { ObjectRecord, ObjectStorage, OutgoingBody, StoredObject } from './object-storage.ts';

const DEFAULT_MAX_BYTES = 1_073_741_824;
const DEFAULT_UNFINISHED_AGE_MS = 86_400_000;
const HEADS_AT_ONCE = 8;

/** What every store takes. */
export interface ArtifactStoreOptions {
  /** The limit of one artifact, in bytes; 1 GiB when absent. */
  readonly maxBytes?: number;
  /** The clock, in Unix milliseconds. */
  readonly now?: () => number;
}

/** An artifact store over any object storage; write an adapter and run `@muster/artifacts/contract` over it. */
export class ObjectArtifactStore implements ArtifactStore {
  readonly maxBytes: number;
  readonly #storage: ObjectStorage;
  readonly #now: () => number;

  /** @throws TypeError when maxBytes is not a whole number >= 1 */
  constructor(storage: ObjectStorage, options: ArtifactStoreOptions = {}) {
    this.#storage = storage;
    this.maxBytes = requireWholeNumber('maxBytes', options.maxBytes ?? DEFAULT_MAX_BYTES, 1);
    this.#now = options.now ?? Date.now;
  }

  async put(scope: ArtifactScope, input: PutArtifactInput): Promise<PutArtifactResult> {
    const payload = encodePayload(input?.data);
    const record = buildRecord(input, payload.encoding, this.#now());
    this.#refuseOverLimit(payload.bytes.length, 'measured');
    return this.#store(
      scope,
      input,
      record,
      new MeteredBody(single(payload.bytes), { ...this.#limit(), ...pickDigest(input) }),
    );
  }

  async putStream(
    scope: ArtifactScope,
    input: PutArtifactStreamInput,
    source: ArtifactSource,
    options: { signal?: AbortSignal } = {},
  ): Promise<PutArtifactResult> {
    const record = buildRecord(input, 'bytes', this.#now());
    const declared = input.bytes === undefined ? {} : { declaredBytes: requireBytes(input.bytes) };
    if (declared.declaredBytes !== undefined) this.#refuseOverLimit(declared.declaredBytes, 'declared');
    const signal = options.signal === undefined ? {} : { signal: options.signal };
    const body = new MeteredBody(source, { ...this.#limit(), ...pickDigest(input), ...declared, ...signal });
    return this.#store(scope, input, record, body);
  }

  async head(scope: ArtifactScope, ref: ArtifactRef): Promise<ArtifactMeta | null> {
    const prefix = scopePrefix(scope);
    if (!isArtifactRef(ref)) return null;
    const found = await this.#guard('head', () => this.#storage.headObject(prefix + ref));
    return this.#isVisible(found, ref) ? artifactMeta(found) : null;
  }

  async get(scope: ArtifactScope, ref: ArtifactRef): Promise<GetArtifactResult | null> {
    const found = await this.#open('get', scope, ref);
    if (found === null) return null;
    const meta = artifactMeta(found);
    const bytes = await readWhole(this.#checked('get', found, meta.digest), meta.bytes);
    try {
      return { meta, data: decodePayload(found.record.encoding, bytes) };
    } catch (error) {
      throw new ArtifactIntegrityError(ref, 'its bytes are not what was put', { cause: error });
    }
  }

  async getStream(
    scope: ArtifactScope,
    ref: ArtifactRef,
    options: ByteRange & { signal?: AbortSignal } = {},
  ): Promise<GetArtifactStreamResult | null> {
    const { start = 0, end, signal } = options;
    requireRange(start, end);
    signal?.throwIfAborted();
    const asked = start === 0 && end === undefined ? undefined : { start, end: end ?? Number.MAX_SAFE_INTEGER };
    const found = await this.#open('get', scope, ref, asked, signal);
    if (found === null) return null;
    const meta = artifactMeta(found);
    const range = { start: Math.min(start, meta.bytes), end: Math.min(end ?? meta.bytes, meta.bytes) };
    const isWhole = range.start === 0 && range.end === meta.bytes;
    const body = this.#checked('get', found, isWhole ? meta.digest : undefined, range.end - range.start, signal);
    return { meta, body, range };
  }

  async delete(scope: ArtifactScope, ref: ArtifactRef): Promise<void> {
    const prefix = scopePrefix(scope);
    if (isArtifactRef(ref)) await this.#guard('delete', () => this.#storage.deleteObject(prefix + ref));
  }

  async list(scope: ArtifactScope, options: { cursor?: string; limit?: number } = {}): Promise<ArtifactPage> {
    const prefix = scopePrefix(scope);
    const page = await this.#guard('list', () => pickNewestFirst(this.#storage.listObjects(prefix), prefix, options));
    const artifacts: ArtifactMeta[] = [];
    for (let from = 0; from < page.objects.length; from += HEADS_AT_ONCE) {
      const keys = page.objects.slice(from, from + HEADS_AT_ONCE).map((object) => object.key);
      const metas = await Promise.all(keys.map((key) => this.head(scope, key.slice(prefix.length))));
      artifacts.push(...metas.filter((meta) => meta !== null));
    }
    artifacts.sort((a, b) => b.createdAt - a.createdAt);
    return page.cursor === undefined ? { artifacts } : { artifacts, cursor: page.cursor };
  }

  async checkAvailable(): Promise<void> {
    await this.#guard('check', () => this.#storage.checkAvailable());
  }

  async sweepUnfinished(options: { olderThanMs?: number } = {}): Promise<number> {
    const olderThanMs = requireWholeNumber('olderThanMs', options.olderThanMs ?? DEFAULT_UNFINISHED_AGE_MS, 0);
    return this.#guard('sweep', () => this.#storage.sweepUnfinished(olderThanMs));
  }

  async close(): Promise<void> {
    await this.#storage.close();
  }

  async #store(
    scope: ArtifactScope,
    input: { ref?: ArtifactRef },
    record: ObjectRecord,
    body: MeteredBody,
  ): Promise<PutArtifactResult> {
    const key = scopePrefix(scope) + record.ref;
    const isChosen = input.ref !== undefined;
    for (const parent of record.parentRefs ?? []) {
      if ((await this.head(scope, parent)) === null) throw new ArtifactParentUnknownError(parent);
    }
    // Looked up first so that a taken ref costs no upload; `exclusive` closes the gap between this look and the write.
    if (isChosen && (await this.#guard('put', () => this.#storage.headObject(key))) !== null) {
      throw new ArtifactRefTakenError(record.ref);
    }
    const outcome = await this.#write(key, record, body, isChosen);
    if (outcome === 'taken') throw new ArtifactRefTakenError(record.ref);
    return { meta: artifactMeta({ record, seal: body.seal() }), swept: [] };
  }

  async #write(key: string, record: ObjectRecord, body: MeteredBody, exclusive: boolean): Promise<'stored' | 'taken'> {
    try {
      return await this.#storage.putObject(key, record, body, { exclusive });
    } catch (error) {
      // The source broke first: whatever the storage made of it, the caller gets the source's own error.
      if (body.failure !== undefined) throw body.failure.error;
      throw this.#wrap('put', error);
    }
  }

  async #open(
    operation: string,
    scope: ArtifactScope,
    ref: ArtifactRef,
    range?: { start: number; end: number },
    signal?: AbortSignal,
  ): Promise<(StoredObject & { body: OutgoingBody }) | null> {
    const prefix = scopePrefix(scope);
    if (!isArtifactRef(ref)) return null;
    const found = await this.#openObject(operation, prefix + ref, range, signal);
    if (found === null) return null;
    const isVisible = this.#isVisible(found, ref);
    if (isVisible && found.storedBytes === found.seal.bytes) return found;
    await found.body.close();
    if (!isVisible) return null;
    throw new ArtifactIntegrityError(ref, `${found.storedBytes} bytes are stored and ${found.seal.bytes} were put`);
  }

  async #openObject(operation: string, key: string, range?: { start: number; end: number }, signal?: AbortSignal) {
    // An empty range is answered from the head: object stores cannot express it.
    if (range !== undefined && range.start >= range.end) {
      const found = await this.#guard(operation, () => this.#storage.headObject(key));
      return found === null ? null : { ...found, body: emptyBody() };
    }
    try {
      return await this.#storage.getObject(key, range, signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw this.#wrap(operation, error);
    }
  }

  #checked(
    operation: string,
    found: StoredObject & { body: OutgoingBody },
    digest: string | undefined,
    expectedBytes = found.seal.bytes,
    signal?: AbortSignal,
  ): ReadableStream<Uint8Array> {
    return checkedStream(found.body, {
      ref: found.record.ref,
      expectedBytes,
      wrapFailure: (error) => this.#wrap(operation, error),
      ...(digest === undefined ? {} : { digest }),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** A storage that does not tell upper from lower case would answer for a sibling: its record says whose it is. */
  #isVisible<T extends StoredObject>(found: T | null, ref: ArtifactRef): found is T {
    if (found === null || found.record.ref !== ref) return false;
    return found.record.expiresAt === undefined || found.record.expiresAt > this.#now();
  }

  #limit(): { maxBytes: number } {
    return { maxBytes: this.maxBytes };
  }

  #refuseOverLimit(bytes: number, how: 'measured' | 'declared'): void {
    if (bytes > this.maxBytes) throw new ArtifactTooLargeError({ bytes, how }, this.maxBytes);
  }

  async #guard<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#wrap(operation, error);
    }
  }

  #wrap(operation: string, error: unknown): ArtifactError {
    if (error instanceof ArtifactError) return error;
    return new ArtifactStoreUnavailableError(operation, this.#storage.place, error);
  }
}

/** @throws TypeError naming the option and what it was */
export function requireWholeNumber(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new TypeError(`${name} must be a whole number >= ${least}, but is ${String(value)}`);
}

function requireBytes(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new ArtifactInvalidError('bytes must be a whole number >= 0');
}

function requireRange(start: number, end: number | undefined): void {
  const isGood = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (!isGood(start) || (end !== undefined && !(isGood(end) && end >= start))) {
    throw new ArtifactInvalidError('a range needs whole numbers with 0 <= start <= end');
  }
}

function pickDigest(input: { digest?: 'sha-256' }): { digest?: 'sha-256' } {
  return input.digest === undefined ? {} : { digest: input.digest };
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function emptyBody(): OutgoingBody {
  return { chunks: { next: async () => ({ done: true, value: undefined }) }, close() {} };
}

async function readWhole(stream: ReadableStream<Uint8Array>, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for await (const chunk of stream) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
