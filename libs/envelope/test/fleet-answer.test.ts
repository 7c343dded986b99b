import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  absent,
  collectFleet,
  countSubjects,
  coverage,
  type FleetResults,
  GROUP_SAMPLES,
  MAX_GROUPS,
  maxRowsOf,
  NO_TOTALS,
  type RunbookEnvelope,
  runFleet,
} from '../src/index.ts';
import { ARGS, fleetOf, planOf, reportCounts, runAnswered, type Subject, type tools } from './fleet-runbook.ts';
import { MemorySink } from './memory-sink.ts';
import { type State, toolsThat } from './procedures.ts';

describe('the answer of a fleet', () => {
  const mixed: Subject[] = [
    { id: 'ok-0', age: 1 },
    { id: 'bad-1', age: 9 },
    { id: 'decl-2', age: null },
    { id: 'open-3', act: 'throw' },
    { id: 'bad-4', age: 10 },
    { id: 'ok-5', age: 2 },
  ];

  test('shows problems first, then declined, then fine, each by ordinal; its counters add up', async () => {
    const { envelope } = await runAnswered(fleetOf(mixed));
    const { result } = envelope;
    expect(result.verdicts?.map(({ subject }) => subject)).toEqual(['bad-1', 'bad-4', 'decl-2', 'ok-0', 'ok-5']);
    expect(result).toMatchObject({ rows_shown: 5, rows_total: 5, rows_complete: true });
    expect(result.subjects).toEqual({ total: 6, ok: 2, problem: 2, declined: 1, not_checked: 1, cannot_cover: 0 });
    expect(envelope.af_coverage.sentence).toBe(
      "Ran 'ages' under age-rules v1: 17 step(s) recorded; 5 row(s) assessed, 1 declined (no classification reached); of 6 subject(s) 1 were not checked and 0 cannot be covered; 2 not-checked item(s) declared.",
    );
  });

  test('has its keys in their order, with the collect report where a report goes', async () => {
    const { envelope } = await runAnswered(fleetOf(mixed, { collect: reportCounts }));
    expect(Object.keys(envelope.result)).toEqual([
      'af_provenance',
      'rule_version',
      'seen',
      'problems',
      'verdicts',
      'rows_shown',
      'rows_total',
      'rows_complete',
      'table',
      'render_note',
      'verdict_meanings',
      'subjects',
      'walk',
    ]);
    expect(envelope.result).toMatchObject({ seen: 6, problems: 2 });
    expect(envelope.af_coverage.checked?.map(({ what }) => what)).toEqual([
      'the counters',
      expect.stringContaining("'ages'"),
    ]);
  });

  test('a report may not spell the subjects, which a fleet keeps for itself', async () => {
    const plan = planOf(
      mixed,
      3,
      (scope) => void Object.assign(scope, { report: { subjects: 99, other: 1 } }),
    ) as never;
    const { envelope } = await runAnswered(fleetOf([], { plan }));
    expect(envelope.result).toMatchObject({ other: 1, subjects: { total: 6 } });
    expect(envelope.result.report_note).toContain('`subjects`');
  });

  test('over its cap shows the worst, and counts all', async () => {
    const more = { verdicts: { decider: 'State', maxRows: 3, standings: { stale: 'problem', fresh: 'ok' } } } as const;
    const runbook = fleetOf(mixed, { more });
    expect(maxRowsOf(runbook)).toBe(3);
    const { result } = (await runAnswered(runbook)).envelope;
    expect(result.verdicts?.map(({ subject }) => subject)).toEqual(['bad-1', 'bad-4', 'decl-2']);
    expect(result).toMatchObject({ rows_shown: 3, rows_total: 5, rows_complete: false });
  });

  test('groups what was not checked by its reason, with counts and sample keys', async () => {
    const failing = Array.from({ length: GROUP_SAMPLES + 2 }, (_, n) => ({ id: `f-${n}`, act: 'throw' as const }));
    const { envelope } = await runAnswered(fleetOf([...failing, { id: 'u', act: 'undecided' }]));
    expect(envelope.af_coverage.not_checked).toEqual([
      { what: '7 subject(s): f-0, f-1, f-2, f-3, f-4 and 2 more', why: 'its chart failed: Error (E9)' },
      { what: '1 subject(s): u', why: "the decider 'State' was not reached" },
    ]);
  });

  test('without any subject says so by its counters', async () => {
    const { envelope } = await runAnswered(fleetOf([]));
    expect(envelope.result).toMatchObject({ rows_total: 0, rows_complete: true, subjects: { total: 0 } });
    expect(envelope.result.verdict_meanings).toEqual({
      declined: 'Declined',
      odd: 'Odd',
      stale: 'Stale',
      fresh: 'Fresh',
    });
  });

  const collected = (results: Partial<FleetResults>) =>
    collectFleet(
      fleetOf([]),
      ARGS,
      { toolCallId: 'c1' },
      {
        counts: { total: 0, ok: 0, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 },
        totals: NO_TOTALS,
        head: [],
        open: { groups: [], restGroups: 0, restSubjects: 0 },
        walk: async function* () {},
        ...results,
      },
    );

  test('its meanings have one order, in whatever order a store gave the labels back', async () => {
    const meanings = async (branches: string[]) => {
      const rules = Object.fromEntries(branches.map((branch) => [branch, [0, `label of ${branch}`] as const]));
      const answer = await collected({ totals: { ...NO_TOTALS, heard: { rules, defaults: {} } } });
      if (answer.kind !== 'envelope') throw new Error(answer.kind);
      return JSON.stringify(answer.body.result.verdict_meanings);
    };
    const one = await meanings(['later', 'early', 'mid']);
    expect(one).toContain('label of mid');
    expect(await meanings(['mid', 'later', 'early'])).toBe(one);
  });

  test('shows no more rows than its cap, however many a store hands over', async () => {
    const head = Array.from({ length: 51 }, (_, n) => ({ key: `s-${n}`, verdict: 'fresh', reason: 'r', columns: {} }));
    const counts = { total: 51, ok: 51, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 };
    const answer = await collected({ head, counts });
    expect(answer).toMatchObject({ body: { result: { rows_shown: 50, rows_total: 51, rows_complete: false } } });
    expect((answer as { body: RunbookEnvelope }).body.result.verdicts?.at(-1)?.subject).toBe('s-49');
  });

  test('counters that do not add up are a failure, not an answer', async () => {
    const counts = { total: 3, ok: 1, problem: 0, declined: 1, not_checked: 0, cannot_cover: 0 };
    const answer = await collected({ counts });
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'ledger_mismatch' } });
    expect((answer as { error: Error }).error.message).toContain('add up to 2, but 3 were planned');
  });

  test('a run that was stopped, what is over the limit of groups, and a manifest are told', async () => {
    const answer = await collected({
      stopped: { what: 'the rest', why: 'cancelled' },
      open: {
        groups: [{ outcome: 'cannot_cover', reason: 'no key', count: 1, samples: ['a'] }],
        restGroups: 2,
        restSubjects: 9,
      },
      counts: { total: 10, ok: 0, problem: 0, declined: 0, not_checked: 9, cannot_cover: 1 },
      manifestRef: 'art_m',
    });
    const { af_coverage, result } = (answer as { body: RunbookEnvelope }).body;
    expect(af_coverage.not_checked).toEqual([
      { what: 'the rest', why: 'cancelled' },
      {
        what: '9 further subject(s), for 2 other reason(s)',
        why: expect.stringContaining('bounded number of reasons'),
      },
    ]);
    expect(af_coverage.cannot_cover).toEqual([{ what: '1 subject(s): a', why: 'no key' }]);
    expect(result.walk.manifest_ref).toBe('art_m');
  });

  test('folds ledgers and the first stamp of all its charts', async () => {
    const stampedBy = (source: string) =>
      coverage({ af_provenance: { source } }, { checked: [`the ${source} source`] });
    const calling = (name: string) =>
      ((dispatch: typeof tools, sink?: { add(page: unknown[]): Promise<void> }) =>
        flowChart<State>(
          name,
          async () => {
            await dispatch.call(name);
            await sink?.add([{ id: 'a', act: 'call', age: 1 }]);
          },
          name,
        ).build()) as never;
    const runbook = fleetOf([], { plan: calling('planned'), collect: calling('collected') });
    const { envelope } = await runAnswered(runbook, {
      tools: toolsThat({ planned: { plain: true }, call: stampedBy('called'), collected: stampedBy('collected') }),
    });
    expect(envelope.result.af_provenance).toEqual({ source: 'called', tool: 'ages', toolCallId: 'c1' });
    expect(envelope.af_coverage.checked?.map(({ what }) => what)).toEqual([
      'the called source',
      'the collected source',
      expect.stringContaining("'ages'"),
    ]);
  });

  test('an absence in collect is the answer', async () => {
    const nothing = absent({ what: 'x', checked: ['y'] });
    const collect = (dispatch: typeof tools) =>
      flowChart<State>('Collect', async () => void (await dispatch.call('absent')), 'c').build();
    const outcome = await runFleet(fleetOf([{ id: 'a', age: 1 }], { collect }), ARGS, {
      toolCallId: 'c1',
      tools: toolsThat({ absent: nothing }),
    });
    expect(outcome.answer).toEqual({ kind: 'absence', body: nothing });
  });

  test('its walk is the plan, then the subjects by ordinal, then collect, each subject under its place', async () => {
    const sink = new MemorySink();
    const { envelope } = await runAnswered(
      fleetOf(mixed.slice(0, 2), { collect: reportCounts, more: { walk: { recording: true } } }),
      { artifacts: sink },
    );
    const rows = sink.redeem(envelope.result.walk.ref) as { stage_id: string; subflow: string | null; step: number }[];
    expect(rows.map(({ step }) => step)).toEqual(rows.map((_, index) => index));
    const places = [...new Set(rows.map(({ stage_id, subflow }) => subflow ?? stage_id))];
    expect(places).toEqual(['plan', 'subject~0', 'subject~1', 'collect']);
    expect(rows.find(({ subflow }) => subflow === 'subject~1')?.stage_id).toBe('subject~1/read');
    expect(envelope.result.walk).toMatchObject({
      rows: rows.length,
      total: rows.length,
      complete: true,
      steps_executed: 8,
    });
    expect(sink.kinds()).toEqual(['recording/run', 'recording/chart-walk']);
    expect(sink.puts[1]).toMatchObject({ label: 'ages walk', origin: { toolCallId: 'c1' } });
    expect(Object.keys(envelope.result.walk)).not.toContain('manifest_ref');
  });

  test('its walk without a collect chart ends with the last subject, and is whole when it just fits', async () => {
    const walked = async (cap: number) => {
      const sink = new MemorySink();
      const { envelope } = await runAnswered(fleetOf(mixed.slice(0, 2), { more: { walk: { cap } } }), {
        artifacts: sink,
      });
      const { ref, total, projection, complete } = envelope.result.walk;
      return { total, projection, complete, rows: sink.redeem(ref) as { subflow?: string | null; type: string }[] };
    };
    const whole = await walked(500);
    expect(whole.rows.at(-1)?.subflow).toBe('subject~1');
    const { total } = whole;
    expect(whole.rows).toHaveLength(total);
    expect(await walked(total)).toEqual({ ...whole, projection: 'full', complete: true });
    const cut = await walked(total - 1);
    expect(cut).toMatchObject({ total, projection: 'control-flow', complete: false });
    expect(cut.rows.some(({ type }) => type === 'step')).toBe(false);
  });

  test('over its cap the walk keeps its control flow, and is read no further than needed', async () => {
    let read = 0;
    const sink = new MemorySink();
    const row = {
      step: 0,
      type: 'stage',
      depth: 0,
      stage: null,
      stage_id: 'a',
      runtime_stage_id: 'a#0',
      subflow: null,
      text: 'x',
    };
    const runbook = fleetOf([], { more: { walk: { cap: 3 } } });
    const answer = await collectFleet(
      runbook,
      ARGS,
      { toolCallId: 'c1', artifacts: sink },
      {
        counts: countSubjects([]),
        totals: { ...NO_TOTALS, walk: { rows: 100, controlRows: 50, steps: 50 } },
        head: [],
        open: { groups: [], restGroups: 0, restSubjects: 0 },
        walk: async function* () {
          for (;;) {
            read++;
            yield [row, { ...row, type: 'step' }];
          }
        },
      },
    );
    expect(answer).toMatchObject({
      kind: 'envelope',
      body: { result: { walk: { rows: 3, total: 100, projection: 'control-flow', steps_executed: 50 } } },
    });
    expect(read).toBe(3);
  });

  test('stays bounded whatever the fleet', async () => {
    const subjects = Array.from({ length: 700 }, (_, n) => ({
      id: `s-${n}`,
      age: n % 2 === 0 ? 9 : null,
      act: 'call' as const,
    }));
    let calls = 0;
    const own = toolsThat({
      call: () => coverage({}, { checked: [`entry ${calls++}`], cannotCover: [{ what: `blind ${calls}`, why: 'x' }] }),
    });
    const plan = planOf(
      subjects,
      100,
      (scope) =>
        void Object.assign(scope, { coverage: { checked: Array.from({ length: 900 }, (_, n) => `planned ${n}`) } }),
    ) as never;
    const { envelope } = await runAnswered(fleetOf([], { plan }), { tools: own });
    expect(envelope.result.verdicts).toHaveLength(50);
    expect(envelope.af_coverage.checked).toHaveLength(201 + 201 + 1);
    expect(envelope.af_coverage.checked).toContainEqual({
      what: 'further entries of single subjects, mentioned 500 time(s)',
      why: 'an answer lists 200 distinct entries of its subjects at most',
    });
    expect(envelope.af_coverage.cannot_cover?.[0]).toEqual({ what: 'blind 1', why: 'x' });
    expect(envelope.af_coverage.checked).toContainEqual(
      expect.objectContaining({ what: '700 further entries of one chart' }),
    );
    expect(envelope.af_coverage.cannot_cover).toHaveLength(201);
    expect(envelope.result.walk).toMatchObject({ shown: 500, projection: 'control-flow', complete: false });
    expect(JSON.stringify(envelope).length).toBeLessThan(80_000);
  });

  test("a chart's ledger is whole to two hundred entries, and what is over is told with its reason", async () => {
    const declaring = async (count: number) => {
      const checked = Array.from({ length: count }, (_, n) => `planned ${n}`);
      const plan = planOf([], 1, (scope) => void Object.assign(scope, { coverage: { checked } })) as never;
      const { envelope } = await runAnswered(fleetOf([], { plan }));
      return envelope.af_coverage.checked?.filter(({ what }) => !what.startsWith('the procedure'));
    };
    expect(await declaring(200)).toHaveLength(200);
    expect((await declaring(201))?.at(-1)).toEqual({
      what: '1 further entries of one chart',
      why: 'an answer lists 200 distinct entries of a chart at most',
    });
  });

  test('lists two hundred reasons, and counts the subjects of the others', async () => {
    const assess = () =>
      flowChart<State>(
        'Read',
        (scope) => {
          const { subject } = (scope as unknown as { $getArgs(): { subject: Subject } }).$getArgs();
          throw Object.assign(new Error('x'), { code: subject.target });
        },
        'read',
      ).build();
    const failing = Array.from({ length: 207 }, (_, n) => ({ id: `s-${n}`, target: `E${n % 203}` }));
    const { envelope } = await runAnswered(fleetOf(failing, { assess }));
    const open = envelope.af_coverage.not_checked ?? [];
    expect(open).toHaveLength(MAX_GROUPS + 1);
    expect(open[0]).toEqual({ what: '2 subject(s): s-0, s-203', why: 'its chart failed: Error (E0)' });
    expect(open[199]).toEqual({ what: '1 subject(s): s-199', why: 'its chart failed: Error (E199)' });
    expect(open[200]?.what).toBe('3 further subject(s), for 3 other reason(s)');
  });

  test('walks of subjects are kept only as far as its own walk needs them', async () => {
    const subjects = Array.from({ length: 6 }, (_, n) => ({ id: `s-${n}`, age: 1 }));
    const kept = async (cap: number) => {
      const run = await runAnswered(fleetOf(subjects, { more: { walk: { cap } } }));
      return run.subjects.map(({ walk }) => walk.filter(({ type }) => type !== 'step').length);
    };
    const [control = 0] = await kept(500);
    expect(await kept(500)).toEqual(Array(6).fill(control));
    expect(await kept(control * 2)).toEqual([control, control, 0, 0, 0, 0]);
    expect(await kept(control * 2 + 1)).toEqual([control, control, control, 0, 0, 0]);
  });

  test('a subject that ended as a verdict without a standing is counted in the total alone', () => {
    const none = { ok: 0, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 };
    expect(countSubjects([{ outcome: 'verdict' }])).toEqual({ total: 1, ...none });
    expect(countSubjects([{ outcome: 'cannot_cover', standing: 'ok' }])).toEqual({
      total: 1,
      ...none,
      cannot_cover: 1,
    });
  });

  test('progress is told after each subject, and an abort ends the run with its reason', async () => {
    const seen: number[][] = [];
    const controller = new AbortController();
    const reason = new Error('stop');
    const outcome = await runFleet(
      fleetOf(mixed),
      ARGS,
      { toolCallId: 'c1', signal: controller.signal },
      (done, total) => {
        seen.push([done, total]);
        if (done === 2) controller.abort(reason);
      },
    );
    expect(seen).toEqual([
      [1, 6],
      [2, 6],
    ]);
    expect(outcome.answer).toEqual({ kind: 'failure', error: reason });
    expect(outcome.subjects).toHaveLength(2);
  });
});
