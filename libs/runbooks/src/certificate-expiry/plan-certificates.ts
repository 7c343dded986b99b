/** The plan chart: opens each input, finds the certificates that are judged, and hands them on. */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import { ExpectedSubjects } from '../inputs/evidence-gap.ts';
import { InputFault } from '../inputs/input-fault.ts';
import { inputStem, type NamedInput, nameInputs, openInput, unreadableInput } from '../inputs/open-input.ts';
import { SubjectPages } from '../inputs/subject-pages.ts';
import { distinctUnread, type UnreadInput } from '../inputs/unread-input.ts';
import { type CertificateSubject, subjectKey } from './certificate-facts.ts';
import type { CertificateInput } from './certificate-input.ts';
import { findLeaves } from './find-leaves.ts';
import { type Material, readMaterial } from './read-material.ts';

/** What no file of certificates can tell. */
const NEVER_COVERED: readonly CoverageEntry[] = Object.freeze([
  { what: 'whether a certificate was revoked', why: 'neither lists nor responders are asked' },
  { what: 'whether clients trust its root', why: 'no store of trust is read' },
  { what: 'what a server really serves', why: 'the files are the evidence' },
]);

interface PlanState extends Record<string, unknown> {
  coverage: { checked: CoverageEntry[]; not_checked: CoverageEntry[]; cannot_cover: CoverageEntry[] };
}

/** Builds the plan chart. */
export function planCertificates(tools: ToolDispatch, subjects: SubjectSink<CertificateSubject>): FlowChart {
  return flowChart<PlanState>(
    'Read certificates',
    async (scope) => {
      const input = scope.$getArgs<RunArgs>().input as unknown as CertificateInput;
      const signal = scope.$getEnv().signal;
      const pages = new SubjectPages(subjects);
      const expected = new ExpectedSubjects(input.expected);
      const ledger: PlanState['coverage'] = { checked: [], not_checked: [], cannot_cover: [...NEVER_COVERED] };
      for (const file of nameInputs(input)) {
        const { judged, keys } = await planInput(file, { tools, pages, expected, signal });
        if (judged > 0) ledger.checked.push({ what: `${file.name}: ${judged} certificate${judged === 1 ? '' : 's'}` });
        if (keys > 0) ledger.not_checked.push({ what: `${file.name}: ${keys} keys`, why: 'keys are never read' });
      }
      for (const missing of expected.missing()) await pages.add(missing);
      await pages.flush();
      scope.coverage = ledger;
    },
    'read-certificates',
    { description: 'Opens each input and finds the certificates in it' },
  ).build() as FlowChart;
}

interface PlanContext {
  readonly tools: ToolDispatch;
  readonly pages: SubjectPages<CertificateSubject>;
  readonly expected: ExpectedSubjects;
  readonly signal: AbortSignal | undefined;
}

async function planInput(file: NamedInput, context: PlanContext): Promise<{ judged: number; keys: number }> {
  const told = { judged: 0, keys: 0 };
  const unread: UnreadInput[] = [];
  const at = { kind: 'unread' as const, ...(file.target !== undefined && { target: file.target }) };
  try {
    const opened = await openInput(context.tools, file.ref);
    for await (const material of readMaterial(() => opened.open(), context.signal)) {
      told.keys += material.keys;
      told.judged += await deliver(material, file, context);
      for (const { place, problem, detail } of material.unread) {
        unread.push({ ...at, input: `${file.name} ${place}`, problem, detail });
      }
    }
  } catch (error) {
    context.signal?.throwIfAborted();
    if (error instanceof InputFault)
      unread.push({ ...at, input: file.name, problem: error.code, detail: error.detail });
    else unread.push(unreadableInput(file, error));
  }
  for (const one of distinctUnread(unread)) await context.pages.add(one);
  return told;
}

async function deliver(material: Material, file: NamedInput, { expected, pages }: PlanContext): Promise<number> {
  const place = material.place ?? inputStem(file.name);
  const leaves = findLeaves(material.certificates, {
    place,
    ...(file.target !== undefined && { target: file.target }),
    observedAt: file.takenAt ?? null,
    unordered: material.unordered === true,
  });
  for (const leaf of leaves) {
    expected.met(subjectKey(leaf), leaf.name, place, leaf.target, ...leaf.names);
    await pages.add(leaf);
  }
  return leaves.length;
}
