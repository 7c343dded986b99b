/** A runbook for the tests of what changed: the run's input says how each door is found, so that a test makes history. */
import { type AssessArgs, defineRunbook, type RunArgs } from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

const FOUND = ['shut', 'open', 'dark'] as const;

interface Door {
  readonly name: string;
  readonly visit: number;
  readonly found: (typeof FOUND)[number];
}

interface DoorState extends Record<string, unknown> {
  found: Door['found'];
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { found: { eq: 'dark' } }, then: 'declined', label: 'it is too dark to tell' },
  { when: { found: { eq: 'open' } }, then: 'unlocked', label: 'it stands open' },
];
const OTHERWISE = { branch: 'locked', label: 'it is shut' };

const doorCheck = defineRunbook<Door>({
  name: 'door_check',
  version: '1.0.0',
  description: 'Judges doors as they were found.',
  resultKind: 'verdict/doors',
  rules: { name: 'door-rules', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Door', standings: { unlocked: 'problem', locked: 'ok' } },
  input: z.strictObject({
    visit: z.int(),
    doors: z.record(z.string(), z.enum(FOUND)),
    unvisited: z.string().optional(),
  }),
  limits: { chunkSize: 2 },
  fleet: {
    plan: (_tools, subjects) =>
      flowChart<{ coverage: unknown }>(
        'List doors',
        async (scope) => {
          const { doors, unvisited, visit } = scope.$getArgs<RunArgs>().input as {
            doors: Record<string, Door['found']>;
            unvisited?: string;
            visit: number;
          };
          await subjects.add(Object.entries(doors).map(([name, found]) => ({ name, found, visit })));
          const left = unvisited === undefined ? [] : [{ what: unvisited, why: 'nobody went there' }];
          scope.coverage = { not_checked: left, cannot_cover: [{ what: 'windows', why: 'only doors are looked at' }] };
        },
        'list-doors',
      ).build(),
    // Another key each time, as a pod has after a rollout.
    key: ({ name, visit }) => `${name} on visit ${visit}`,
    identity: ({ name }) => name,
    target: ({ name }) => name.split(' ')[0] ?? name,
    assess: () =>
      flowChart<DoorState>(
        'Look',
        (scope) => {
          scope.found = scope.$getArgs<AssessArgs<Door>>().subject.found;
        },
        'look',
      )
        .addDeciderFunction('Door', (scope) => decide(scope, LIST, OTHERWISE), 'door')
        .addFunctionBranch('unlocked', 'unlocked', () => undefined)
        .addFunctionBranch('declined', 'declined', () => undefined)
        .addFunctionBranch('locked', 'locked', () => undefined)
        .end()
        .build(),
    row: (state) => ({ found: state.found }),
  },
});

export const runbooks = [doorCheck];
