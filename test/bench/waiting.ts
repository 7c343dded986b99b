/**
 * The suite `waiting`: a fleet that is slow to answer and fails now and then, by one worker of one chart thread. Held
 * against what so many waits at once can give at most: one chunk at a time, so that nothing but the runbook's own
 * `concurrency` waits side by side; and as many chunks as a worker takes unless it is told otherwise.
 */
import { type BenchContext, WARM_UP_SUBJECTS } from './context.ts';
import { type BackendName, openStage } from './stage.ts';
import { measureSweep, type SweepFigures } from './sweep.ts';
import { ratio } from './sweeps.ts';
import { WAITING } from './waiting-runbook.ts';

export interface WaitingFigures {
  readonly backend: BackendName;
  readonly tool_ms: number;
  readonly concurrency: number;
  readonly chunks_at_once: number;
  /** Subjects a second over `concurrency` / `tool_ms`. */
  readonly ratio: number;
  readonly failed: number;
  readonly sweep: SweepFigures;
}

const MOST_SUBJECTS = 10_000;
const CHUNKS_AT_ONCE = [1, 2] as const;

export async function measureWaiting(context: BenchContext): Promise<WaitingFigures[]> {
  const subjects = Math.min(MOST_SUBJECTS, context.subjects?.at(-1) ?? MOST_SUBJECTS);
  const figures: WaitingFigures[] = [];
  for (const backend of context.backends) {
    for (const chunksAtOnce of CHUNKS_AT_ONCE) {
      const waiting = await measureOne(context, backend, chunksAtOnce, subjects);
      context.note(
        `  ${backend}, ${chunksAtOnce} chunk(s) at once: ${waiting.sweep.subjects_per_second}/s, ${waiting.ratio}`,
      );
      figures.push(waiting);
    }
  }
  return figures;
}

async function measureOne(
  context: BenchContext,
  backend: BackendName,
  chunksAtOnce: number,
  subjects: number,
): Promise<WaitingFigures> {
  const stage = await openStage(backend);
  try {
    const workers = await stage.startWorkers({ workers: 1, chartThreads: 1, chunksAtOnce });
    try {
      const request = { runbook: 'bench_waiting', signal: context.signal };
      await measureSweep(stage, workers, { ...request, subjects: Math.min(WARM_UP_SUBJECTS, subjects) });
      const sweep = await measureSweep(stage, workers, { ...request, subjects });
      const { rows } = await stage.db.query<{ failed: number }>(
        `select sum(not_checked_count)::int as failed from muster.chunks
          where run_id = (select id from muster.runs order by created_at desc limit 1)`,
      );
      const failed = rows[0]?.failed ?? 0;
      const expected = Math.ceil(subjects / WAITING.failsEvery);
      if (failed !== expected) throw new Error(`${failed} subjects failed where ${expected} were made to`);
      return {
        backend,
        tool_ms: WAITING.toolMs,
        concurrency: WAITING.concurrency,
        chunks_at_once: chunksAtOnce,
        ratio: ratio(sweep.subjects_per_second, (1000 * WAITING.concurrency) / WAITING.toolMs),
        failed,
        sweep,
      };
    } finally {
      await workers.stop();
    }
  } finally {
    await stage.close();
  }
}
