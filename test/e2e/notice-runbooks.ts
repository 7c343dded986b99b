/**
 * A fleet for the tests of notices, loaded through MUSTER_RUNBOOKS: lamps. A file `lamp-N` in MUSTER_TEST_SIGNALS says how
 * one is: `broken`, or `dark`, of which nothing can be seen; without a file it shines.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AssessArgs, defineRunbook, type RunArgs } from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

interface Lamp {
  readonly name: string;
  readonly street: string;
}

interface LampState extends Record<string, unknown> {
  broken: boolean;
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { broken: { eq: true } }, then: 'out', label: 'it does not shine' },
];
const OTHERWISE = { branch: 'shines', label: 'it shines' };

const lamps = defineRunbook<Lamp>({
  name: 'lamps',
  version: '1.0.0',
  description: 'Looks whether lamps shine.',
  resultKind: 'verdict/lamps',
  rules: { name: 'lamp-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Light', standings: { out: 'problem', shines: 'ok' } },
  input: z.strictObject({ lamps: z.int().min(1).max(1000) }),
  fleet: {
    plan: (_tools, subjects) =>
      flowChart(
        'Count lamps',
        async (scope) => {
          const { input } = scope.$getArgs<RunArgs>();
          const all = Array.from({ length: Number(input.lamps) }, (_, at) => ({ name: `lamp-${at}`, street: 'high' }));
          await subjects.add(all);
        },
        'count',
      ).build(),
    key: (lamp) => lamp.name,
    target: (lamp) => lamp.street,
    assess: () =>
      flowChart<LampState>(
        'Look',
        (scope) => {
          const { subject } = scope.$getArgs<AssessArgs<Lamp>>();
          const file = join(process.env.MUSTER_TEST_SIGNALS ?? '.', subject.name);
          const state = existsSync(file) ? readFileSync(file, 'utf8') : 'fine';
          if (state === 'dark') throw new Error('nothing can be seen');
          scope.broken = state === 'broken';
        },
        'look',
      )
        .addDeciderFunction('Light', (scope: LampState) => decide(scope, LIST, OTHERWISE), 'light')
        .addFunctionBranch('out', 'Out', () => undefined)
        .addFunctionBranch('shines', 'Shines', () => undefined)
        .end()
        .build(),
    row: () => ({}),
  },
});

export const runbooks = [lamps];
