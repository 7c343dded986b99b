/**
 * The bare rate of one core: the chart with narrative, evidence and redacted snapshot, nothing stored. It is the limit of
 * what can be had, and what every rate is held against.
 */
import { fileURLToPath } from 'node:url';
import { startProcess } from './processes.ts';

const BARE_PROCESS = fileURLToPath(new URL('./bare-process.ts', import.meta.url));

/**
 * Measures something between two measurements of the bare rate. The higher one counts, so that a disturbance of the
 * machine makes us look worse and never better.
 */
export async function besideBareRate<T>(measure: () => Promise<T>): Promise<{ barePerSecond: number; measured: T }> {
  const before = await measureBareRate();
  const measured = await measure();
  return { barePerSecond: Math.max(before, await measureBareRate()), measured };
}

async function measureBareRate(): Promise<number> {
  const bare = await startProcess(BARE_PROCESS, process.env);
  await bare.stop();
  return Number(bare.ready.perSecond);
}
