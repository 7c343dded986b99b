/**
 * The store in a folder of the local disk.
 *
 * Layout: `artifacts/<scope>/<ref>/` holds `data`, the payload as it is, and `meta.json`. A put writes both into
 * `unfinished/<random>/`, forces them to the disk and renames that folder into its place.
 *
 * Invariants:
 * - the rename is the one step that makes an artifact visible, and it fails where one lies already;
 * - a delete renames back first, so a reader sees the whole artifact or none; open readers keep their file;
 * - what a crash leaves lies in `unfinished/` and nowhere else, and is swept by age.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArtifactStore } from './artifact-store.ts';
import { type ArtifactStoreOptions, ObjectArtifactStore } from './object-artifact-store.ts';
import { readRecord } from './object-record.ts';
import type {
  IncomingBody,
  ListedObject,
  ObjectRecord,
  ObjectStorage,
  OutgoingBody,
  StoredObject,
} from './object-storage.ts';

/** Artifacts can hold what a run saw: they are for the user who runs the services alone. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const READ_CHUNK_BYTES = 65_536;
const PLACE_TRIES = 5;

/** Options of {@link folderArtifacts}. */
export interface FolderArtifactsOptions extends ArtifactStoreOptions {
  /** Made when it is missing. One file system: renames have to be atomic. */
  readonly directory: string;
}

/** Makes a store in a folder. @throws TypeError for an option that cannot be */
export function folderArtifacts(options: FolderArtifactsOptions): ArtifactStore {
  if (typeof options?.directory !== 'string' || options.directory === '') {
    throw new TypeError('directory must be a non-empty string');
  }
  return new ObjectArtifactStore(new FolderObjectStorage(options.directory), options);
}

/** Objects as folders of two files. */
export class FolderObjectStorage implements ObjectStorage {
  readonly place: string;
  readonly #artifacts: string;
  readonly #unfinished: string;

  constructor(directory: string) {
    const root = resolve(directory);
    this.place = `folder ${root}`;
    this.#artifacts = join(root, 'artifacts');
    this.#unfinished = join(root, 'unfinished');
  }

