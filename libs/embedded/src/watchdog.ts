/**
 * Ends a process when the one that started it dies, however it dies.
 *
 * A small shell holds the reading end of a pipe whose writing end only this process has. When this process goes, by
 * kill -9 too, the pipe closes, the shell wakes up and sends the signal. It lives in a session of its own, so that Ctrl-C
 * in a terminal does not reach it.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';

/** What to watch over. */
export interface WatchdogOptions {
  /** Who is to be ended. */
  readonly pid: number;
  readonly signal: 'INT' | 'TERM' | 'QUIT' | 'KILL';
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** A file, relative to `cwd`, whose first line must still be the pid; without it the signal is not sent. */
  readonly pidFile?: string;
}

const SCRIPT = `while read -r _; do :; done
if [ -n "$3" ] && [ "$(head -n 1 "$3" 2>/dev/null)" != "$1" ]; then exit 0; fi
kill -s "$2" "$1" 2>/dev/null`;

/** Starts watching. `end` calls the watch off, for when the watched process has ended by itself. */
export function startWatchdog(options: WatchdogOptions): { end(): void } {
  const { pid, signal, pidFile = '', ...where } = options;
  const shell = spawn('sh', ['-c', SCRIPT, 'muster-watchdog', String(pid), signal, pidFile], {
    ...where,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell there is no watch, and nothing else is lost: the next start finds the orphan by itself.
  shell.on('error', () => undefined);
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  (shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
  return { end: () => endShell(shell) };
}

/** The shell must go before its pipe closes, or it would send the signal. */
function endShell(shell: ChildProcess): void {
  if (shell.pid === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
  shell.kill('SIGKILL');
}
