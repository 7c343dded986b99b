import fc from 'fast-check';
import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  type AssessedSubject,
  collectFleet,
  countSubjects,
  coverage,
  createAssessor,
  type FleetRunbook,
  type FleetTotals,
  mergeTotals,
  NO_TOTALS,
  type OpenGroups,
  type PlannedSubject,
  planFleet,
  type RunbookEnvelope,
  runbookEnvelopeSchema,
  runFleet,
  STANDING_ORDER,
  totalSubjects,
  type VerdictRow,
} from '../src/index.ts';
import { ARGS, assessChart, fleetOf, runAnswered, type Subject, tools } from './fleet-runbook.ts';
import { answer, type State, toolsThat } from './procedures.ts';

const subjectsOf = fc
  .array(
    fc.record(
      {
        age: fc.constantFrom<unknown>(1, 9, 30, null, '30'),
        act: fc.constantFrom('throw', 'undecided', 'odd', 'call', 'bad-row'),
        target: fc.constantFrom('t1', 't2'),
      },
      { requiredKeys: ['age'] },
    ),
    { maxLength: 12 },
  )
  .map((subjects) => subjects.map((subject, n) => ({ id: `s-${n}`, ...subject }) as Subject));

/** Each subject's call declares something of its own, so that ledgers differ by subject. */
const spoken = () =>
  toolsThat({ call: coverage({ af_provenance: { source: 'seed' } }, { checked: ['the called source'] }) });

/** The way behind a queue: chunks of a size, assessed apart, summaries stored as JSON, settled in any order. */
async function runChunked(
  runbook: FleetRunbook,
  chunkSize: number,
  order: (chunks: unknown[]) => void,
): Promise<RunbookEnvelope> {
  const call = { toolCallId: 'c1', tools: spoken() };
  const stored: PlannedSubject[] = [];
  const outcome = await planFleet(runbook, ARGS, call, async (page) => void stored.push(...page));
  if (outcome.kind !== 'planned') throw new Error('no plan');
  const { walk, ...plan } = outcome.plan;
  const chunks: { subjects: AssessedSubject[]; totals: string }[] = [];
  for (let at = 0; at < stored.length; at += chunkSize) {
    const assessor = createAssessor(runbook, ARGS, { toolCallId: 'c1', tools: spoken() });
    const subjects: AssessedSubject[] = [];
    for (const planned of stored.slice(at, at + chunkSize)) {
      const assessed = await assessor.assess(JSON.parse(JSON.stringify(planned)) as PlannedSubject);
      if (assessed !== 'aborted') subjects.push(assessed);
    }
    chunks.push({ subjects, totals: JSON.stringify(totalSubjects(subjects)) });
  }
  order(chunks);
  const totals = chunks.map((chunk) => JSON.parse(chunk.totals) as FleetTotals).reduce(mergeTotals, NO_TOTALS);
  const subjects = chunks.flatMap((chunk) => chunk.subjects).toSorted((a, b) => a.ordinal - b.ordinal);
  const collected = await collectFleet(runbook, ARGS, call, {
    plan,
    counts: countSubjects(subjects),
    totals,
    head: STANDING_ORDER.flatMap((standing) => subjects.filter((subject) => subject.standing === standing)),
    open: openOf(subjects),
    walk: async function* () {
      yield walk;
      for (const subject of subjects) yield subject.walk;
    },
  });
  if (collected.kind !== 'envelope') throw new Error('no envelope');
  return collected.body;
}

/** As a results store groups them, for fleets this small. */
function openOf(subjects: readonly AssessedSubject[]): OpenGroups {
  const groups: { outcome: 'not_checked' | 'cannot_cover'; reason: string; count: number; samples: string[] }[] = [];
  for (const { outcome, reason, key } of subjects) {
    if (outcome !== 'not_checked' && outcome !== 'cannot_cover') continue;
    const known = groups.find((group) => group.outcome === outcome && group.reason === reason);
    if (known === undefined) groups.push({ outcome, reason, count: 1, samples: [key] });
    else if (known.samples.push(key) > 5) known.samples.pop();
    if (known !== undefined) known.count++;
  }
  return { groups, restGroups: 0, restSubjects: 0 };
}

describe('chunked equals unchunked', () => {
  test('at any chunk size and in any order of settlements, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        subjectsOf,
        fc.integer({ min: 1, max: 13 }),
        fc.boolean(),
        async (subjects, chunkSize, reversed) => {
          const whole = await runAnswered(fleetOf(subjects), { tools: spoken() });
          const chunked = await runChunked(
            fleetOf(subjects),
            chunkSize,
            (chunks) => void (reversed && chunks.reverse()),
          );
          expect(JSON.stringify(chunked)).toBe(JSON.stringify(whole.envelope));
        },
      ),
      { numRuns: 40 },
    );
  });

  test('every subject ends once, the counters add up, and the envelope survives JSON and its schema', async () => {
    await fc.assert(
      fc.asyncProperty(subjectsOf, async (subjects) => {
        const { envelope, subjects: assessed } = await runAnswered(fleetOf(subjects), { tools: spoken() });
        expect(assessed.map(({ ordinal }) => ordinal)).toEqual(subjects.map((_, ordinal) => ordinal));
        const { total, ...parts } = envelope.result.subjects ?? { total: -1 };
        expect(total).toBe(subjects.length);
        expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
        const { rows_total, rows_shown, rows_complete } = envelope.result;
        expect(rows_total).toBe(
          (parts as { ok: number; problem: number; declined: number }).ok +
            (parts as { problem: number }).problem +
            (parts as { declined: number }).declined,
        );
        expect(rows_complete).toBe(rows_shown === rows_total);
        const read: unknown = JSON.parse(JSON.stringify(envelope));
        expect(runbookEnvelopeSchema.parse(read)).toEqual(read);
      }),
      { numRuns: 40 },
    );
  });
});

