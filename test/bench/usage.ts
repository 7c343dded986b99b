/**
 * What processes use while something is measured, from /proc: there is none but on Linux, and then nothing is said.
 *
 * The peak of a single process is the kernel's own. A server of many processes shares memory between them, so its peak is
 * sampled: what each has for itself, and what they share once.
 */
import { readFile, writeFile } from 'node:fs/promises';

export interface MeteredProcess {
  readonly name: string;
  readonly pid: number;
  /** Its children belong to it. */
  readonly children?: true;
}

export interface ProcessUsage {
  readonly peak_rss_mb: number;
  readonly cpu_seconds: number;
}

/** Linux gives times of processes in these, whatever the kernel ticks in. */
const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 500;
/** Told to `clear_refs`: begin the peak anew. */
const RESET_PEAK = '5';

/** Meters processes until `stop` is called, which gives what each of them used. */
export async function startMeter(processes: readonly MeteredProcess[]): Promise<{
  stop(): Promise<Record<string, ProcessUsage>>;
}> {
  const before = new Map<string, number>();
  const peaks = new Map<string, number>();
  for (const metered of processes) {
    if (!metered.children) await writeFile(`/proc/${metered.pid}/clear_refs`, RESET_PEAK).catch(() => {});
    before.set(metered.name, await cpuTicks(metered));
  }
  const sample = async () => {
    for (const metered of processes) {
      peaks.set(metered.name, Math.max(peaks.get(metered.name) ?? 0, await peakKb(metered)));
    }
  };
  let sampling: Promise<void> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    sampling = sample().finally(() => {
      busy = false;
    });
  }, SAMPLE_MS);
  return {
    async stop() {
      clearInterval(timer);
      await sampling;
      await sample();
      const used: Record<string, ProcessUsage> = {};
      for (const metered of processes) {
        const ticks = (await cpuTicks(metered)) - (before.get(metered.name) ?? 0);
        used[metered.name] = {
          peak_rss_mb: Math.round((peaks.get(metered.name) ?? 0) / 1024),
          cpu_seconds: ticks / TICKS_PER_SECOND,
        };
      }
      return used;
    },
  };
}

/** The parent of a process, 0 when it cannot be told. */
export async function parentOf(pid: number): Promise<number> {
  return Number((await statFields(pid))[1] ?? 0);
}

/** Time on the processor, of children that have ended too. */
async function cpuTicks({ pid, children }: MeteredProcess): Promise<number> {
  const own = ticksOf(await statFields(pid), children ? 4 : 2);
  if (!children) return own;
  const living = await Promise.all((await childrenOf(pid)).map(async (child) => ticksOf(await statFields(child), 2)));
  return living.reduce((sum, ticks) => sum + ticks, own);
}

/** utime, stime, and those of ended children: fields 14 to 17 of `stat`. */
function ticksOf(fields: readonly string[], count: number): number {
  return fields.slice(11, 11 + count).reduce((sum, field) => sum + Number(field), 0);
}

/** The fields of `stat` behind the name, which may hold anything; the first is the state. */
async function statFields(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .filter(Boolean);
}

async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ').filter(Boolean).map(Number);
}

async function peakKb({ pid, children }: MeteredProcess): Promise<number> {
  if (!children) return (await readStatus(pid))('VmHWM');
  const family = await Promise.all([pid, ...(await childrenOf(pid))].map(readStatus));
  const own = family.reduce((sum, status) => sum + status('RssAnon'), 0);
  const shared = ['RssShmem', 'RssFile'].map((key) => Math.max(...family.map((status) => status(key))));
  return shared.reduce((sum, kb) => sum + kb, own);
}

/** Reads sizes of a process by their names, in kB. */
async function readStatus(pid: number): Promise<(key: string) => number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return (key) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}
