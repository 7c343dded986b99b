/** The plan chart: reads each input and gathers its backups by subject. Memory holds a few numbers a subject. */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import { ExpectedSubjects } from '../inputs/evidence-gap.ts';
import { inputStem, type NamedInput, nameInputs, openInput, unreadableInput } from '../inputs/open-input.ts';
import { readDocuments } from '../inputs/read-documents.ts';
import { SubjectPages } from '../inputs/subject-pages.ts';
import { distinctUnread, type UnreadInput } from '../inputs/unread-input.ts';
import { type BackupSubject, subjectKey } from './backup-facts.ts';
import type { BackupInput } from './backup-input.ts';
import { expectedMissing, GatheredBackups } from './gather-backups.ts';
import { readEntries } from './read-entries.ts';

/** What no list of backups can tell. */
const NEVER_COVERED: readonly CoverageEntry[] = Object.freeze([
  { what: 'whether a backup can be restored', why: 'nothing is restored: a list says that it is there' },
  { what: 'whether everything that should be in a backup is', why: 'what it was made of is not looked into' },
]);

interface PlanState extends Record<string, unknown> {
  coverage: { checked: CoverageEntry[]; not_checked: CoverageEntry[]; cannot_cover: CoverageEntry[] };
}

/** Builds the plan chart. */
export function planBackups(tools: ToolDispatch, subjects: SubjectSink<BackupSubject>): FlowChart {
  return flowChart<PlanState>(
    'Read backups',
    async (scope) => {
      const { input: given, now } = scope.$getArgs<RunArgs>();
      const input = given as unknown as BackupInput;
      const signal = scope.$getEnv().signal;
      const pages = new SubjectPages(subjects);
      const expected = new ExpectedSubjects(input.expected);
      const ledger: PlanState['coverage'] = { checked: [], not_checked: [], cannot_cover: [...NEVER_COVERED] };
      for (const file of nameInputs(input)) {
        const { found, unread, noise } = await readInput(file, tools, Date.parse(now), signal);
        let judged = 0;
        for (const facts of found.facts()) {
          judged++;
          expected.met(subjectKey(facts), facts.name, facts.name.split(':')[0], facts.target, inputStem(file.name));
          await pages.add(facts);
        }
        for (const one of unread) await pages.add(one);
        if (judged > 0)
          ledger.checked.push({ what: `${file.name}: ${judged} subject${judged === 1 ? '' : 's'} of backups` });
        if (noise > 0)
          ledger.not_checked.push({ what: `${file.name}: ${noise} lines`, why: 'they stand outside of its documents' });
      }
      for (const { name } of expected.missing()) await pages.add(expectedMissing(name));
      await pages.flush();
      scope.coverage = ledger;
    },
    'read-backups',
    { description: 'Opens each input and finds the backups in it' },
  ).build() as FlowChart;
}

async function readInput(file: NamedInput, tools: ToolDispatch, now: number, signal: AbortSignal | undefined) {
  const found = new GatheredBackups(inputStem(file.name), file.target, file.takenAt ?? null);
  const unread: UnreadInput[] = [];
  const at = { kind: 'unread' as const, ...(file.target !== undefined && { target: file.target }) };
  let noise = 0;
  let logs = 0;
  const leave = (place: string | undefined, problem: UnreadInput['problem'], detail: string) => {
    if (unread.length < MAX_UNREAD)
      unread.push({ ...at, input: place === undefined ? file.name : `${file.name} ${place}`, problem, detail });
  };
  try {
    const opened = await openInput(tools, file.ref);
    for await (const item of readDocuments(opened.open(), { ...(signal && { signal }) })) {
      if (item.kind === 'noise') noise++;
      else if (item.kind === 'refused') leave(undefined, 'refused', `it is a refusal: ${item.refusal.reason}`);
      else if (item.kind === 'unread') leave(item.place, item.problem, item.detail);
      else if (item.kind === 'fault' && item.problem === 'empty') found.place(null, null, 'no_output');
      else if (item.kind === 'fault') leave(undefined, item.problem, item.detail);
      else if (item.kind === 'around' && item.items === 0) found.place(null, null, 'listed');
      else if (item.kind === 'value' && item.lossy) leave(item.place, 'encoding', 'it holds bytes that are not UTF-8');
      else if (item.kind === 'value') {
        for (const finding of readEntries(item.value, now)) {
          if (finding.is === 'backup') found.add(finding.entry);
          else if (finding.is === 'place') found.place(finding.tool, finding.name, finding.list, finding.note);
          else if (finding.is === 'log') logs++;
          else leave(item.place, 'wrong_kind', finding.detail);
        }
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    unread.push(unreadableInput(file, error));
  }
  // A list that something was printed behind: whoever printed it may not have been through.
  if (noise > 0) found.doubtAll('other text stands around the output, so that it may not be all');
  if (found.size === 0 && unread.length === 0) {
    const detail =
      logs > 0 ? 'it is a log, without a list of backups or the end of one' : 'there is nothing about backups in it';
    leave(undefined, 'wrong_kind', detail);
  }
  return { found, unread: distinctUnread(unread), noise };
}

const MAX_UNREAD = 10_000;