/** The same subjects in the bounded form: one fan-out, the fleet's own chart for each branch. */
function bounded(subjects: readonly Subject[]) {
  return answer(
    {
      name: 'ages',
      resultKind: 'verdict/ages',
      rules: { name: 'age-rules', version: 'v1' },
      verdicts: { decider: 'State' },
      procedure: (dispatch) =>
        flowChart<State>('Plan', (scope) => void Object.assign(scope, { subjects }), 'plan')
          .addParallelForEach<Subject>('Each', 'each', {
            items: (scope: State) => scope.subjects as Subject[],
            branch: (subject) => assessChart(dispatch, subject),
            maxBranches: 50,
            into: 'results',
          })
          .addFunction(
            'Collect',
            (scope: State) => {
              const results = scope.results as ({ word: string; age: unknown } | undefined)[];
              Object.assign(scope, {
                verdicts: results.flatMap((result, n) =>
                  result?.word === undefined
                    ? []
                    : [{ subject: subjects[n]?.id, verdict: result.word, age: result.age }],
                ),
              });
            },
            'collect',
          )
          .build(),
    },
    { tools: spoken() },
  );
}

describe('bounded and fleet form agree for the same subjects', () => {
  const byName = (left: VerdictRow, right: VerdictRow) => (String(left.subject) < String(right.subject) ? -1 : 1);
  const plain = (rows: readonly VerdictRow[] | undefined) =>
    (rows ?? []).map(({ subject, verdict, age }) => ({ subject, verdict, age }) as VerdictRow).toSorted(byName);
  const sameForms = subjectsOf.map((subjects) =>
    subjects.filter(({ act }) => act === undefined || act === 'call' || act === 'throw'),
  );

  test('in rows, row counters, meanings, provenance and tool ledgers', async () => {
    await fc.assert(
      fc.asyncProperty(sameForms, async (subjects) => {
        const fleet = (await runAnswered(fleetOf(subjects), { tools: spoken() })).envelope;
        const one = await bounded(subjects);
        expect(plain(one.result.verdicts)).toEqual(plain(fleet.result.verdicts));
        for (const counter of ['rows_shown', 'rows_total', 'rows_complete'] as const) {
          expect(one.result[counter]).toBe(fleet.result[counter]);
        }
        expect(one.result.rule_version).toBe(fleet.result.rule_version);
        expect(one.result.af_provenance).toEqual(fleet.result.af_provenance);
        // The fleet's chart is declared at build time, a branch's is not: what both heard is the same.
        for (const [word, meaning] of Object.entries(one.result.verdict_meanings ?? {})) {
          expect(fleet.result.verdict_meanings?.[word]).toBe(meaning);
        }
        const inner = (envelope: RunbookEnvelope) =>
          (envelope.af_coverage.checked ?? []).filter(({ what }) => !what.startsWith('the procedure'));
        expect(inner(one)).toEqual(inner(fleet));
        const declined = (envelope: RunbookEnvelope) =>
          (envelope.af_coverage.not_checked ?? []).find(({ what }) => what.includes('NO classification'));
        expect(declined(one)).toEqual(declined(fleet));
      }),
      { numRuns: 40 },
    );
  });

  test('in what a subject that failed costs: itself alone, and it is declared', async () => {
    const subjects: Subject[] = [
      { id: 'a', age: 1 },
      { id: 'b', age: 1, act: 'throw' },
    ];
    const one = await bounded(subjects);
    expect(one.result.rows_total).toBe(1);
    expect(one.af_coverage.not_checked).toEqual([
      { what: "1 item(s) of the fan-out 'Each' (each), counted from 0: 1", why: 'the branch failed: Error (E9)' },
    ]);
  });
});

test('a fleet of many subjects lets others have their turn', async () => {
  const turns: number[] = [];
  let done = 0;
  const timers = {
    setTimeout: (callback: () => void, ms: number) => {
      if (ms > 0) return 0;
      turns.push(done);
      callback();
      return 0;
    },
    clearTimeout: () => undefined,
  };
  const subjects = Array.from({ length: 513 }, (_, n) => ({ id: `s-${n}`, age: 1 }));
  await runFleet(fleetOf(subjects), ARGS, { toolCallId: 'c1', tools, timers }, (count) => {
    done = count;
  });
  expect(turns).toEqual([256, 512]);
});
