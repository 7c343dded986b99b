import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CommandError } from './exit-codes.ts';

/** A file as the user named it. `name` is what answers call it. */
export interface LocalFile {
  readonly path: string;
  readonly name: string;
  readonly bytes?: number;
  open(): AsyncIterable<Uint8Array>;
}

/**
 * Looks the named files up before anything is begun. `-` is standard input. Two files of one name keep their paths as
 * names, so that an answer can tell them apart.
 *
 * @throws CommandError for a file that is missing, no file, or not to be read
 */
export async function openInputFiles(paths: readonly string[]): Promise<LocalFile[]> {
  const names = paths.map((path) => (path === '-' ? 'stdin' : basename(path)));
  const files: LocalFile[] = [];
  for (const [index, path] of paths.entries()) {
    const own = names[index] as string;
    const name = names.filter((other) => other === own).length > 1 ? path : own;
    if (path === '-') {
      files.push({ path, name, open: () => process.stdin });
      continue;
    }
    let info: Awaited<ReturnType<typeof stat>>;
    try {
      info = await stat(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new CommandError(
        code === 'ENOENT' ? `${path}: there is no such file` : `${path}: cannot be read (${code})`,
      );
    }
    if (info.isDirectory()) throw new CommandError(`${path}: is a folder; name the files in it`);
    files.push({ path, name, bytes: info.size, open: () => readFile(path) });
  }
  return files;
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new CommandError(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
