/**
 * The plan chart: reads each input, puts together what several of them say of one host, and hands the hosts on.
 *
 * Memory holds a few hundred bytes a host: one host's outputs may stand in several inputs.
 */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import { INPUT_FILE_TOOL, type InputFile } from '../kubernetes-workloads/plan-workloads.ts';
import { type HostFacts, joinFacts } from './host-facts.ts';
import type { PatchInput } from './patch-input.ts';
import { type PatchSubject, subjectKey, type UnreadOutput } from './patch-subject.ts';
import { readHosts } from './read-hosts.ts';

const PAGE_SIZE = 200;

/** What no output of a package manager can tell. */
const NEVER_COVERED: readonly CoverageEntry[] = Object.freeze([
  { what: 'software that no package manager installed', why: 'only package managers are asked' },
  {
    what: 'whether an update that is not offered was withheld',
    why: 'repositories that are not configured are not seen',
  },
]);

interface PlanState extends Record<string, unknown> {
  coverage: { checked: CoverageEntry[]; not_checked: CoverageEntry[]; cannot_cover: CoverageEntry[] };
}

/** Builds the plan chart. */
export function planHosts(tools: ToolDispatch, subjects: SubjectSink<PatchSubject>): FlowChart {
  return flowChart<PlanState>(
    'Read outputs',
    async (scope) => {
      const input = scope.$getArgs<RunArgs>().input as unknown as PatchInput;
      const signal = scope.$getEnv().signal;
      const hosts = new Map<string, HostFacts>();
      const ledger: PlanState['coverage'] = { checked: [], not_checked: [], cannot_cover: [...NEVER_COVERED] };
      for (const file of input.files) {
        const unread = await readFile(file, tools, hosts, signal);
        if (unread.length > 0) await subjects.add(distinct(unread));
      }
      await addAll(subjects, hosts.values());
      scope.coverage = ledger;
    },
    'read-outputs',
    { description: 'Opens each input and finds the hosts in it' },
  ).build() as FlowChart;
}

async function readFile(
  file: PatchInput['files'][number],
  tools: ToolDispatch,
  hosts: Map<string, HostFacts>,
  signal: AbortSignal | undefined,
): Promise<UnreadOutput[]> {
  const unread: UnreadOutput[] = [];
  const at = { kind: 'unread' as const, input: file.name };
  try {
    const opened = (await tools.call(
      INPUT_FILE_TOOL,
      { ref: file.ref },
      { allowAbsent: true },
    )) as Partial<InputFile> | null;
    if (typeof opened?.open !== 'function') return [{ ...at, problem: 'missing', detail: 'there is no such input' }];
    const host = file.target ?? stem(file.name);
    for await (const item of readHosts(opened.open(), { host, signal })) {
      if (item.kind === 'unread') {
        const input = item.place === undefined ? file.name : `${file.name} ${item.place}`;
        unread.push({ ...at, input, problem: item.problem, detail: item.detail });
        continue;
      }
      const facts = { ...item.host, inputs: [file.name] };
      const key = subjectKey(facts);
      const known = hosts.get(key);
      hosts.set(key, known === undefined ? facts : joinFacts(known, facts));
    }
  } catch (error) {
    signal?.throwIfAborted();
    const code = (error as { code?: unknown } | null)?.code;
    const known = typeof code === 'string' && /^\w{1,40}$/.test(code) ? `: ${code}` : '';
    unread.push({ ...at, problem: 'unreadable', detail: `it could not be opened or read to its end${known}` });
  }
  return unread;
}

async function addAll(subjects: SubjectSink<PatchSubject>, hosts: Iterable<HostFacts>): Promise<void> {
  let page: HostFacts[] = [];
  for (const host of hosts) {
    page.push(host);
    if (page.length < PAGE_SIZE) continue;
    await subjects.add(page);
    page = [];
  }
  if (page.length > 0) await subjects.add(page);
}

/** A file's name without its folder and its ending. */
function stem(name: string): string {
  const base = name.split('/').at(-1) ?? name;
  const plain = base.replace(/\.(?:txt|log|out|json|jsonl|ndjson|gz)$/i, '').replace(/[\s\p{C}]+/gu, '_');
  return plain === '' ? 'host' : plain.slice(0, 200);
}

/** Two items at one place are two rows. */
function distinct(unread: readonly UnreadOutput[]): UnreadOutput[] {
  const seen = new Map<string, number>();
  return unread.map((one) => {
    const times = (seen.get(one.input) ?? 0) + 1;
    seen.set(one.input, times);
    return times === 1 ? one : { ...one, input: `${one.input} (${times})` };
  });
}
