/** Runbooks whose subjects do what no subject should: a module, because chart threads load runbooks by path. */
import { type AssessArgs, defineRunbook, type Runbook } from '@muster/envelope';
import { decide, flowChart } from 'footprintjs';
import { z } from 'zod';

export interface HostileSubject {
  readonly name: string;
  readonly does: 'answer' | 'loop' | 'fill_heap' | 'exit' | 'throw' | 'throw_late' | 'wait';
}

const LIST = [{ when: { does: { eq: 'answer' } }, then: 'fine', label: 'it answered' }];
const OTHERWISE = { branch: 'odd', label: 'it did something else and lived' };

function define(name: string, limits: { concurrency?: number; subjectTimeoutMs?: number }): Runbook {
  return defineRunbook<HostileSubject>({
    name,
    version: '1.0.0',
    description: 'Subjects that loop, fill the heap, exit and throw.',
    resultKind: 'verdict/hostile',
    rules: { name: 'hostile', version: '1', list: LIST, otherwise: OTHERWISE },
    verdicts: { decider: 'Look', standings: { fine: 'ok', odd: 'problem' } },
    input: z.strictObject({}),
    limits,
    fleet: {
      plan: () => flowChart<Record<string, unknown>>('Plan', () => {}, 'plan').build(),
      key: (subject) => subject.name,
      row: (state) => ({ does: state.does }),
      assess: () =>
        flowChart<Record<string, unknown>>(
          'Act',
          async (scope) => {
            const { does } = scope.$getArgs<AssessArgs<HostileSubject>>().subject;
            scope.does = does;
            await act(does);
          },
          'act',
        )
          .addDeciderFunction('Look', (scope) => decide(scope, LIST, OTHERWISE), 'look')
          .addFunctionBranch('fine', 'Fine', () => {})
          .addFunctionBranch('odd', 'Odd', () => {})
          .end()
          .build(),
    },
  });
}

async function act(does: HostileSubject['does']): Promise<void> {
  if (does === 'loop') for (;;);
  if (does === 'fill_heap') {
    const held: number[][] = [];
    for (;;) held.push(Array.from({ length: 100_000 }, Math.random));
  }
  if (does === 'exit') process.exit(0);
  if (does === 'throw') throw new Error('a subject that throws');
  if (does === 'wait') await new Promise((resolve) => setTimeout(resolve, 20));
  if (does === 'throw_late') {
    setImmediate(() => {
      throw new Error('an error that nobody awaits');
    });
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

export const runbooks = [
  define('hostile_computing', { subjectTimeoutMs: 500 }),
  define('hostile_waiting', { subjectTimeoutMs: 500, concurrency: 8 }),
];
