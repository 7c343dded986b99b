/**
 * Runbooks may read an input more than once, from its beginning; a pipe can be read only once. Here it is kept on disk
 * meanwhile: not in memory, because inputs are large, and in a file without a name, so that nothing stays behind however
 * this process ends.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalFile } from './input-files.ts';
import { progress } from './output/progress-line.ts';

/** Reads what is no regular file to its end, and gives it back as something that can be opened again and again. */
export async function spoolStreams(files: readonly LocalFile[]): Promise<LocalFile[]> {
  const replayable: LocalFile[] = [];
  for (const file of files) replayable.push(file.bytes === undefined ? await spool(file) : file);
  return replayable;
}

async function spool(file: LocalFile): Promise<LocalFile> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-input-'));
  const handle = await open(join(folder, 'input'), 'wx+', 0o600).finally(() => rm(folder, { recursive: true }));
  let bytes = 0;
  for await (const chunk of file.open()) {
    await handle.writeFile(chunk);
    bytes += chunk.byteLength;
    progress.update(`reading ${file.name}: ${megabytes(bytes)}`);
  }
  progress.clear();
  const { path, name } = file;
  return { path, name, bytes, open: () => createReadStream('', { fd: handle.fd, start: 0, autoClose: false }) };
}

/** Bytes as people read them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
