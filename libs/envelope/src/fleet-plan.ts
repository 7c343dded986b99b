/**
 * Plan: the chart that finds the subjects and streams them out. No list is held here; what is remembered of a subject is
 * its key alone, because the first of two equal keys wins and the rest are counted and named.
 */
import { RunFailure } from './answer.ts';
import { ChartClock } from './chart-clock.ts';
import { type ChartSummary, innerDeclarations, summariseChart } from './chart-summary.ts';
import { cleanText } from './clean-text.ts';
import type { FleetRunbook } from './define-runbook.ts';
import { describe } from './describe.ts';
import { errorIdentity } from './error-identity.ts';
import { KeySet } from './key-set.ts';
import { failureOrAbsence, type RunCall } from './procedure-run.ts';
import { runChart } from './run-chart.ts';
import type { RunArgs } from './runbook.ts';
import { recordingDispatch } from './tool-dispatch.ts';
import type { WalkRow } from './walk.ts';
import { mintRecording, type RecordingDescriptor, recordingOptions } from './walk-artifact.ts';

/** One subject with its place in the run. `subject` is plain JSON. */
export interface PlannedSubject {
  readonly ordinal: number;
  readonly key: string;
  readonly identity?: string;
  readonly target?: string;
  readonly subject: unknown;
}

/** So many keys, with the first few of them. */
export interface NamedCount {
  readonly count: number;
  readonly samples: readonly string[];
}

/** What planning came to. */
export interface FleetPlan {
  readonly total: number;
  readonly duplicates: NamedCount;
  /** Of a rerun: subjects that were chosen and that this plan did not find. */
  readonly missing?: NamedCount;
  readonly summary: ChartSummary;
  readonly walk: readonly WalkRow[];
  readonly recording?: RecordingDescriptor;
}

/** What a plan came to: something to go on with, or the answer that it already is. */
export type PlanOutcome =
  | { readonly kind: 'planned'; readonly plan: FleetPlan }
  | { readonly kind: 'absence'; readonly body: unknown }
  | { readonly kind: 'failure'; readonly error: unknown };

/** The longest key, in UTF-16 units: keys are indexed, and an index entry has a ceiling. */
export const MAX_KEY_LENGTH = 1024;
const KEY_SAMPLES = 5;

/**
 * Runs the plan chart.
 *
 * @param onPage stores one page of subjects; awaited, which is the back-pressure on the plan chart
 * @param only a rerun's keys: every other subject is passed over, as if it had not been found
 */
export async function planFleet(
  runbook: FleetRunbook,
  args: RunArgs,
  call: RunCall,
  onPage: (page: readonly PlannedSubject[]) => Promise<void>,
  only?: ReadonlySet<string>,
): Promise<PlanOutcome> {
  const clock = new ChartClock();
  const { tools, records } = recordingDispatch(call.tools, runbook.name, clock);
  const seen = new KeySet();
  const samples: string[] = [];
  let duplicates = 0;
  const add = async (subjects: readonly unknown[]) => {
    if (!Array.isArray(subjects))
      throw new RunFailure('plan_invalid', `subjects.add takes a list, got ${describe(subjects)}`);
    const page: PlannedSubject[] = [];
    for (const given of subjects) {
      const subject = plainJson(runbook.name, given);
      const key = readName(runbook, 'key', runbook.fleet.key(subject as never));
      if (only !== undefined && !only.has(key)) continue;
      if (!seen.add(key)) {
        duplicates++;
        if (samples.length < KEY_SAMPLES && !samples.includes(key)) samples.push(key);
        continue;
      }
      if (seen.size > runbook.limits.maxSubjects) {
        throw new RunFailure(
          'too_many_subjects',
          `the plan of '${runbook.name}' found more than ${runbook.limits.maxSubjects} subjects; limits.maxSubjects raises the limit`,
        );
      }
      const identity = runbook.fleet.identity?.(subject as never);
      const target = runbook.fleet.target?.(subject as never);
      page.push({
        ordinal: seen.size - 1,
        key,
        ...(identity !== undefined && { identity: readName(runbook, 'identity', identity) }),
        ...(target !== undefined && { target: readName(runbook, 'target', target) }),
        subject,
      });
    }
    if (page.length > 0) await onPage(page);
  };
  const chart = runbook.fleet.plan(tools, { add });
  const run = await runChart(chart, {
    input: { ...args },
    signal: call.signal,
    stopSignal: call.stopSignal,
    clock,
    timeoutMs: call.timeoutMs ?? runbook.limits.chartTimeoutMs,
    redact: runbook.redact,
    timers: call.timers,
    recorded: recordingOptions(runbook.walk) !== undefined,
  });
  if (run.outcome === 'failed') return failureOrAbsence(run.error);
  if (run.outcome === 'paused') {
    return {
      kind: 'failure',
      error: new RunFailure('paused', `the plan of '${runbook.name}' paused; only a bounded procedure may`),
    };
  }
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  const recording = await mintRecording(call.artifacts, run.recording, runbook.walk, facts);
  return {
    kind: 'planned',
    plan: {
      total: seen.size,
      duplicates: { count: duplicates, samples },
      ...(only !== undefined && { missing: keysNotIn(seen, only) }),
      summary: summariseChart(run, innerDeclarations(records), runbook.verdicts.decider),
      walk: run.walk,
      ...(recording !== undefined && { recording }),
    },
  };
}

function keysNotIn(seen: Pick<ReadonlySet<string>, 'has' | 'size'>, wanted: ReadonlySet<string>): NamedCount {
  const samples: string[] = [];
  for (const key of wanted) {
    if (samples.length === KEY_SAMPLES) break;
    if (!seen.has(key)) samples.push(key);
  }
  // Nothing is planned that was not wanted.
  return { count: wanted.size - seen.size, samples };
}

/**
 * A subject as it is stored and read again: rules see the same values in one process as behind a queue (DESIGN 9), and
 * nobody else holds the copy, which the substrate freezes.
 */
function plainJson(runbook: string, subject: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(subject);
  } catch (error) {
    throw new RunFailure('plan_invalid', `a subject of '${runbook}' is no plain JSON: ${errorIdentity(error)}`);
  }
  if (text === undefined) throw new RunFailure('plan_invalid', `a subject of '${runbook}' is ${describe(subject)}`);
  return JSON.parse(text);
}

function readName(runbook: FleetRunbook, option: string, value: unknown): string {
  const name = typeof value === 'string' ? cleanText(value) : '';
  if (name.trim() === '' || name.length > MAX_KEY_LENGTH) {
    throw new RunFailure(
      'plan_invalid',
      `fleet.${option} of '${runbook.name}' must give a non-empty string of at most ${MAX_KEY_LENGTH} characters`,
    );
  }
  return name;
}
