/**
 * The runbooks of the end-to-end tests, loaded by their processes through MUSTER_RUNBOOKS. They make up their own fleet.
 *
 * Where a test wants a process to be caught in the middle of something, it names the place in that process' environment:
 * MUSTER_TEST_HOLD (a machine, or `plan` or `collect`) writes a file of that name into MUSTER_TEST_SIGNALS and waits to be
 * stopped; MUSTER_TEST_POISON (a machine) ends the process. MUSTER_TEST_NOTE is what every machine says of itself.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AssessArgs,
  absent,
  type CollectArgs,
  coverage,
  defineRunbook,
  defineTool,
  type RunArgs,
  type RunbookDeclaration,
  type ToolDispatch,
} from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

interface Machine {
  readonly name: string;
  readonly number: number;
  readonly rack: string;
  /** Something that must not come out anywhere. */
  readonly note?: string;
}

interface MachineState extends Record<string, unknown> {
  load: number;
  readable: boolean;
  private_note: string;
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { readable: { eq: false } }, then: 'declined', label: 'its load cannot be read' },
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };
const rules = { name: 'load-rules', version: '3', list: LIST, otherwise: OTHERWISE };
const verdicts = { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } } as const;
const input = z.strictObject({ machines: z.int().min(0), note: z.string().optional() });
const PAGE = 37;

/** Every outcome there is, in small chunks: the machine's number says which. */
const everyOutcome = defineRunbook<Machine>({
  name: 'every_outcome',
  version: '1.0.0',
  description: 'Judges the load of made-up machines.',
  resultKind: 'verdict/every-outcome',
  rules,
  verdicts: { ...verdicts, maxRows: 80 },
  redact: { keys: ['private_note'] },
  composedOf: ['list_machines', 'read_machine', 'open_vault'],
  input,
  limits: { chunkSize: 7, concurrency: 3, subjectTimeoutMs: 200 },
  fleet: {
    plan: (tools, subjects) =>
      flowChart<{ coverage: unknown }>(
        'List machines',
        async (scope) => {
          const { input: asked } = scope.$getArgs<RunArgs>();
          const { result } = (await tools.call('list_machines', asked)) as { result: Machine[] };
          for (let at = 0; at < result.length; at += PAGE) {
            await subjects.add(result.slice(at, at + PAGE));
            if (at > 0) await holdAt('plan', scope.$getEnv().signal);
          }
          scope.coverage = { not_checked: [{ what: 'rack 99', why: 'it has no power' }] };
        },
        'list-machines',
      ).build(),
    key: (machine) => machine.name,
    identity: (machine) => `machine ${machine.number}`,
    target: (machine) => machine.rack,
    assess: (tools) =>
      flowChart<MachineState>(
        'Read load',
        async (scope) => {
          const { subject } = scope.$getArgs<AssessArgs<Machine>>();
          scope.private_note = subject.note ?? 'none';
          const load = await readLoad(tools, subject, scope.$getEnv().signal);
          scope.readable = load !== null;
          scope.load = load ?? 0;
        },
        'read-load',
      )
        .addDeciderFunction('Load', (scope) => decide(scope, LIST, OTHERWISE), 'load')
        .addFunctionBranch('overloaded', 'overloaded', () => undefined, 'Its load is too high')
        .addFunctionBranch('declined', 'declined', () => undefined)
        .addFunctionBranch('fine', 'fine', () => undefined)
        .end()
        .build(),
    row: (state, machine) => {
      if (machine.number === 100) throw new RangeError('no row for this one');
      return { rack: machine.rack, load: state.load, note: state.private_note };
    },
    collect: () =>
      flowChart<{ report: unknown }>(
        'Sum up',
        async (scope) => {
          const { counts } = scope.$getArgs<CollectArgs>();
          await holdAt('collect', scope.$getEnv().signal);
          scope.report = { headline: `${counts.problem} of ${counts.total} machines are overloaded` };
        },
        'sum-up',
      ).build(),
  },
});

