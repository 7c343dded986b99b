/** Machines in racks: `survey` names them, a page at a time, and each machine's rack is its target. */
import { type AssessArgs, defineRunbook, type RunArgs } from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';
import { benchTools, type Hooks } from './bench-runbooks.ts';

export interface RackMachine {
  readonly name: string;
  readonly rack?: string;
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };

function rackRunbook(version: string, withTargets: boolean) {
  return defineRunbook<RackMachine>({
    name: withTargets ? 'rack_check' : 'loose_check',
    version,
    description: 'Judges the load of the machines in every rack.',
    resultKind: 'verdict/rack-check',
    rules: { name: 'load-rules', version: '1', list: LIST, otherwise: OTHERWISE },
    verdicts: { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } },
    input: z.record(z.string(), z.unknown()),
    walk: { cap: 60 },
    limits: { chunkSize: 5 },
    fleet: {
      plan: (tools, subjects) =>
        flowChart(
          'Survey',
          async (scope) => {
            const { input } = scope.$getArgs<RunArgs>();
            for (const page of (await tools.call('survey', input)) as RackMachine[][]) {
              await subjects.add(page);
              await tools.call('report', { added: page.length });
            }
          },
          'survey',
        ).build(),
      key: (machine) => machine.name,
      ...(withTargets && { target: (machine: RackMachine) => machine.rack }),
      assess: (tools) =>
        flowChart<{ load: number }>(
          'Probe',
          async (scope) => {
            const { subject } = scope.$getArgs<AssessArgs<RackMachine>>();
            scope.load = (await tools.call('probe', subject, { signal: scope.$getEnv().signal })) as number;
          },
          'probe',
        )
          .addDeciderFunction('Load', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'load')
          .addFunctionBranch('overloaded', 'overloaded', () => undefined)
          .addFunctionBranch('fine', 'fine', () => undefined)
          .end()
          .build(),
      row: (state) => ({ load: state.load }),
    },
  });
}

export const rackCheck = rackRunbook('1.0.0', true);
/** The same in another version. */
export const laterRackCheck = rackRunbook('2.0.0', true);
/** The same without targets. */
export const looseCheck = rackRunbook('1.0.0', false);

/** So many machines, each in the next rack, in pages of seven. */
export function racked(machines: number, racks: number): RackMachine[][] {
  const all = Array.from({ length: machines }, (_, number) => ({
    name: `machine-${String(number).padStart(3, '0')}`,
    rack: `rack ${number % racks}`,
  }));
  return Array.from({ length: Math.ceil(machines / 7) }, (_, page) => all.slice(7 * page, 7 * page + 7));
}

/** Tools over 40 machines in 8 racks, all fine, unless the test says otherwise. */
export function rackTools(hooks: Hooks = {}) {
  return benchTools({ survey: () => racked(40, 8), ...hooks });
}
