/**
 * The runbooks of the tests of agents: one that answers at once, one that waits for a sign, one that asks, one with more
 * rows than an answer has room for. Loaded by processes through MUSTER_RUNBOOKS.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineRunbook } from '@muster/envelope';
import { type DecideRule, decide, flowChart, type TypedScope } from 'footprintjs';
import { z } from 'zod';

interface Valve extends Record<string, unknown> {
  pressure: number;
  asked: boolean;
  verdicts: unknown[];
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { pressure: { gt: 100 } }, then: 'burst', label: 'its pressure is over 100' },
];
const OTHERWISE = { branch: 'tight', label: 'its pressure is not over 100' };
const judged = {
  version: '1.0.0',
  resultKind: 'verdict/valve',
  rules: { name: 'valve-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Pressure', standings: { burst: 'problem', tight: 'ok' } },
} as const;
const input = z.strictObject({ valves: z.int().min(1).max(500), note: z.string().max(64).optional() });
type Input = z.infer<typeof input>;

const rowsOf = (verdict: string) => (scope: TypedScope<Valve>) => {
  const { valves } = scope.$getArgs<Input>();
  scope.verdicts = Array.from({ length: valves }, (_, number) => ({
    subject: `valve-${number}`,
    verdict,
    reason: 'as it was measured',
    pressure: scope.pressure,
  }));
};

const judge = (chart: ReturnType<typeof flowChart<Valve>>) =>
  chart
    .addDeciderFunction('Pressure', (scope: Valve) => decide(scope, LIST, OTHERWISE), 'pressure')
    .addFunctionBranch('burst', 'Burst', rowsOf('burst'))
    .addFunctionBranch('tight', 'Tight', rowsOf('tight'))
    .end()
    .build();
const measure = (scope: Valve) => {
  scope.pressure = 120;
};

/** Answers at once. */
const valves = defineRunbook({
  ...judged,
  name: 'valves',
  description: 'Judges valves by their pressure.',
  input,
  asTool: true,
  procedure: () => judge(flowChart<Valve>('Measure', measure, 'measure')),
});

/** Says that it has begun, and goes on when it is told to. */
const slowValves = defineRunbook({
  ...judged,
  name: 'slow_valves',
  description: 'Judges valves when it is told to.',
  input,
  asTool: true,
  procedure: () =>
    judge(
      flowChart<Valve>(
        'Measure',
        async (scope) => {
          const { note = 'none' } = scope.$getArgs<Input>();
          measure(scope);
          await sign(note, scope.$getEnv().signal);
        },
        'measure',
      ),
    ),
});

/** Asks before it judges. */
const askedValves = defineRunbook({
  ...judged,
  name: 'asked_valves',
  description: 'Judges valves once somebody has said that they may be touched.',
  input,
  resume: z.strictObject({ go_on: z.boolean() }),
  answers: { role: 'runner', self: true },
  procedure: () =>
    judge(
      flowChart<Valve>('Measure', measure, 'measure').addPausableFunction(
        'Ask',
        {
          execute: () => ({ question: 'May the valves be touched?' }),
          resume: (scope: Valve, answer: unknown) => {
            scope.asked = (answer as { go_on: boolean }).go_on;
          },
        },
        'ask',
      ),
    ),
});

/** Writes `begun-NOTE` and waits until there is `go-NOTE`. */
async function sign(note: string, signal: AbortSignal | undefined): Promise<void> {
  const folder = process.env.MUSTER_TEST_SIGNALS ?? '.';
  writeFileSync(join(folder, `begun-${note}`), '');
  while (!existsSync(join(folder, `go-${note}`))) await sleep(20, undefined, { ...(signal && { signal }) });
}

export const runbooks = [valves, slowValves, askedValves];
