import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { CommandError, UsageError } from './exit-codes.ts';

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
 * @throws UsageError for a file that is missing, a folder, or not to be read; the message names it
 */
export async function openInputFiles(paths: readonly string[]): Promise<LocalFile[]> {
  if (paths.filter((path) => path === '-').length > 1) throw new UsageError('standard input (-) can be given once');
  const names = paths.map((path) => (path === '-' ? 'stdin' : basename(path)));
  return await Promise.all(
    paths.map((path, index) => {
      const own = names[index] as string;
      const name = names.filter((other) => other === own).length > 1 ? path : own;
      return path === '-' ? openStandardInput(name) : openFile(path, name);
    }),
  );
}

async function openFile(path: string, name: string): Promise<LocalFile> {
  const place = resolve(callersFolder(), path);
  const info = await stat(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new UsageError(`${path}: cannot be read (${error.code})`);
    throw new UsageError(`${path}: there is no such file`);
  });
  if (info.isDirectory()) throw new UsageError(`${path}: is a folder; name the files in it`);
  await access(place, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path}: cannot be read (${error.code})`);
  });
  // A pipe or a device has no length of its own.
  return { path, name, ...(info.isFile() && { bytes: info.size }), open: () => readFile(place, path) };
}

function openStandardInput(name: string): LocalFile {
  if (process.stdin.isTTY) {
    process.stderr.write('reading from the terminal; Ctrl-D ends the input\n');
  }
  let opened = false;
  return {
    path: '-',
    name,
    open() {
      if (opened) throw new CommandError('standard input can be read only once; save it to a file and name that');
      opened = true;
      return process.stdin;
    },
  };
}

async function* readFile(place: string, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(place, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new CommandError(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** `npm run` and `npm --prefix` change into the package's folder; paths are meant from where the user stands. */
function callersFolder(): string {
  const { npm_package_json: manifest, INIT_CWD: standing } = process.env;
  const moved = manifest !== undefined && dirname(manifest) === process.cwd();
  return moved && standing ? standing : process.cwd();
}
