/**
 * The command `million`: a large fleet and a small one in the same setting, one after the other, each by a worker that was
 * just started and warmed up. It says what a fleet a hundred times as large costs a worker in memory, and a subject in time.
 * A small fleet is over in seconds, so it is swept several times, and the one of the median counts.
 */
import { type BenchContext, WARM_UP_SUBJECTS } from './context.ts';
import { openStage, type Stage } from './stage.ts';
import { measureSweep, type SweepFigures } from './sweep.ts';
import { ratio } from './sweeps.ts';

export interface MillionFigures {
  readonly backend: string;
  readonly limit_minutes: number;
  readonly small: SweepFigures;
  readonly large: SweepFigures;
  readonly worker_rss_mb: number;
  readonly worker_rss_ratio: number;
  readonly time_per_subject_ratio: number;
}

const DEFAULT_SIZES = [10_000, 1_000_000];
const SMALL_SWEEPS = 3;

/** @throws Error when the time that it was given is over; what was reached is said in it */
export async function measureMillion(context: BenchContext): Promise<MillionFigures> {
  const sizes = context.subjects ?? DEFAULT_SIZES;
  const [smallest, largest] = [sizes[0]!, sizes.at(-1)!];
  if (smallest === largest) throw new Error('the million needs two sizes, as in --subjects 10000,1000000');
  const limit = AbortSignal.timeout(context.limitMinutes * 60_000);
  const backend = context.backends[0]!;
  const stage = await openStage(backend);
  try {
    const signal = AbortSignal.any([context.signal, limit]);
    const smalls: SweepFigures[] = [];
    while (smalls.length < SMALL_SWEEPS) smalls.push(await sweepAfresh(stage, smallest, signal));
    const small = smalls.toSorted((a, b) => workerRss(a) - workerRss(b))[Math.floor(SMALL_SWEEPS / 2)]!;
    context.note(`  ${backend}, ${smallest} subjects: ${small.subjects_per_second}/s`);
    const large = await sweepAfresh(stage, largest, signal);
    context.note(`  ${backend}, ${largest} subjects: ${large.subjects_per_second}/s`);
    return {
      backend,
      limit_minutes: context.limitMinutes,
      small,
      large,
      worker_rss_mb: workerRss(large),
      worker_rss_ratio: ratio(workerRss(large), workerRss(small)),
      time_per_subject_ratio: ratio(large.microseconds_per_subject, small.microseconds_per_subject),
    };
  } catch (error) {
    if (!limit.aborted || context.signal.aborted) throw error;
    throw new Error(`the million was not done in ${context.limitMinutes} minutes: ${await progressOf(stage)}`);
  } finally {
    await stage.close();
  }
}

async function sweepAfresh(stage: Stage, subjects: number, signal: AbortSignal): Promise<SweepFigures> {
  const workers = await stage.startWorkers({ workers: 1, chartThreads: 1 });
  try {
    const request = { runbook: 'bench_posture', signal };
    await measureSweep(stage, workers, { ...request, subjects: WARM_UP_SUBJECTS });
    return await measureSweep(stage, workers, { ...request, subjects });
  } finally {
    await workers.stop();
  }
}

function workerRss(sweep: SweepFigures): number {
  return sweep.processes.worker_1?.peak_rss_mb ?? 0;
}

async function progressOf(stage: Stage): Promise<string> {
  const { rows } = await stage.db.query<{ phase: string; planned: number; settled: number }>(
    `select phase, coalesce(sum(size), 0)::int as planned,
        coalesce(sum(size) filter (where state = 'settled'), 0)::int as settled
      from (select * from muster.runs order by created_at desc limit 1) run left join muster.chunks on run_id = run.id
      group by phase`,
  );
  const { phase, planned, settled } = rows[0]!;
  return `in phase ${phase}, ${settled} of ${planned} planned subjects settled`;
}
