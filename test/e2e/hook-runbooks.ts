/** A fleet of one machine, begun by webhooks. Loaded by the processes of the tests through MUSTER_RUNBOOKS. */
import { defineRunbook } from '@muster/envelope';
import { defineHook, type HookDeclaration } from '@muster/hooks';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };

const machineLook = defineRunbook({
  name: 'machine_look',
  version: '1.0.0',
  description: 'Looks at one machine.',
  resultKind: 'verdict/machine-look',
  rules: { name: 'load-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } },
  input: z.strictObject({ machine: z.string().min(1).max(64) }),
  procedure: () =>
    flowChart<{ load: number }>(
      'Look',
      (scope) => {
        scope.load = 10;
      },
      'look',
    )
      .addDeciderFunction('Load', (scope) => decide(scope as never, LIST, OTHERWISE), 'load')
      .addFunctionBranch('overloaded', 'Overloaded', () => undefined)
      .addFunctionBranch('fine', 'Fine', () => undefined)
      .end()
      .build(),
});

const alerts: HookDeclaration = {
  name: 'alerts',
  format: 'alertmanager',
  runbook: 'machine_look',
  scheme: 'bearer',
  secrets: [{ credential: 'alerts-token' }, { credential: 'alerts-token-next' }],
  input: { machine: { from: 'labels.machine' } },
};

export const runbooks = [machineLook];
export const hooks = [
  defineHook(alerts),
  defineHook({
    ...alerts,
    name: 'storms',
    subject: { from: 'labels.machine' },
    collapse: { by: 'subject', withinMs: 3_600_000 },
  }),
  defineHook({
    ...alerts,
    name: 'orders',
    format: 'standard',
    scheme: 'standard_webhooks',
    secrets: [{ credential: 'orders-key' }],
    input: { machine: { from: 'facts.data.machine' } },
  }),
];
