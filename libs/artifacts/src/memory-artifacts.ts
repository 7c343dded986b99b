/**
 * The store in memory: for tests and for runs in one process. Everything is gone with the process.
 */
import type { ArtifactStore } from './artifact-store.ts';
import { type ArtifactStoreOptions, ObjectArtifactStore } from './object-artifact-store.ts';
import type {
  IncomingBody,
  ListedObject,
  ObjectRecord,
  ObjectStorage,
  OutgoingBody,
  StoredObject,
} from './object-storage.ts';

interface MemoryObject extends StoredObject {
  readonly bytes: Uint8Array;
  readonly writtenAt: number;
}

/** Makes a store in memory. @throws TypeError for an option that cannot be */
export function inMemoryArtifacts(options: ArtifactStoreOptions = {}): ArtifactStore {
  return new ObjectArtifactStore(new MemoryObjectStorage(), options);
}

/** Objects in a map. */
export class MemoryObjectStorage implements ObjectStorage {
  readonly place = 'memory';
  readonly objects = new Map<string, MemoryObject>();
  /** Counts writes, so that the order of two writes in one millisecond is kept. */
  #writes = 0;

  async putObject(
    key: string,
    record: ObjectRecord,
    body: IncomingBody,
    options: { exclusive: boolean },
  ): Promise<'stored' | 'taken'> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const bytes = new Uint8Array(Buffer.concat(chunks));
    if (options.exclusive && this.objects.has(key)) return 'taken';
    this.#writes += 1;
    this.objects.set(key, { record, seal: body.seal(), storedBytes: bytes.length, bytes, writtenAt: this.#writes });
    return 'stored';
  }

  async headObject(key: string): Promise<StoredObject | null> {
    return this.objects.get(key) ?? null;
  }

  async getObject(
    key: string,
    range?: { start: number; end: number },
  ): Promise<(StoredObject & { body: OutgoingBody }) | null> {
    const found = this.objects.get(key);
    if (found === undefined) return null;
    // A copy: a reader that writes into its chunk must not change the artifact.
    const bytes = found.bytes.slice(range?.start ?? 0, range?.end ?? found.bytes.length);
    const chunks = [bytes].values();
    return { ...found, body: { chunks: { next: async () => chunks.next() }, close() {} } };
  }

  async deleteObject(key: string): Promise<void> {
    this.objects.delete(key);
  }

  async *listObjects(prefix: string): AsyncGenerator<ListedObject> {
    for (const [key, { writtenAt }] of this.objects) if (key.startsWith(prefix)) yield { key, writtenAt };
  }

  async checkAvailable(): Promise<void> {}

  async sweepUnfinished(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}
}