/** The same with a canary, and hardly a budget for errors. */
const cautiousCheck = defineRunbook({
  ...everyOutcome,
  name: 'cautious_check',
  limits: { ...everyOutcome.limits, canary: '10%', errorBudget: '1%' },
} as RunbookDeclaration);

/** The bounded form over the same machines. */
const machineList = defineRunbook({
  name: 'machine_list',
  version: '1.0.0',
  description: 'Judges the load of a few machines in one chart.',
  resultKind: 'verdict/machine-list',
  rules,
  verdicts,
  composedOf: ['list_machines'],
  input,
  procedure: (tools) =>
    flowChart<{ load: number; readable: boolean; verdicts: object[] }>(
      'List machines',
      async (scope) => {
        const args = scope.$getArgs<{ machines: number }>();
        const { result } = (await tools.call('list_machines', args)) as { result: Machine[] };
        scope.readable = true;
        scope.load = 95;
        scope.verdicts = result.map((machine) => ({
          subject: machine.name,
          verdict: ['overloaded', 'fine', 'declined'][machine.number % 3],
          reason: `it is number ${machine.number}`,
          rack: machine.rack,
        }));
      },
      'list-machines',
    )
      .addDeciderFunction('Load', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'load')
      .addFunctionBranch('overloaded', 'overloaded', () => undefined)
      .addFunctionBranch('declined', 'declined', () => undefined)
      .addFunctionBranch('fine', 'fine', () => undefined)
      .end()
      .build(),
});

async function readLoad(
  tools: ToolDispatch,
  machine: Machine,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  await holdAt(machine.name, signal);
  if (process.env.MUSTER_TEST_POISON === machine.name) process.kill(process.pid, 'SIGKILL');
  switch (machine.number % 24) {
    case 5:
      return await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    case 7:
      throw Object.assign(new RangeError(`${machine.note} is no load`), { code: 'ERR_LOAD' });
    case 11:
      return (await tools.call('read_thermometer', machine)) as number;
    case 13:
      return (await tools.call('open_vault', machine)) as number;
    default:
      return ((await tools.call('read_machine', machine)) as { result: number | null }).result;
  }
}

async function holdAt(place: string, signal: AbortSignal | undefined): Promise<void> {
  const { MUSTER_TEST_HOLD: held, MUSTER_TEST_SIGNALS: folder } = process.env;
  if (held !== place || folder === undefined) return;
  writeFileSync(join(folder, place), '');
  await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}

/** The name of a made-up machine; every fiftieth bears the name of the one before. */
export function machineName(number: number): string {
  return `machine-${String(number % 50 === 49 ? number - 1 : number).padStart(4, '0')}`;
}

export const tools = [
  defineTool({
    name: 'list_machines',
    description: 'Lists the machines.',
    execute: (args) => {
      const { machines, note = process.env.MUSTER_TEST_NOTE } = args as { machines: number; note?: string };
      const list = Array.from({ length: machines }, (_, number) => ({
        name: machineName(number),
        number,
        rack: `rack ${number % 7}`,
        ...(note !== undefined && { note }),
      }));
      return coverage(list, { checked: ['the inventory'], cannotCover: [{ what: 'lent machines', why: 'not ours' }] });
    },
  }),
  defineTool({
    name: 'read_machine',
    description: 'Reads the load of a machine.',
    execute: (args) => {
      const { number, rack } = args as unknown as Machine;
      if (number % 24 === 17) return absent({ what: `machine ${number}`, checked: [rack] });
      const load = number % 24 === 3 ? null : (number * 37) % 101;
      return coverage(load, { checked: [`${rack}`] });
    },
  }),
  defineTool({
    name: 'open_vault',
    description: 'Needs a credential that nobody has.',
    needs: [{ credential: 'vault' }],
    execute: () => 1,
  }),
];

export const runbooks = [everyOutcome, machineList, cautiousCheck];
