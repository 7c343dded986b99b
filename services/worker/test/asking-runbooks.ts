/** Runbooks that ask a person, over the tools of the bench: each stage asks a tool, and the tools are the test's own. */
import { createHash, randomUUID } from 'node:crypto';
import { defineRunbook, type FleetRunbook, type RunbookDeclaration, type ToolDispatch } from '@muster/envelope';
import {
  type AnswerOutcome,
  answerInterruption,
  createApiKey,
  getOpenInterruption,
  type InterruptionAnswer,
  type InterruptionRecord,
  type RunRecord,
} from '@muster/results';
import { waitFor } from '@muster/testkit';
import { decide, flowChart, interrupt } from 'footprintjs';
import { z } from 'zod';
import { benchRunbooks, machineCheck } from './bench-runbooks.ts';
import { type Bench, TENANT } from './worker-bench.ts';

/** The shortest time that a question may stand, in ms. */
export const SHORTEST_MS = 60_000;

interface Fix extends Record<string, unknown> {
  machines: string[];
  approved: boolean;
  note: string;
  verdicts: object[];
}

const LIST = [{ when: { approved: { eq: false } }, then: 'left', label: 'nobody wanted it' }] as const;
const OTHERWISE = { branch: 'fixed', label: 'somebody wanted it' };

/** Asks `survey`, asks a person as often as it is told to, and asks `report` with what was answered last. */
const fixing = (asks: number) => (tools: ToolDispatch) => {
  let chart = flowChart<Fix>(
    'Survey',
    async (scope) => {
      scope.machines = (await tools.call('survey', scope.$getArgs(), { signal: scope.$getEnv().signal })) as string[];
    },
    'survey',
  );
  for (let number = 1; number <= asks; number++) {
    chart = chart.addFunction(
      `Ask ${number}`,
      (scope) => {
        const question = { question: `Fix ${scope.machines.length} machines?`, asked: number };
        const answer = interrupt<{ approved: boolean; note: string }>(scope as never, question as never);
        scope.approved = answer.approved;
        scope.note = answer.note;
      },
      `ask-${number}`,
    );
  }
  return chart
    .addFunction(
      'Report',
      async (scope) => {
        const { approved, note } = scope;
        await tools.call('report', { approved, note }, { signal: scope.$getEnv().signal });
        const verdict = approved ? 'fixed' : 'left';
        scope.verdicts = scope.machines.map((subject) => ({ subject, verdict, reason: note }));
      },
      'report',
    )
    .addDeciderFunction('Fix', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'fix')
    .addFunctionBranch('left', 'left', () => undefined)
    .addFunctionBranch('fixed', 'fixed', () => undefined)
    .end()
    .build();
};

const mute = {
  name: 'mute_fix',
  version: '1.0.0',
  description: 'Asks, and does not say what an answer is.',
  resultKind: 'verdict/fix',
  rules: { name: 'fix-rules', version: '1' },
  verdicts: { decider: 'Fix', standings: { left: 'problem', fixed: 'ok' } },
  input: z.record(z.string(), z.unknown()),
  procedure: fixing(1),
} as unknown as RunbookDeclaration;

const asking = {
  ...mute,
  name: 'asked_fix',
  description: 'Asks before it fixes machines.',
  resume: z.strictObject({ approved: z.boolean(), note: z.string().default('no words') }),
  answers: { withinMs: SHORTEST_MS },
} as unknown as RunbookDeclaration;

const { fleet } = machineCheck as FleetRunbook;

const approving = {
  ...machineCheck,
  name: 'asked_check',
  answers: { withinMs: SHORTEST_MS },
  fleet: {
    ...fleet,
    target: ({ name }: { name: string }) => `rack ${name.at(-1)}`,
    approve: ({ subjects, targets }: { subjects: number; targets?: number }) => ({
      question: `Look at ${subjects} machines in ${targets} racks?`,
    }),
  },
} as unknown as RunbookDeclaration;

const unsure = {
  ...approving,
  name: 'unsure_check',
  fleet: {
    ...fleet,
    approve: () => {
      throw new RangeError('geheim');
    },
  },
} as unknown as RunbookDeclaration;

export const askingRunbooks = [
  ...benchRunbooks,
  defineRunbook(mute),
  defineRunbook(asking),
  defineRunbook({ ...asking, name: 'asked_twice', procedure: fixing(2) } as unknown as RunbookDeclaration),
  defineRunbook(approving),
  defineRunbook({ ...approving, name: 'careful_check', limits: { ...machineCheck.limits, canary: '25%' } } as never),
  defineRunbook(unsure),
];

/** Waits until a run asks, and gives the question back. */
export async function asked(bench: Bench, run: RunRecord, number = 1): Promise<InterruptionRecord> {
  const scope = { tenant: TENANT, runId: run.id };
  const question = await waitFor(
    () => getOpenInterruption(bench.db, scope),
    (seen) => seen?.number === number,
    { what: `question ${number} of the run` },
  );
  return question!;
}

/** Answers what a run asks, as a key that did not start it. */
export async function answer(
  bench: Bench,
  run: RunRecord,
  value: { readonly approved: boolean; readonly [name: string]: unknown },
  over: Partial<InterruptionAnswer> = {},
): Promise<AnswerOutcome> {
  const { id: keyId } = await createApiKey(bench.db, { tenant: TENANT, name: randomUUID(), role: 'approver' });
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  const by = { keyId, role: 'approver' } as const;
  return await answerInterruption(bench.db, { tenant: TENANT, runId: run.id, answer: text, digest, by, ...over });
}
