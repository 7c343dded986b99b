/** Runbooks of a user's own, named by MUSTER_RUNBOOKS in the tests. */
import { type AssessArgs, defineRunbook } from '@muster/envelope';
import { type DecideRule, decide, flowChart, interrupt } from 'footprintjs';
import { z } from 'zod';

interface Door {
  readonly name: string;
}

interface DoorState extends Record<string, unknown> {
  open: boolean;
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { open: { eq: true } }, then: 'open', label: 'it is open' },
];
const OTHERWISE = { branch: 'shut', label: 'it is shut' };

/** Three doors; the one that is named `stuck` cannot be judged. */
const doors = defineRunbook<Door>({
  name: 'doors',
  version: '1.0.0',
  description: 'Judges whether doors are shut.',
  resultKind: 'verdict/doors',
  rules: { name: 'door-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Door', standings: { open: 'problem', shut: 'ok' } },
  input: z.strictObject({
    stuck: z.boolean().default(false),
    broken: z.boolean().default(false),
    ask: z.boolean().default(false),
  }),
  fleet: {
    plan: (_tools, subjects) =>
      flowChart(
        'Find doors',
        async (scope) => {
          const { input } = scope.$getArgs<{ input: { stuck: boolean; broken: boolean } }>();
          if (input.broken) throw new Error('the house is gone');
          await subjects.add([{ name: 'front' }, { name: 'back' }, ...(input.stuck ? [{ name: 'stuck' }] : [])]);
        },
        'find-doors',
      ).build(),
    key: (door) => door.name,
    assess: () =>
      flowChart<DoorState>(
        'Look',
        (scope) => {
          const { subject } = scope.$getArgs<AssessArgs<Door>>();
          if (subject.name === 'stuck') throw new Error('it does not move');
          scope.open = subject.name === 'back';
        },
        'look',
      )
        .addDeciderFunction('Door', (scope) => decide(scope, LIST, OTHERWISE), 'door')
        .addFunctionBranch('open', 'open', () => undefined)
        .addFunctionBranch('shut', 'shut', () => undefined)
        .end()
        .build(),
    row: (state) => ({ reason: state.open ? 'somebody left it open' : 'it is shut' }),
    approve: ({ subjects }, input) => (input.ask ? { question: `Look at ${subjects} doors?` } : undefined),
  },
});

/** It asks in its only stage. */
const bell = defineRunbook({
  name: 'bell',
  version: '1.0.0',
  description: 'Rings the bell when it may.',
  resultKind: 'report',
  rules: { name: 'bell-rules', version: '1' },
  verdicts: { decider: 'none' },
  input: z.strictObject({}),
  resume: z.strictObject({ ring: z.boolean() }),
  procedure: () => flowChart('Ring', (scope) => void interrupt(scope, { reason: 'Ring?' }), 'ring').build(),
});

export const runbooks = [doors, bell];
