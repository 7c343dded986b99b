/**
 * The plan chart: reads each input twice. First it finds damage and which document of a disk is the newest, then it hands
 * the disks on: nothing but serial numbers is held.
 */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import { ExpectedSubjects } from '../inputs/evidence-gap.ts';
import {
  InputChangedError,
  type InputFile,
  inputStem,
  type NamedInput,
  nameInputs,
  openInput,
  unreadableInput,
} from '../inputs/open-input.ts';
import { readDocuments } from '../inputs/read-documents.ts';
import { SubjectPages } from '../inputs/subject-pages.ts';
import { distinctUnread, type UnreadInput } from '../inputs/unread-input.ts';
import { type DiskFacts, type DiskSubject, diskIdentity, subjectKey } from './disk-facts.ts';
import type { DiskInput } from './disk-input.ts';
import { readDisk } from './read-disk.ts';

/** What no SMART output can tell. */
const NEVER_COVERED: readonly CoverageEntry[] = Object.freeze([
  { what: 'failures that a disk does not foresee', why: 'a good part of disks fails without any warning of SMART' },
  { what: 'whether the data on it can be read', why: 'no sector is read' },
]);

interface PlanState extends Record<string, unknown> {
  coverage: { checked: CoverageEntry[]; not_checked: CoverageEntry[]; cannot_cover: CoverageEntry[] };
}

interface PlanContext {
  readonly tools: ToolDispatch;
  readonly pages: SubjectPages<DiskSubject>;
  readonly expected: ExpectedSubjects;
  readonly signal: AbortSignal | undefined;
  readonly now: number;
}

/** Builds the plan chart. */
export function planDisks(tools: ToolDispatch, subjects: SubjectSink<DiskSubject>): FlowChart {
  return flowChart<PlanState>(
    'Read disks',
    async (scope) => {
      const { input: given, now } = scope.$getArgs<RunArgs>();
      const input = given as unknown as DiskInput;
      const pages = new SubjectPages(subjects);
      const expected = new ExpectedSubjects(input.expected);
      const context = { tools, pages, expected, signal: scope.$getEnv().signal, now: Date.parse(now) };
      const ledger: PlanState['coverage'] = { checked: [], not_checked: [], cannot_cover: [...NEVER_COVERED] };
      for (const file of nameInputs(input)) {
        const { checked, not_checked } = await planInput(file, context);
        ledger.checked.push(...checked);
        ledger.not_checked.push(...not_checked);
      }
      for (const missing of expected.missing()) await pages.add(missing);
      await pages.flush();
      scope.coverage = ledger;
    },
    'read-disks',
    { description: 'Opens each input and finds the disks in it' },
  ).build() as FlowChart;
}

async function planInput(file: NamedInput, context: PlanContext) {
  const ledger: { checked: CoverageEntry[]; not_checked: CoverageEntry[] } = { checked: [], not_checked: [] };
  try {
    const opened = await openInput(context.tools, file.ref);
    const survey = await surveyInput(opened, file, context);
    const disks = survey.fault === undefined ? await deliver(opened, file, survey, context) : 0;
    for (const unread of unreadOf(file, survey)) await context.pages.add(unread);
    if (disks > 0) ledger.checked.push({ what: `${file.name}: ${disks} disk${disks === 1 ? '' : 's'}` });
    if (survey.emptyScans > 0) ledger.not_checked.push({ what: `${file.name}: disks`, why: 'a scan found none' });
    if (survey.noise > 0)
      ledger.not_checked.push({
        what: `${file.name}: ${survey.noise} lines`,
        why: 'they stand outside of its documents',
      });
    if (survey.fault !== undefined)
      ledger.not_checked.push({ what: `${file.name}: the input`, why: survey.fault.detail });
  } catch (error) {
    context.signal?.throwIfAborted();
    if (error instanceof InputChangedError) throw error;
    await context.pages.add(unreadableInput(file, error));
  }
  return ledger;
}

interface Survey {
  /** The document that counts of each disk, by its place, and what others there were of it. */
  readonly newest: ReadonlyMap<
    string,
    { readonly at: number; readonly place: number; readonly names: ReadonlySet<string> }
  >;
  readonly disks: number;
  readonly unread: readonly Pick<UnreadInput, 'problem' | 'detail'>[];
  readonly places: readonly (string | undefined)[];
  readonly emptyScans: number;
  readonly noise: number;
  readonly fault?: Pick<UnreadInput, 'problem' | 'detail'>;
}

