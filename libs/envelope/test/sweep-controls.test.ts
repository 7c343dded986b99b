/** What a canary, a dry run and a rerun are in a declaration, in a plan and in an answer. */
import fc from 'fast-check';
import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  collectFleet,
  type FleetResults,
  NO_TOTALS,
  type PlannedSubject,
  planFleet,
  type RunbookEnvelope,
  renderEnvelope,
  runbookEnvelopeSchema,
} from '../src/index.ts';
import { ARGS, fleetOf, planOf, reportCounts, tools } from './fleet-runbook.ts';
import type { State } from './procedures.ts';

const CALL = { toolCallId: 'c1', runId: 'r1', tools };
const NOBODY = { ok: 0, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 };
const NO_GROUPS = { groups: [], restGroups: 0, restSubjects: 0 };

async function planned(subjects: readonly { id: string }[], only?: ReadonlySet<string>) {
  const pages: PlannedSubject[] = [];
  const outcome = await planFleet(fleetOf(subjects), ARGS, CALL, async (page) => void pages.push(...page), only);
  if (outcome.kind !== 'planned') throw new Error('not planned', { cause: outcome });
  return { pages, plan: outcome.plan };
}

/** The answer that collect makes of these results. */
async function collected(over: Partial<FleetResults>, fleet = {}): Promise<RunbookEnvelope> {
  const answer = await collectFleet(fleetOf([], fleet), ARGS, CALL, {
    counts: { total: 0, ...NOBODY },
    totals: NO_TOTALS,
    head: [],
    open: NO_GROUPS,
    walk: async function* () {},
    ...over,
  });
  if (answer.kind !== 'envelope') throw new Error('no envelope', { cause: answer });
  expect(runbookEnvelopeSchema.safeParse(JSON.parse(JSON.stringify(answer.body))).error).toBeUndefined();
  return answer.body;
}

describe('limits.canary', () => {
  test.each(['5%', '0.5%', '12.25%', '100%'] as const)('may be %s', (canary) => {
    expect(fleetOf([], { limits: { canary } }).limits.canary).toBe(canary);
  });

  test('is off when it is left out', () => {
    expect(fleetOf([]).limits).not.toHaveProperty('canary');
  });

  test.each([5, '5', '0%', '100.1%', '-5%', 'some', '', null])('%j is refused by name', (canary) => {
    expect(() => fleetOf([], { limits: { canary } as never })).toThrow(
      /runbook 'ages': `limits.canary` must be a share like '10%', got /,
    );
  });

  test('is refused for a procedure, which has no targets', () => {
    const more = { fleet: undefined, procedure: planOf([]) as never, limits: { canary: '5%' } };
    expect(() => fleetOf([], { more: more as never })).toThrow(/`limits.canary` must be left out: only a fleet/);
  });
});

describe('a plan of chosen subjects', () => {
  test('is the whole plan without all others: in its order, at places that follow each other', async () => {
    const ids: fc.Arbitrary<string[]> = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 12 });
    const chosen: fc.Arbitrary<string[]> = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'x', 'y'));
    await fc.assert(
      fc.asyncProperty(ids, chosen, async (found, only) => {
        const subjects = found.map((id) => ({ id }));
        const [all, part] = [await planned(subjects), await planned(subjects, new Set(only))];
        const kept = all.pages.map(({ key }) => key).filter((key) => only.includes(key));
        expect(part.pages.map(({ key, ordinal }) => [key, ordinal])).toEqual(kept.map((key, place) => [key, place]));
        expect(part.plan.total).toBe(kept.length);
        const missing = only.filter((key) => !found.includes(key));
        expect(part.plan.missing).toEqual({ count: missing.length, samples: missing.slice(0, 5) });
        expect(all.plan).not.toHaveProperty('missing');
      }),
      { numRuns: 50 },
    );
  });

  test('counts neither duplicates nor the limit over subjects that were not chosen', async () => {
    const subjects = ['a', 'b', 'b', 'c', 'a'].map((id) => ({ id }));
    const { plan } = await planned(subjects, new Set(['a']));
    expect(plan.duplicates).toEqual({ count: 1, samples: ['a'] });
    const runbook = fleetOf(subjects, { limits: { maxSubjects: 1 } });
    const outcome = await planFleet(runbook, ARGS, CALL, async () => {}, new Set(['a']));
    expect(outcome.kind).toBe('planned');
  });

  test('names a few of those that it did not find', async () => {
    const { plan } = await planned([], new Set(['a', 'b', 'c', 'd', 'e', 'f', 'g']));
    expect(plan.missing).toEqual({ count: 7, samples: ['a', 'b', 'c', 'd', 'e'] });
    const { af_coverage: ledger } = await collected({ plan });
    expect(ledger.not_checked).toEqual([
      {
        what: '7 chosen subject(s): a, b, c, d, e and 2 more',
        why: 'no longer planned: the plan of this run did not find them',
      },
    ]);
  });
});

