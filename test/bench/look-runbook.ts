/** What the deliveries of the suite `inbox` ask for: a chart of one stage, and the hooks that begin it. */
import { defineRunbook } from '@muster/envelope';
import { defineHook, type HookDeclaration } from '@muster/hooks';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };

export const lookRunbook = defineRunbook({
  name: 'bench_look',
  version: '1.0.0',
  description: 'Looks at one machine.',
  resultKind: 'verdict/bench-look',
  rules: { name: 'load-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } },
  input: z.strictObject({ machine: z.string() }),
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

const events: HookDeclaration = {
  name: 'bench-events',
  format: 'standard',
  runbook: 'bench_look',
  scheme: 'standard_webhooks',
  secrets: [{ credential: 'bench-hook' }],
  input: { machine: { from: 'facts.data.machine' } },
};

export const lookHooks = [
  defineHook(events),
  defineHook({
    ...events,
    name: 'bench-storms',
    subject: { from: 'facts.data.machine' },
    collapse: { by: 'subject', withinMs: 3_600_000 },
  }),
];
