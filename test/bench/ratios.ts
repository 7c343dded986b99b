/** The ratios that the figures are judged by, as far as they were measured, each with what is wanted of it. */
import type { AgentsFigures } from './agents.ts';
import type { BaselineFigures } from './baseline.ts';
import type { EnvelopeOverhead } from './envelope-overhead.ts';
import type { InboxFigures } from './inbox.ts';
import type { MillionFigures } from './million.ts';
import type { SweepGroup } from './sweeps.ts';
import { ratio } from './sweeps.ts';
import type { WaitingFigures } from './waiting.ts';

export interface Figures {
  readonly machine?: Readonly<Record<string, string | number>>;
  readonly envelope?: EnvelopeOverhead;
  readonly sweep?: readonly SweepGroup[];
  readonly baseline?: readonly BaselineFigures[];
  readonly waiting?: readonly WaitingFigures[];
  readonly agents?: AgentsFigures;
  readonly inbox?: readonly InboxFigures[];
  readonly million?: MillionFigures;
}

export interface Ratio {
  readonly what: string;
  readonly measured: number;
  /** Absent where nothing was set beforehand. */
  readonly wanted?: string;
}

/** Gives the ratios. Sweeps are compared at the largest fleet. */
export function ratiosOf(figures: Figures): Ratio[] {
  return [
    ...(figures.envelope === undefined
      ? []
      : [{ what: 'time of a subject with its envelope over the bare chart', measured: figures.envelope.ratio }]),
    ...sweepRatios(figures.sweep ?? []),
    ...(figures.baseline ?? []).map(({ backend, workers, ratio: measured }) => ({
      what: `${backend}: Muster over one job a subject, ${workers} worker(s)`,
      measured,
      wanted: 'at least 2.5',
    })),
    ...(figures.waiting ?? []).map(({ backend, chunks_at_once: chunks, ratio: measured }) => ({
      what: `${backend}: waiting fleet over concurrency / tool time, ${chunks} chunk(s) at once`,
      measured,
      ...(chunks === 1 && { wanted: 'at least 0.8' }),
    })),
    ...(figures.agents?.waking ?? []).map(({ agents, runs, p95_ms: measured }) => ({
      what: `${agents} agents that wait on ${runs} run(s): wake-up, p95 in ms`,
      measured,
      wanted: 'under 250',
    })),
    ...(figures.inbox ?? []).map(({ flood, senders, deliveries, p99_ms: measured }) => ({
      what: `${deliveries} deliveries, 9 of 10 in ${flood === 'storm' ? 'a storm' : 'repeats'}, ${senders} senders: answer, p99 in ms`,
      measured,
      wanted: 'under 1000',
    })),
    ...(figures.million === undefined ? [] : millionRatios(figures.million)),
  ];
}

function sweepRatios(groups: readonly SweepGroup[]): Ratio[] {
  return groups.flatMap((group) => {
    const own = group.sweeps.at(-1)!;
    const at = `${own.subjects} subjects`;
    if (group.workers === 1 && group.chart_threads === 1) {
      const what = `${group.backend}: one worker of one thread over the bare rate, ${at}`;
      return [{ what, measured: own.ratio_to_bare, ...(group.backend === 'redis' && { wanted: 'at least 0.7' }) }];
    }
    const one = groups.find((g) => g.backend === group.backend && g.workers === 1 && g.chart_threads === 1);
    if (one === undefined) return [];
    const what = `${group.backend}: two ${group.workers > 1 ? 'workers' : 'chart threads'} over one, ${at}`;
    const measured = ratio(own.subjects_per_second, one.sweeps.at(-1)!.subjects_per_second);
    return [{ what, measured, wanted: 'one of both at least 1.2' }];
  });
}

function millionRatios(million: MillionFigures): Ratio[] {
  const sizes = `${million.large.subjects} over ${million.small.subjects} subjects`;
  return [
    { what: `memory of a worker, ${sizes}`, measured: million.worker_rss_ratio, wanted: 'at most 1.3' },
    {
      what: `memory of a worker, in MB, ${million.large.subjects} subjects`,
      measured: million.worker_rss_mb,
      wanted: 'under 512',
    },
    { what: `time per subject, ${sizes}`, measured: million.time_per_subject_ratio, wanted: 'at most 1.2' },
  ];
}