describe('the answer of a dry run', () => {
  const targets = { distinct: 30, without: 2, top: [{ target: 'north\u001b[31m', subjects: 40 }] };
  const counts = { ...NOBODY, total: 60, not_checked: 60 };

  test('says that every subject was counted and none checked, and holds no row', async () => {
    const { plan } = await planned([{ id: 'a' }]);
    const { af_coverage: ledger, result } = await collected({ plan, counts, dryRun: { subjects: 60, targets } });
    expect(ledger.checked).toEqual([{ what: "the plan of 'ages': 1 step(s) recorded; no rule was applied" }]);
    expect(ledger.not_checked).toEqual([
      { what: '60 subject(s)', why: 'this was a dry run: the subjects were counted, and none was assessed' },
    ]);
    expect(ledger.sentence).toBe(
      "Dry run of 'ages': 1 step(s) of its plan recorded; 60 subject(s) counted, none assessed; 1 not-checked item(s) declared.",
    );
    expect(result).toMatchObject({ verdicts: [], rows_total: 0, subjects: counts });
    expect(result.dry_run).toEqual({ subjects: 60, targets });
  });

  test('does not run the collect chart: a report over nothing would read like one', async () => {
    const { result } = await collected({ counts, dryRun: { subjects: 60 } }, { collect: reportCounts });
    expect(result).not.toHaveProperty('seen');
    const real = await collected({ counts: { total: 0, ...NOBODY } }, { collect: reportCounts });
    expect(real.result).toHaveProperty('seen', 0);
  });

  test('reads at a glance in a terminal, with the largest targets, and text from outside is inert', async () => {
    const page = renderEnvelope(await collected({ counts, dryRun: { subjects: 60, targets } }), { format: 'terminal' });
    expect(page.split('\n').slice(0, 4)).toEqual([
      'dry run: 60 subjects on 30 targets counted, none assessed',
      '  40  north',
      '  and 29 further targets',
      '  2 subjects without a target',
    ]);
    const plain = renderEnvelope(await collected({ counts, dryRun: { subjects: 60 } }), { format: 'terminal' });
    expect(plain).toMatch(/^dry run: 60 subjects counted, none assessed\n/);
  });

  test('of nothing says that nothing was found to count', async () => {
    const { af_coverage: ledger } = await collected({ dryRun: { subjects: 0 } });
    expect(ledger.not_checked).toBeUndefined();
    expect(ledger.sentence).toMatch(/0 subject\(s\) counted, none assessed/);
  });
});

describe('the answer of a rerun', () => {
  const rerun = { of: 'run-before', only: ['problem'], definition_changed: false };

  test('names its source in the sentence, in the result and on the page', async () => {
    const envelope = await collected({ rerun });
    expect(envelope.result.rerun).toEqual(rerun);
    expect(envelope.af_coverage.sentence).toContain('; a part of run run-before again;');
    expect(renderEnvelope(envelope, { format: 'terminal' })).toMatch(/of 0 subjects, again, of run run-before\n/);
  });

  test('a report never spells either, so that nobody takes it for one', async () => {
    const reported = { rerun: 1, dry_run: 2, seen: 3 };
    const collect = () =>
      flowChart<State>('Collect', (scope) => void Object.assign(scope, { report: reported }), 'collect').build();
    const { result } = await collected({ rerun }, { collect });
    expect(result).toMatchObject({ rerun, seen: 3, report_note: expect.stringContaining('`rerun`, `dry_run`') });
    expect(result).not.toHaveProperty('dry_run');
    const plain = await collected({}, { collect });
    expect(plain.result).not.toHaveProperty('rerun');
  });
});
