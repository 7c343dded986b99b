/**
 * A PostgreSQL that outlived its owner and still runs on a data directory. It is stopped, and only it: the process must
 * be the one that the directory names, and must be a postgres that works in exactly this directory.
 */
import { execFileSync } from 'node:child_process';
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './embedded-error.ts';
import { identifyProcess, isAlive } from './process-identity.ts';

/** Signals from polite to final with the time each gets: fast shutdown, immediate shutdown, kill. */
const STEPS: readonly [NodeJS.Signals, number][] = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
];

/**
 * Stops the postmaster that still runs on the directory, if there is one, and removes what it left in the way.
 * The caller holds the directory's instance lock, so that nobody's living database is meant.
 *
 * @returns the pid that was stopped, or undefined.
 * @throws EmbeddedError `embedded_orphan_unstoppable` when it does not go.
 */
export async function stopOrphanPostmaster(dataDirectory: string): Promise<number | undefined> {
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  const identity = identifyProcess(pid);
  if (identity === undefined || !(await worksIn(pid, dataDirectory))) {
    // The pid is nobody's or a stranger's. PostgreSQL would refuse to start while a stranger of the same account has it.
    await rm(pidFile, { force: true });
    return undefined;
  }
  for (const [signal, timeoutMs] of STEPS) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPERM') break;
    }
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
      if (!isAlive(identity)) return pid;
    }
  }
  throw new EmbeddedError(
    'embedded_orphan_unstoppable',
    `a PostgreSQL left behind by an earlier start (process ${pid}) still uses ${dataDirectory} and could not be stopped; stop it by hand`,
  );
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