const MAX_UNREAD = 10_000;

async function surveyInput(opened: InputFile, file: NamedInput, { signal, now }: PlanContext): Promise<Survey> {
  const newest = new Map<string, { at: number; place: number; names: Set<string> }>();
  const unread: Pick<UnreadInput, 'problem' | 'detail'>[] = [];
  const places: (string | undefined)[] = [];
  let disks = 0;
  let emptyScans = 0;
  let noise = 0;
  let fault: Survey['fault'];
  const leave = (problem: UnreadInput['problem'], detail: string, place: string | undefined) => {
    if (unread.length >= MAX_UNREAD) return;
    unread.push({ problem, detail });
    places.push(place);
  };
  for await (const item of readDocuments(opened.open(), { ...(signal && { signal }) })) {
    if (item.kind === 'noise') noise++;
    else if (item.kind === 'fault') fault = { problem: item.problem, detail: item.detail };
    else if (item.kind === 'unread') leave(item.problem, item.detail, item.place);
    else if (item.kind === 'value') {
      const read = readDisk(item.value, targetOf(file), now);
      if (read.is === 'scan' && read.devices === 0) emptyScans++;
      else if (read.is === 'scan') leave('wrong_kind', 'it is a list of devices, without their health', item.place);
      else if (read.is === 'other') leave('wrong_kind', 'it is nothing that smartctl prints of a device', item.place);
      else {
        const place = disks++;
        const { disk } = read;
        const at = disk.observed_at ?? 0;
        const identity = diskIdentity(disk);
        const known = newest.get(identity);
        const name = disk.device ?? '';
        if (known === undefined) newest.set(identity, { at, place, names: new Set([name]) });
        else {
          known.names.add(name);
          if (at > known.at) Object.assign(known, { at, place });
        }
      }
    }
  }
  return { newest, disks, unread, places, emptyScans, noise, ...(fault !== undefined && { fault }) };
}

async function deliver(opened: InputFile, file: NamedInput, survey: Survey, context: PlanContext): Promise<number> {
  const { expected, now, pages, signal } = context;
  let disks = 0;
  let delivered = 0;
  for await (const item of readDocuments(opened.open(), { ...(signal && { signal }) })) {
    if (item.kind !== 'value') continue;
    const read = readDisk(item.value, targetOf(file), now);
    if (read.is !== 'disk') continue;
    const place = disks++;
    const counts = survey.newest.get(diskIdentity(read.disk));
    if (counts?.place !== place) continue;
    const disk = completed(read.disk, file, counts.names, item.lossy);
    expected.met(
      subjectKey(disk),
      diskIdentity(disk),
      disk.serial ?? undefined,
      `${disk.target}/${disk.device}`,
      disk.target,
    );
    await pages.add(disk);
    delivered++;
  }
  if (disks !== survey.disks) throw new InputChangedError(file.name);
  return delivered;
}

function completed(disk: DiskFacts, file: NamedInput, names: ReadonlySet<string>, lossy: boolean): DiskFacts {
  return {
    ...disk,
    observed_at: disk.observed_at ?? (disk.clock_doubt === null ? (file.takenAt ?? null) : null),
    also_as: [...names].filter((name) => name !== (disk.device ?? '')).slice(0, 5),
    ...(lossy && { doubt: 'it holds bytes that are not UTF-8' }),
  };
}

function targetOf(file: NamedInput): string {
  return file.target ?? inputStem(file.name);
}

function unreadOf(file: NamedInput, survey: Survey): UnreadInput[] {
  const at = { kind: 'unread' as const, ...(file.target !== undefined && { target: file.target }) };
  if (survey.fault !== undefined) return [{ ...at, input: file.name, ...survey.fault }];
  const alone = survey.disks === 0 && survey.unread.length === 1;
  return distinctUnread(
    survey.unread.map((one, index) => {
      const place = survey.places[index] ?? `part ${index + 1}`;
      return { ...at, input: alone ? file.name : `${file.name} ${place}`, ...one };
    }),
  );
}
