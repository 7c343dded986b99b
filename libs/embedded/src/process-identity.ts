/**
 * Which process a pid stands for. A pid alone is not enough: pids are used again, above all in containers, where the
 * first process of every start has the same one. Together with the instant it started it names one process.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** One process: its pid and an opaque mark of when it started. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** The identity of a living process, or undefined. A zombie does not live: it holds nothing any more. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether exactly this process, not a later one with its pid, still lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

function startedOnLinux(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The command may contain blanks and brackets, so count from the last bracket: state is first, start time 20th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function startedByPs(pid: number): string | undefined {
  try {
    const [state = '', ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state === '' || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
