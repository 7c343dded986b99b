/**
 * What the envelope costs over the bare substrate: the same chart with narrative, evidence and redacted snapshot, run by
 * footprintjs alone and by our assessor, in turns within one process, best of several rounds each.
 */
import { createAssessor } from '@muster/envelope';
import { type FlowChart, FlowChartExecutor } from 'footprintjs';
import { type BenchSubject, benchChart, benchRunbook, benchSubjects } from './charts.ts';

const ROUNDS = 7;
const NOW = '2026-01-01T00:00:00.000Z';

export interface EnvelopeOverhead {
  readonly subjects: number;
  readonly bare_per_second: number;
  readonly envelope_per_second: number;
  /** Time with the envelope over time without. */
  readonly ratio: number;
}

export async function measureEnvelopeOverhead(count = 3000): Promise<EnvelopeOverhead> {
  const subjects = benchSubjects(count);
  const bare: number[] = [];
  const envelope: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await timeOf(() => runBare(subjects)));
    envelope.push(await timeOf(() => runAssessed(subjects)));
  }
  const [bareMs, envelopeMs] = [Math.min(...bare), Math.min(...envelope)];
  return {
    subjects: count,
    bare_per_second: Math.round((1000 * count) / bareMs),
    envelope_per_second: Math.round((1000 * count) / envelopeMs),
    ratio: Number((envelopeMs / bareMs).toFixed(3)),
  };
}

/** What the bare way knows of a subject. */
export interface BareSubject {
  readonly state: Readonly<Record<string, unknown>>;
  readonly verdict: string;
  readonly evidence: readonly unknown[];
  readonly narrative: number;
}

/** The bare way: what a person would write with footprintjs to get rows and evidence. */
export async function runBareSubject(chart: FlowChart, subject: BenchSubject, count: number): Promise<BareSubject> {
  const executor = new FlowChartExecutor(chart);
  const evidence: unknown[] = [];
  let verdict = '';
  executor.enableNarrative({
    includeValues: false,
    renderer: {
      renderDecision(context) {
        evidence.push(context.evidence);
        verdict = context.chosen;
        return `chose ${context.chosen}`;
      },
    },
  });
  await executor.run({ input: { subject, input: { count }, now: NOW } });
  const state = executor.getSnapshot({ redact: true }).sharedState as Record<string, unknown>;
  return { state, verdict, evidence, narrative: executor.getNarrativeEntries().length };
}

/** Runs subjects the bare way, one after the other. */
export async function runBare(subjects: readonly BenchSubject[]): Promise<number> {
  const chart = benchChart();
  let kept = 0;
  for (const subject of subjects) {
    const { state, evidence, narrative } = await runBareSubject(chart, subject, subjects.length);
    kept += narrative + evidence.length + (state.done ? 1 : 0);
  }
  return kept;
}

async function runAssessed(subjects: readonly BenchSubject[]): Promise<number> {
  const assessor = createAssessor(
    benchRunbook,
    { input: { count: subjects.length }, now: NOW },
    { toolCallId: 'bench', runId: 'bench' },
  );
  let kept = 0;
  for (const [ordinal, subject] of subjects.entries()) {
    const assessed = await assessor.assess({ ordinal, key: subject.name, subject });
    if (assessed !== 'aborted') kept += assessed.walk.length;
  }
  return kept;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
