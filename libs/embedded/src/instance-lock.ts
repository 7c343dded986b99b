/**
 * One owner a folder. The lock is a file that names its owner; an owner that no longer lives loses it to the next one.
 *
 * The file appears whole (written aside, then linked), so nobody ever reads half of it, and link refuses when it is there.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedError } from './embedded-error.ts';
import { identifyProcess, isAlive } from './process-identity.ts';

const LOCK_FILE = 'instance.lock';

interface LockRecord {
  readonly token: string;
  readonly pid: number;
  readonly started: string;
  readonly address?: string;
}

/** A held lock. */
export interface InstanceLock {
  /** Tells others where this instance answers; it goes into the message that refuses them. */
  announce(address: string): Promise<void>;
  /** Gives the folder free. May be called twice. */
  release(): Promise<void>;
}

/**
 * Takes a folder for this process, creating it when it is missing. A lock whose owner is dead is taken over.
 *
 * @throws EmbeddedError `embedded_directory_in_use` naming the pid, and the address when one was announced.
 */
export async function acquireInstanceLock(directory: string): Promise<InstanceLock> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, LOCK_FILE);
  const record = ownRecord();
  for (;;) {
    if (await createWhole(path, record)) return heldLock(path, record);
    const holder = await readRecord(path);
    if (holder !== undefined && isAlive(holder)) throw inUse(directory, holder);
    await removeStale(path, holder);
  }
}

function heldLock(path: string, record: LockRecord): InstanceLock {
  return {
    async announce(address) {
      const aside = await writeAside(path, { ...record, address });
      await rename(aside, path);
    },
    async release() {
      if ((await readRecord(path))?.token === record.token) await rm(path, { force: true });
    },
  };
}

function ownRecord(): LockRecord {
  const self = identifyProcess(process.pid);
  return { token: randomUUID(), pid: process.pid, started: self?.started ?? '' };
}

async function createWhole(path: string, record: LockRecord): Promise<boolean> {
  const aside = await writeAside(path, record);
  try {
    await link(aside, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function writeAside(path: string, record: LockRecord): Promise<string> {
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, `${JSON.stringify(record)}\n`, { mode: 0o644 });
  return aside;
}

/** Moves a stale lock away. Whoever moved a fresh one by bad luck, because another was quicker, puts it back. */
async function removeStale(path: string, stale: LockRecord | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = await readRecord(aside);
  if (moved !== undefined && moved.token !== stale?.token) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function readRecord(path: string): Promise<LockRecord | undefined> {
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as Partial<LockRecord> | null;
    const complete = typeof value?.token === 'string' && typeof value.started === 'string';
    return complete && Number.isSafeInteger(value.pid) ? (value as LockRecord) : undefined;
  } catch {
    // Gone, or not ours to understand: in both cases nobody living is named in it.
    return undefined;
  }
}

function inUse(directory: string, holder: LockRecord): EmbeddedError {
  const where = holder.address === undefined ? '' : `, which answers at ${holder.address}`;
  return new EmbeddedError(
    'embedded_directory_in_use',
    `${directory} is in use by process ${holder.pid}${where}; stop that one first or choose another directory`,
  );
}
