/**
 * A PostgreSQL that outlived its owner and still runs on a data directory. It is stopped, and only it: the process must
 * be the one that the directory names, and must be a postgres that works in exactly this directory.
 *
 * The pid file is PostgreSQL's own guard against two servers on the same data. It is removed only when it names a process
 * that is no server of this directory (a pid used again, or a zombie that nobody reaps), and only when no process of an
 * earlier server works there any more.
 */
import { execFileSync } from 'node:child_process';
import { readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './embedded-error.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { identifyProcess, isAlive } from './process-identity.ts';

/** Signals from polite to final with the time each gets: fast shutdown, immediate shutdown, kill. */
const STEPS: readonly [NodeJS.Signals, number][] = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
];
/** Children of a server that was killed notice it by themselves, within moments. */
const CHILDREN_TIMEOUT_MS = 10_000;
const INTERVAL_MS = 20;

/**
 * Stops the postmaster that still runs on the directory, if there is one, and removes what it left in the way.
 * The caller holds the directory's instance lock, so that nobody's living database is meant.
 *
 * @returns the pid that was stopped, or undefined.
 * @throws EmbeddedError `embedded_orphan_unstoppable` when it does not go.
 */
export async function stopOrphanPostmaster(dataDirectory: string): Promise<number | undefined> {
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const content = await readFile(pidFile, 'utf8').catch(() => undefined);
  if (content === undefined) return undefined;
  const pid = Number(content.split('\n')[0]);
  const named = identifyProcess(pid);
  const orphan = named !== undefined && (await worksIn(pid, dataDirectory)) ? named : undefined;
  if (orphan !== undefined) await endPostmaster(orphan, dataDirectory);
  if (process.platform === 'linux') await untilNobodyWorksIn(dataDirectory, pid);
  const stranger = named !== undefined && orphan === undefined;
  if (stranger || process.platform === 'linux') await rm(pidFile, { force: true });
  return orphan?.pid;
}

async function endPostmaster(orphan: ProcessIdentity, dataDirectory: string): Promise<void> {
  for (const [signal, timeoutMs] of STEPS) {
    try {
      process.kill(orphan.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPERM') break;
    }
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(INTERVAL_MS)) {
      if (!isAlive(orphan)) return;
    }
  }
  throw unstoppable(orphan.pid, dataDirectory);
}

async function untilNobodyWorksIn(dataDirectory: string, pid: number): Promise<void> {
  for (const deadline = Date.now() + CHILDREN_TIMEOUT_MS; ; await sleep(INTERVAL_MS)) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const working = await Promise.all(pids.map((other) => worksIn(other, dataDirectory)));
    if (!working.includes(true)) return;
    if (Date.now() >= deadline) throw unstoppable(pid, dataDirectory);
  }
}

async function worksIn(pid: number, dataDirectory: string): Promise<boolean> {
  try {
    if (process.platform === 'linux') {
      const [cwd, program] = await Promise.all([readlink(`/proc/${pid}/cwd`), readlink(`/proc/${pid}/exe`)]);
      return basename(program).startsWith('postgres') && cwd === (await realpath(dataDirectory));
    }
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes('postgres') && command.includes(` -D ${dataDirectory} `);
  } catch {
    return false;
  }
}

function unstoppable(pid: number, dataDirectory: string): EmbeddedError {
  return new EmbeddedError(
    'embedded_orphan_unstoppable',
    `a PostgreSQL left behind by an earlier start (process ${pid}) still uses ${dataDirectory} and could not be stopped; stop it by hand`,
  );
}
