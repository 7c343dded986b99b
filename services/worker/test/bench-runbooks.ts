/** Runbooks that do nothing by themselves: each stage asks a tool, and the tools are the test's own. */
import {
  type AssessArgs,
  type CollectArgs,
  defineRunbook,
  defineTool,
  type RunArgs,
  type Tool,
} from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

export interface Machine {
  readonly name: string;
}

interface MachineState extends Record<string, unknown> {
  load: number;
  readable: boolean;
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { readable: { eq: false } }, then: 'declined', label: 'its load cannot be read' },
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };
const rules = { name: 'load-rules', version: '1', list: LIST, otherwise: OTHERWISE };
const verdicts = { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } } as const;

/** Plan asks `survey`, assess `probe`, collect `report`. Five machines a chunk. */
export const machineCheck = defineRunbook<Machine>({
  name: 'machine_check',
  version: '1.0.0',
  description: 'Judges the load of every machine.',
  resultKind: 'verdict/machine-check',
  rules,
  verdicts,
  input: z.record(z.string(), z.unknown()),
  limits: { chunkSize: 5, maxSubjects: 60 },
  fleet: {
    plan: (tools, subjects) =>
      flowChart(
        'Survey',
        async (scope) => {
          const { input } = scope.$getArgs<RunArgs>();
          const names = (await tools.call('survey', input)) as string[];
          await subjects.add(names.map((name) => ({ name })));
        },
        'survey',
      ).build(),
    key: (machine) => machine.name,
    assess: (tools) =>
      flowChart<MachineState>(
        'Probe',
        async (scope) => {
          const { subject } = scope.$getArgs<AssessArgs<Machine>>();
          const load = (await tools.call('probe', subject, { signal: scope.$getEnv().signal })) as number | null;
          scope.readable = load !== null;
          scope.load = load ?? 0;
        },
        'probe',
      )
        .addDeciderFunction('Load', (scope) => decide(scope, LIST, OTHERWISE), 'load')
        .addFunctionBranch('overloaded', 'overloaded', () => undefined)
        .addFunctionBranch('declined', 'declined', () => undefined)
        .addFunctionBranch('fine', 'fine', () => undefined)
        .end()
        .build(),
    row: (state) => ({ load: state.load }),
    collect: (tools) =>
      flowChart<{ report: unknown }>(
        'Report',
        async (scope) => {
          const { counts } = scope.$getArgs<CollectArgs>();
          scope.report = { headline: await tools.call('report', { ...counts }) };
        },
        'report',
      ).build(),
  },
});

/** The bounded form: one stage asks `survey`, and everything it names is overloaded. */
export const machineReport = defineRunbook({
  name: 'machine_report',
  version: '1.0.0',
  description: 'Judges a handful of machines.',
  resultKind: 'verdict/machine-report',
  rules,
  verdicts,
  input: z.record(z.string(), z.unknown()),
  procedure: (tools) =>
    flowChart<{ load: number; readable: boolean; verdicts: object[] }>(
      'Survey',
      async (scope) => {
        const names = (await tools.call('survey', scope.$getArgs(), { signal: scope.$getEnv().signal })) as string[];
        scope.readable = true;
        scope.load = 99;
        scope.verdicts = names.map((name) => ({ subject: name, verdict: 'overloaded', reason: 'it is always so' }));
      },
      'survey',
    )
      .addDeciderFunction('Load', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'load')
      .addFunctionBranch('overloaded', 'overloaded', () => undefined)
      .addFunctionBranch('declined', 'declined', () => undefined)
      .addFunctionBranch('fine', 'fine', () => undefined)
      .end()
      .build(),
});

export const benchRunbooks = [machineCheck, machineReport];

export interface Hooks {
  survey?(input: unknown, signal: AbortSignal | undefined): unknown;
  probe?(machine: string, signal: AbortSignal | undefined): unknown;
  report?(counts: unknown, signal: AbortSignal | undefined): unknown;
}

/** The tools of those runbooks. By default twelve machines, all fine, and no words. */
export function benchTools(hooks: Hooks = {}): Tool[] {
  return [
    defineTool({
      name: 'survey',
      description: 'Names the machines.',
      execute: (args, { signal }) => hooks.survey?.(args, signal) ?? machineNames(12),
    }),
    defineTool({
      name: 'probe',
      description: 'Reads the load of a machine.',
      execute: (args, { signal }) =>
        hooks.probe === undefined ? 10 : hooks.probe((args as unknown as Machine).name, signal),
    }),
    defineTool({
      name: 'report',
      description: 'Says something about the counts.',
      execute: (args, { signal }) => hooks.report?.(args, signal) ?? 'done',
    }),
  ];
}

export function machineNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `machine-${String(index).padStart(3, '0')}`);
}
