/**
 * Measures the bare rate in a process of its own, which has compiled nothing but the bare way, and tells its parent:
 * subjects a second of one core, the best of several rounds.
 */
import { benchSubjects } from './charts.ts';
import { runBare } from './envelope-overhead.ts';

const ROUNDS = 6;
const subjects = benchSubjects(4000);

let bestMs = Number.POSITIVE_INFINITY;
for (let round = 0; round < ROUNDS; round++) {
  const startedAt = performance.now();
  await runBare(subjects);
  bestMs = Math.min(bestMs, performance.now() - startedAt);
}
process.send?.({ type: 'ready', perSecond: (1000 * subjects.length) / bestMs });
