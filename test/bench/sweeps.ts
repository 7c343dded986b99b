/**
 * The suite `sweep`: fleets of several sizes on each backend, by one worker of one thread, one of two, and two of one. Each
 * setting has a stage of its own and is warmed up by a sweep that is told apart; the bare rate is measured before and after.
 */
import { besideBareRate } from './bare-rate.ts';
import { type BenchContext, WARM_UP_SUBJECTS } from './context.ts';
import { type BackendName, openStage, type Stage, type WorkerSetting } from './stage.ts';
import { measureSweep, type SweepFigures, type SweepRequest } from './sweep.ts';

export interface RatedSweep extends SweepFigures {
  /** Over the bare rate of one core, measured beside it. */
  readonly ratio_to_bare: number;
}

export interface SweepGroup {
  readonly backend: BackendName;
  readonly workers: number;
  readonly chart_threads: number;
  readonly bare_per_second: number;
  /** How long `POST /v1/runs` took over and over, after the sweeps, while the workers take what it starts. */
  readonly acknowledged_ms: { readonly requests: number; readonly median: number; readonly p95: number };
  /** The first sweep after the start of the workers. */
  readonly cold: RatedSweep;
  readonly sweeps: readonly RatedSweep[];
}

const DEFAULT_SIZES = [1000, 10_000, 100_000];
const SETTINGS: readonly WorkerSetting[] = [
  { workers: 1, chartThreads: 1 },
  { workers: 1, chartThreads: 2 },
  { workers: 2, chartThreads: 1 },
];
/** Short sweeps are disturbed by little, so the middle one of several counts. */
const ROUNDS = 3;
const ROUNDS_UP_TO_SUBJECTS = 10_000;
const ACKNOWLEDGED_REQUESTS = 50;

export async function measureSweeps(context: BenchContext): Promise<SweepGroup[]> {
  const groups: SweepGroup[] = [];
  for (const backend of context.backends) {
    for (const setting of SETTINGS) {
      const group = await measureGroup(context, backend, setting);
      for (const sweep of group.sweeps) {
        const rate = `${sweep.subjects_per_second}/s, ${sweep.ratio_to_bare} of bare`;
        context.note(`  ${nameOf(group)}, ${sweep.subjects} subjects: ${rate}`);
      }
      groups.push(group);
    }
  }
  return groups;
}

/** A setting as people read it. */
export function nameOf(group: Pick<SweepGroup, 'backend' | 'workers' | 'chart_threads'>): string {
  return `${group.backend}, ${group.workers} worker(s) of ${group.chart_threads} thread(s)`;
}

async function measureGroup(context: BenchContext, backend: BackendName, setting: WorkerSetting): Promise<SweepGroup> {
  const { barePerSecond, measured } = await besideBareRate(() => sweepAll(context, backend, setting));
  const rated = (sweep: SweepFigures): RatedSweep => ({
    ...sweep,
    ratio_to_bare: ratio(sweep.subjects_per_second, barePerSecond),
  });
  return {
    backend,
    workers: setting.workers,
    chart_threads: setting.chartThreads,
    bare_per_second: Math.round(barePerSecond),
    acknowledged_ms: measured.acknowledged,
    cold: rated(measured.cold),
    sweeps: measured.sweeps.map(rated),
  };
}

async function sweepAll(context: BenchContext, backend: BackendName, setting: WorkerSetting) {
  const stage = await openStage(backend);
  try {
    const workers = await stage.startWorkers(setting);
    try {
      const request = { runbook: 'bench_posture', signal: context.signal };
      const cold = await measureSweep(stage, workers, { ...request, subjects: WARM_UP_SUBJECTS });
      const sweeps: SweepFigures[] = [];
      for (const subjects of context.subjects ?? DEFAULT_SIZES) {
        sweeps.push(await middleOf(subjects, () => measureSweep(stage, workers, { ...request, subjects })));
      }
      return { cold, sweeps, acknowledged: await measureAcknowledgement(stage, request) };
    } finally {
      await workers.stop();
    }
  } finally {
    await stage.close();
  }
}

/** The middle one of several rounds, or the only one of a long sweep. */
async function middleOf(subjects: number, measure: () => Promise<SweepFigures>): Promise<SweepFigures> {
  const rounds: SweepFigures[] = [];
  const wanted = subjects <= ROUNDS_UP_TO_SUBJECTS ? ROUNDS : 1;
  while (rounds.length < wanted) rounds.push(await measure());
  return rounds.toSorted((a, b) => a.seconds - b.seconds)[Math.floor(wanted / 2)]!;
}

async function measureAcknowledgement(stage: Stage, { runbook, signal }: Omit<SweepRequest, 'subjects'>) {
  const times: number[] = [];
  while (times.length < ACKNOWLEDGED_REQUESTS) {
    signal.throwIfAborted();
    times.push((await stage.startRun(runbook, 1)).acknowledgedMs);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => Number(times[Math.ceil(share * times.length) - 1]!.toFixed(1));
  return { requests: times.length, median: at(0.5), p95: at(0.95) };
}

/** One figure over another, to three places. */
export function ratio(figure: number, over: number): number {
  return Number((figure / over).toFixed(3));
}
