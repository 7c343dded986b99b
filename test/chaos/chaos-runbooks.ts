/**
 * The runbooks of the chaos suite, loaded by its processes through MUSTER_RUNBOOKS.
 *
 * Where a test wants a process to be caught in the middle of something, it names the places in that process' environment:
 * CHAOS_HOLD (machines, `plan`, `collect` or `procedure`, with commas between) makes the stage write a file of that name into
 * CHAOS_SIGNALS and wait until there is a file `<name>.go`, or until it is aborted.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AssessArgs, type CollectArgs, defineRunbook, defineTool, type RunArgs } from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';
import { CHUNK, loadOf, type Machine, machineName, machineOf, PAGE, type Poison } from './fleet.ts';

const LOOK_MS = 20;
const POISONS = ['loop', 'fill_heap', 'exit', 'throw', 'throw_late', 'sigkill'] as const satisfies Poison[];

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { readable: { eq: false } }, then: 'declined', label: 'its load cannot be read' },
  { when: { load: { gt: 90 } }, then: 'overloaded', label: 'its load is over 90' },
];
const OTHERWISE = { branch: 'fine', label: 'its load is not over 90' };
const rules = { name: 'load-rules', version: '1', list: LIST, otherwise: OTHERWISE };
const verdicts = { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } } as const;

const input = z.strictObject({
  machines: z.int().min(0),
  /** How long each machine takes to answer. */
  pause_ms: z.int().min(0).default(0),
  /** What machines do instead of answering, by number. */
  poison: z.record(z.string(), z.enum(POISONS)).default({}),
  /** Where machines are asked over HTTP; without it they know themselves. */
  address: z.string().optional(),
});
type Input = z.infer<typeof input>;

interface MachineState extends Record<string, unknown> {
  load: number;
  readable: boolean;
}

function sweep(name: string, limits: { concurrency: number; subjectTimeoutMs: number }) {
  return defineRunbook<Machine>({
    name,
    version: '1.0.0',
    description: 'Judges the load of made-up machines.',
    resultKind: 'verdict/load',
    rules,
    verdicts,
    composedOf: ['ask_machine'],
    input,
    limits: { chunkSize: CHUNK, ...limits },
    fleet: {
      plan: (_tools, subjects) =>
        flowChart<Record<string, unknown>>(
          'List machines',
          async (scope) => {
            const { machines } = scope.$getArgs<RunArgs>().input as Input;
            for (let at = 0; at < machines; at += PAGE) {
              const page = Array.from({ length: Math.min(PAGE, machines - at) }, (_, index) => machineOf(at + index));
              await subjects.add(page);
              await holdAt('plan', scope.$getEnv().signal);
            }
          },
          'list-machines',
        ).build(),
      key: (machine) => machine.name,
      target: (machine) => machine.rack,
      assess: (tools) =>
        flowChart<MachineState>(
          'Read load',
          async (scope) => {
            const { subject, input: asked } = scope.$getArgs<AssessArgs<Machine> & { input: Input }>();
            const { signal } = scope.$getEnv();
            await holdAt(subject.name, signal);
            await act(asked.poison[subject.number]);
            if (asked.pause_ms > 0) await new Promise((resolve) => setTimeout(resolve, asked.pause_ms));
            const load =
              asked.address === undefined
                ? loadOf(subject.number)
                : ((await tools.call(
                    'ask_machine',
                    { address: asked.address, name: subject.name },
                    { target: subject.name },
                  )) as number | null);
            scope.readable = load !== null;
            scope.load = load ?? 0;
          },
          'read-load',
        )
          .addDeciderFunction('Load', (scope) => decide(scope, LIST, OTHERWISE), 'load')
          .addFunctionBranch('overloaded', 'overloaded', () => undefined)
          .addFunctionBranch('declined', 'declined', () => undefined)
          .addFunctionBranch('fine', 'fine', () => undefined)
          .end()
          .build(),
      row: (state, machine) => ({ rack: machine.rack, load: state.load, build: process.env.MUSTER_BUILD_ID ?? '' }),
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
}

/** The bounded form over the same machines. */
const list = defineRunbook({
  name: 'list',
  version: '1.0.0',
  description: 'Judges the load of a few machines in one chart.',
  resultKind: 'verdict/list',
  rules,
  verdicts,
  input,
  procedure: () =>
    flowChart<{ load: number; readable: boolean; verdicts: object[] }>(
      'List machines',
      async (scope) => {
        const { machines } = scope.$getArgs<Input>();
        await holdAt('procedure', scope.$getEnv().signal);
        scope.readable = true;
        scope.load = 95;
        scope.verdicts = Array.from({ length: machines }, (_, number) => ({
          subject: machineName(number),
          verdict: 'fine',
          reason: 'it is listed',
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

async function holdAt(place: string, signal: AbortSignal | undefined): Promise<void> {
  const { CHAOS_HOLD: held = '', CHAOS_SIGNALS: folder } = process.env;
  if (folder === undefined || !held.split(',').includes(place)) return;
  const file = join(folder, place);
  writeFileSync(file, '');
  await new Promise<void>((resolve, reject) => {
    const look = setInterval(() => {
      if (signal?.aborted) reject(signal.reason);
      else if (existsSync(`${file}.go`)) resolve();
      else return;
      clearInterval(look);
    }, LOOK_MS);
  });
}

async function act(poison: Poison | undefined): Promise<void> {
  if (poison === 'loop') for (;;);
  if (poison === 'fill_heap') {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, Math.random));
  }
  if (poison === 'exit') process.exit(0);
  if (poison === 'throw') throw new RangeError('a machine that throws');
  if (poison === 'sigkill') process.kill(process.pid, 'SIGKILL');
  if (poison === 'throw_late') {
    setImmediate(() => {
      throw new Error('an error that nobody awaits');
    });
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

export const tools = [
  defineTool({
    name: 'ask_machine',
    description: 'Asks a machine for its load.',
    execute: async (args, { signal }) => {
      const { address, name } = args as { address: string; name: string };
      const response = await fetch(`${address}/${name}`, { ...(signal !== undefined && { signal }) });
      if (!response.ok) throw Object.assign(new Error('the machine refused'), { status: response.status });
      const { load } = (await response.json()) as { load?: unknown };
      if (load !== null && typeof load !== 'number') throw new TypeError('the machine said something else');
      return load;
    },
  }),
];

export const runbooks = [
  sweep('computing', { concurrency: 1, subjectTimeoutMs: 120_000 }),
  sweep('waiting', { concurrency: 4, subjectTimeoutMs: 120_000 }),
  sweep('short_computing', { concurrency: 1, subjectTimeoutMs: 4000 }),
  sweep('short_waiting', { concurrency: 4, subjectTimeoutMs: 4000 }),
  list,
];