  async putObject(key: string, record: ObjectRecord, body: IncomingBody): Promise<'stored' | 'taken'> {
    const draft = await this.#makeDraft();
    try {
      await writeDurably(join(draft, 'data'), body);
      await writeDurably(join(draft, 'meta.json'), [Buffer.from(JSON.stringify({ record, seal: body.seal() }))]);
      await syncFolder(draft);
      return await this.#place(draft, join(this.#artifacts, key));
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  async headObject(key: string): Promise<StoredObject | null> {
    const folder = join(this.#artifacts, key);
    const meta = await unlessMissing(readFile(join(folder, 'meta.json'), 'utf8'));
    const read = meta === null ? undefined : readRecord(meta);
    if (read?.seal === undefined) return null;
    const data = await unlessMissing(stat(join(folder, 'data')));
    return data === null ? null : { record: read.record, seal: read.seal, storedBytes: data.size };
  }

  async getObject(
    key: string,
    range?: { start: number; end: number },
  ): Promise<(StoredObject & { body: OutgoingBody }) | null> {
    const found = await this.headObject(key);
    if (found === null) return null;
    const file = await unlessMissing(open(join(this.#artifacts, key, 'data'), constants.O_RDONLY));
    return file === null
      ? null
      : { ...found, body: fileBody(file, range ?? { start: 0, end: Number.MAX_SAFE_INTEGER }) };
  }

  async deleteObject(key: string): Promise<void> {
    const place = join(this.#artifacts, key);
    const grave = join(this.#unfinished, randomUUID());
    await mkdir(this.#unfinished, { recursive: true, mode: FOLDER_MODE });
    if ((await unlessMissing(rename(place, grave).then(() => true))) === null) return;
    await rm(grave, { recursive: true, force: true });
    await removeEmptyFolders(dirname(place), this.#artifacts);
  }

  async *listObjects(prefix: string): AsyncGenerator<ListedObject> {
    const folder = await unlessMissing(opendir(join(this.#artifacts, prefix)));
    if (folder === null) return;
    for await (const entry of folder) {
      const meta = await unlessMissing(stat(join(this.#artifacts, prefix, entry.name, 'meta.json')));
      if (meta !== null) yield { key: prefix + entry.name, writtenAt: meta.mtimeMs };
    }
  }

  async checkAvailable(): Promise<void> {
    const draft = await this.#makeDraft();
    try {
      await writeFile(join(draft, 'check'), '', { mode: FILE_MODE });
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  async sweepUnfinished(olderThanMs: number): Promise<number> {
    const folder = await unlessMissing(opendir(this.#unfinished));
    if (folder === null) return 0;
    let swept = 0;
    for await (const entry of folder) {
      const path = join(this.#unfinished, entry.name);
      const lastWrite = await newestChange(path);
      // The disk's clock set these times, so the disk's clock judges them; a put that still writes stays young.
      if (lastWrite === undefined || Date.now() - lastWrite < olderThanMs) continue;
      await rm(path, { recursive: true, force: true });
      swept += 1;
    }
    return swept;
  }

  async close(): Promise<void> {}

  async #makeDraft(): Promise<string> {
    const draft = join(this.#unfinished, randomUUID());
    await mkdir(draft, { recursive: true, mode: FOLDER_MODE });
    return draft;
  }

  /** Renames a finished draft into its place; a delete nearby may take an empty parent away in between, so try again. */
  async #place(draft: string, place: string): Promise<'stored' | 'taken'> {
    for (let tries = 1; ; tries += 1) {
      await mkdir(dirname(place), { recursive: true, mode: FOLDER_MODE });
      try {
        await rename(draft, place);
        await syncFolder(dirname(place));
        return 'stored';
      } catch (error) {
        if (await isTaken(error, place)) return 'taken';
        if (codeOf(error) !== 'ENOENT' || tries === PLACE_TRIES) throw error;
      }
    }
  }
}

/** Renaming onto a folder that is not empty fails, with a code that differs between systems. */
async function isTaken(error: unknown, place: string): Promise<boolean> {
  if (!['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(codeOf(error) ?? '')) return false;
  return (await unlessMissing(stat(join(place, 'meta.json')))) !== null;
}

async function writeDurably(path: string, body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for await (const chunk of body) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Forces a rename to the disk. Some systems cannot open folders; there the file system's own journal has to do. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path, constants.O_RDONLY);
    await folder.sync();
  } catch (error) {
    if (!['EPERM', 'EISDIR', 'EINVAL', 'EACCES', 'ENOTSUP'].includes(codeOf(error) ?? '')) throw error;
  } finally {
    await folder?.close();
  }
}

function fileBody(file: FileHandle, range: { start: number; end: number }): OutgoingBody {
  let position = range.start;
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const wanted = Math.min(READ_CHUNK_BYTES, range.end - position);
    if (wanted <= 0) return { done: true, value: undefined };
    const { bytesRead, buffer } = await file.read(new Uint8Array(wanted), 0, wanted, position);
    position += bytesRead;
    return bytesRead === 0 ? { done: true, value: undefined } : { done: false, value: buffer.subarray(0, bytesRead) };
  };
  return { chunks: { next }, close: () => file.close() };
}

/** Takes away the scope's folders that a delete left empty, up to but not including the root. */
async function removeEmptyFolders(folder: string, root: string): Promise<void> {
  for (let path = folder; path !== root; path = dirname(path)) {
    try {
      await rmdir(path);
    } catch {
      return;
    }
  }
}

/** The last time anything in an unfinished folder changed, or undefined when it is gone. */
async function newestChange(path: string): Promise<number | undefined> {
  const times = await Promise.all(
    [path, join(path, 'data')].map(async (each) => (await unlessMissing(stat(each)))?.mtimeMs ?? 0),
  );
  const newest = Math.max(...times);
  return newest === 0 ? undefined : newest;
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException)?.code;
}
