/**
 * The plan chart: reads each input, puts together what several of them say of one host, and hands the hosts on.
 *
 * Memory holds a few hundred bytes a host: one host's outputs may stand in several inputs.
 */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import { ExpectedSubjects } from '../inputs/evidence-gap.ts';
import { inputStem, type NamedInput, nameInputs, openInput, unreadableInput } from '../inputs/open-input.ts';
import { SubjectPages } from '../inputs/subject-pages.ts';
import { distinctUnread, type UnreadInput } from '../inputs/unread-input.ts';
import { type HostFacts, joinFacts, type PatchSource } from './host-facts.ts';
import type { PatchInput } from './patch-input.ts';
import { type PatchSubject, subjectKey } from './patch-subject.ts';
import { readHosts } from './read-hosts.ts';
import { supportEnd } from './support-dates.ts';

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
      const pages = new SubjectPages(subjects);
      const expected = new ExpectedSubjects(input.expected);
      const hosts = new Map<string, HostFacts>();
      for (const file of nameInputs(input)) {
        for (const unread of await readInput(file, tools, hosts, signal)) await pages.add(unread);
      }
      for (const [key, host] of hosts) {
        expected.met(key, host.host);
        await pages.add(host);
      }
      for (const missing of expected.missing()) await pages.add(missing);
      await pages.flush();
      const checked = [...new Set([...hosts.values()].flatMap(({ sources }) => sources))].sort();
      scope.coverage = {
        checked: checked.map((source) => ({ what: SOURCE_TEXT[source] })),
        not_checked: notTold([...hosts.values()]),
        cannot_cover: [...NEVER_COVERED],
      };
    },
    'read-outputs',
    { description: 'Opens each input and finds the hosts in it' },
  ).build() as FlowChart;
}

/** Reads one input into `hosts`; returns what could not be read. */
async function readInput(
  file: NamedInput,
  tools: ToolDispatch,
  hosts: Map<string, HostFacts>,
  signal: AbortSignal | undefined,
): Promise<UnreadInput[]> {
  const unread: UnreadInput[] = [];
  try {
    const opened = await openInput(tools, file.ref);
    const host = file.target ?? inputStem(file.name);
    for await (const item of readHosts(opened.open(), { host, signal })) {
      if (item.kind === 'unread') {
        const input = item.place === undefined ? file.name : `${file.name} ${item.place}`;
        unread.push({ kind: 'unread', input, problem: item.problem, detail: item.detail });
        continue;
      }
      const observed_at = item.host.observed_at ?? file.takenAt ?? null;
      const facts = { ...item.host, observed_at, inputs: [file.name] };
      const key = subjectKey(facts);
      const known = hosts.get(key);
      hosts.set(key, known === undefined ? facts : joinFacts(known, facts));
    }
  } catch (error) {
    signal?.throwIfAborted();
    unread.push(unreadableInput(file, error));
  }
  return distinctUnread(unread);
}

/** What of the posture of all hosts nobody told. */
function notTold(hosts: readonly HostFacts[]): CoverageEntry[] {
  const without = (what: string, untold: (host: HostFacts) => boolean, why: string): CoverageEntry[] => {
    const count = hosts.filter(untold).length;
    return count === 0 ? [] : [{ what: `${what} of ${count} of ${hosts.length} hosts`, why }];
  };
  return [
    ...without('updates', ({ updates }) => updates === null, 'no output tells of them'),
    ...without(
      'which updates are for security',
      ({ updates, security }) => updates !== null && updates > 0 && security === null,
      'the output does not tell them apart',
    ),
    ...without(
      'the age of the package index',
      ({ updates, index_at, index_age }) => updates !== null && index_at === null && index_age === null,
      'no output tells it',
    ),
    ...without('whether a reboot is needed', ({ reboot }) => reboot === null, 'no output tells it'),
    ...without(
      'whether the distribution is still supported',
      ({ release }) => release === null || supportEnd(release) === undefined,
      'the release is not told, or not known to these rules',
    ),
  ];
}

const SOURCE_TEXT: Readonly<Record<PatchSource, string>> = {
  apt_simulation: 'simulated upgrades of apt',
  apt_list: 'lists of upgradable packages of apt',
  apt_check: 'counts of apt-check',
  login_notice: 'notices at login',
  dpkg_list: 'inventories of dpkg',
  dpkg_audit: 'audits of dpkg',
  dnf_check: 'updates of dnf or yum',
  dnf_advisories: 'advisories of dnf or yum',
  needs_restarting: 'needs-restarting',
  rpm_kernels: 'installed and running kernels',
  zypper_updates: 'updates of zypper',
  zypper_patches: 'patches of zypper',
  needrestart: 'needrestart',
  reboot_notice: 'notices that a restart is wanted',
  os_release: 'releases of distributions',
  metrics: 'metrics of collectors',
  record: 'records of collectors',
};
