/** A fleet for tests: each subject says how it is to end. */
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';
import {
  type AssessArgs,
  type CollectArgs,
  coverage,
  defineRunbook,
  type FleetProcedure,
  type FleetRunbook,
  type RunbookDeclaration,
  type RunLimits,
  runFleet,
  type ToolDispatch,
} from '../src/index.ts';
import type { MemorySink } from './memory-sink.ts';
import { type State, toolsThat } from './procedures.ts';

export interface Subject {
  readonly id: string;
  readonly age?: unknown;
  readonly act?: 'throw' | 'hang' | 'absent' | 'need' | 'pause' | 'undecided' | 'odd' | 'bad-row' | 'call';
  readonly target?: string;
}

export const RULES: DecideRule<State>[] = [
  { when: { known: { eq: false } }, then: 'declined', label: 'the age cannot be read' },
  { when: { act: { eq: 'odd' } }, then: 'odd' },
  { when: { age: { gt: 7 } }, then: 'stale', label: 'older than 7 days' },
];
export const OTHERWISE = { branch: 'fresh', label: 'within 7 days' };
export const STANDINGS = { stale: 'problem', fresh: 'ok' } as const;

type Scope = State & { $getArgs(): unknown; $break(): void };

/** The chart of one subject: the same for a fleet's assess and for a branch of a bounded fan-out. */
export function assessChart(tools: ToolDispatch, given?: Subject) {
  const land = (verdict: string) => (scope: State) => void Object.assign(scope, { word: verdict });
  return flowChart<State>(
    'Read',
    async (scope) => {
      const subject = given ?? (scope as unknown as Scope).$getArgs();
      const { age, act } = ((subject as AssessArgs<Subject>).subject ?? subject) as Subject;
      if (act === 'throw') throw Object.assign(new Error('secret'), { code: 'E9' });
      if (act === 'hang') await new Promise(() => undefined);
      if (act === 'absent' || act === 'need' || act === 'call') await tools.call(act);
      if (act === 'undecided') (scope as unknown as Scope).$break();
      Object.assign(scope, { known: age !== null, age: age ?? 0, act: act ?? 'none' });
    },
    'read',
  )
    .addDeciderFunction('State', (scope: State) => decide(scope, RULES, OTHERWISE), 'state')
    .addFunctionBranch('declined', 'Declined', land('declined'))
    .addFunctionBranch('odd', 'Odd', land('odd'))
    .addFunctionBranch('stale', 'Stale', land('stale'))
    .addFunctionBranch('fresh', 'Fresh', land('fresh'))
    .end()
    .build();
}

/** A plan that streams its subjects in pages. */
export function planOf(subjects: readonly unknown[], pageSize = 3, stage: (scope: State) => void = () => undefined) {
  return (_tools: ToolDispatch, sink: { add(page: never[]): Promise<void> }) =>
    flowChart<State>(
      'Plan',
      async (scope) => {
        for (let at = 0; at < subjects.length; at += pageSize)
          await sink.add(subjects.slice(at, at + pageSize) as never[]);
        stage(scope);
      },
      'plan',
    ).build();
}

export type FleetParts = Partial<FleetProcedure<Subject>> & {
  readonly limits?: RunLimits;
  readonly more?: Partial<RunbookDeclaration<Subject>>;
};

/** Defines the fleet runbook, with parts of it replaced. */
export function fleetOf(subjects: readonly unknown[], { limits, more, ...fleet }: FleetParts = {}): FleetRunbook {
  return defineRunbook<Subject>({
    name: 'ages',
    version: '1.0.0',
    description: 'Checks ages.',
    resultKind: 'verdict/ages',
    rules: { name: 'age-rules', version: 'v1' },
    verdicts: { decider: 'State', standings: STANDINGS },
    input: z.strictObject({}),
    ...(limits !== undefined && { limits }),
    fleet: {
      plan: planOf(subjects) as never,
      key: (subject) => subject.id,
      target: (subject) => subject.target,
      assess: (tools) => assessChart(tools),
      row: (state, subject) => {
        if (subject.act === 'bad-row') throw new Error('secret');
        return { age: state.age };
      },
      ...fleet,
    },
    ...(more as object),
  }) as FleetRunbook;
}

export const ARGS = { input: {}, now: '2026-01-01T00:00:00Z' };

export const tools = toolsThat({
  call: coverage({ ok: true }, { checked: ['the called source'] }),
});

/** Runs the fleet in this process; the answer must be an envelope. */
export async function runAnswered(runbook: FleetRunbook, call: { artifacts?: MemorySink; tools?: ToolDispatch } = {}) {
  const { answer, subjects } = await runFleet(runbook, ARGS, { toolCallId: 'c1', tools, ...call });
  if (answer.kind !== 'envelope') throw new Error(`no envelope: ${JSON.stringify(answer)}`, { cause: answer });
  return { envelope: answer.body, subjects };
}

/** A collect chart that reports the counters it was given. */
export function reportCounts() {
  return flowChart<State>(
    'Collect',
    (scope) => {
      const { counts } = (scope as unknown as Scope).$getArgs() as CollectArgs;
      Object.assign(scope, {
        report: { seen: counts.total, problems: counts.problem },
        coverage: { checked: ['the counters'] },
      });
    },
    'collect',
  ).build();
}
