/** A fleet whose subjects wait: each asks a tool that takes its time, and every fiftieth gets no answer. */
import { type AssessArgs, defineRunbook, defineTool, type FleetRunbook, type Tool } from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

interface WaitingSubject {
  readonly name: string;
  readonly index: number;
}

export const WAITING = { toolMs: 100, concurrency: 100, failsEvery: 50 } as const;

const PAGE = 1000;
const RULES: DecideRule<Record<string, unknown>>[] = [{ when: { load: { gt: 90 } }, then: 'busy', label: 'over 90' }];
const OTHERWISE = { branch: 'calm', label: 'not over 90' };

export const probeTool: Tool = defineTool<Record<string, unknown>, number>({
  name: 'bench_probe',
  description: 'Reads the load of a made-up node.',
  async execute({ index }) {
    await new Promise((resolve) => setTimeout(resolve, WAITING.toolMs));
    if (Number(index) % WAITING.failsEvery === 0) throw new Error('the node did not answer');
    return (Number(index) * 37) % 100;
  },
});

export const waitingRunbook = defineRunbook<WaitingSubject>({
  name: 'bench_waiting',
  version: '1.0.0',
  description: 'Judges made-up nodes that are slow to answer.',
  resultKind: 'verdict/bench-waiting',
  rules: { name: 'bench', version: '1', list: RULES, otherwise: OTHERWISE },
  verdicts: { decider: 'Load', standings: { busy: 'problem', calm: 'ok' } },
  composedOf: ['bench_probe'],
  input: z.strictObject({ count: z.int().min(1).max(100_000) }),
  limits: { maxSubjects: 100_000, concurrency: WAITING.concurrency },
  fleet: {
    plan: (_tools, subjects) =>
      flowChart<Record<string, unknown>>(
        'Make subjects',
        async (scope) => {
          const { count } = scope.$getArgs<{ input: { count: number } }>().input;
          for (let first = 0; first < count; first += PAGE) {
            const length = Math.min(PAGE, count - first);
            await subjects.add(Array.from({ length }, (_, at) => ({ name: `node-${first + at}`, index: first + at })));
          }
        },
        'make-subjects',
      ).build(),
    key: (subject) => subject.name,
    assess: (tools) =>
      flowChart<Record<string, unknown>>(
        'Probe',
        async (scope) => {
          const { subject } = scope.$getArgs<AssessArgs<WaitingSubject>>();
          scope.title = subject.name;
          scope.load = await tools.call('bench_probe', { index: subject.index }, { signal: scope.$getEnv().signal });
        },
        'probe',
      )
        .addDeciderFunction('Load', (scope) => decide(scope, RULES, OTHERWISE), 'load')
        .addFunctionBranch('busy', 'Busy', () => undefined)
        .addFunctionBranch('calm', 'Calm', () => undefined)
        .end()
        .build(),
    row: (state) => ({ load: state.load }),
  },
}) as FleetRunbook;
