import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  claimRun,
  condemnOldRuns,
  finishRun,
  forgetRuns,
  getSweep,
  openDatabase,
  pageChanges,
  pageStandings,
  requestCancel,
  rowStandings,
} from '../src/index.ts';
import {
  acceptance,
  accepted,
  frozen,
  lockWaited,
  newTenant,
  openStore,
  reread,
  type Store,
  type Tenant,
} from './store.ts';
import {
  counted,
  edges,
  finishSweep,
  known,
  openSweep,
  type RowEnd,
  RULES,
  SCOPE,
  type SweptRow,
  swept,
  WHOLE,
} from './sweeps.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  owner = await newTenant(store.db);
});

const night = (number: number) => new Date(Date.UTC(2026, 10, number, 2));
const sweepOf = (number: number, rows: readonly SweptRow[], over = {}) =>
  swept(store.db, owner, rows, { now: night(number), acceptedAt: night(number), ...over });

describe('one identity over sweeps', () => {
  const NEW_RULES = { ...RULES, version: '2' };
  const SAME_VERSION = { ...RULES, digest: 'b' };
  type Transition = readonly [what: string, ends: readonly (RowEnd | 'absent')[], told?: string, rules?: typeof RULES];
  const transitions: Transition[] = [
    ['ok, then a problem', ['ok', 'problem'], 'newly_problem it: ok > problem'],
    ['a problem, then ok', ['problem', 'ok'], 'fixed it: problem > ok'],
    ['a problem twice', ['problem', 'problem'], 'still_problem it: problem > problem'],
    ['ok twice is counted, and has no row', ['ok', 'ok']],
    ['not there, then ok', ['absent', 'ok'], 'new_subject it: - > ok'],
    ['not there, then a problem', ['absent', 'problem'], 'new_subject it: - > problem'],
    ['not there, then unknown', ['absent', 'declined'], 'new_subject it: - > -'],
    ['a problem, then not there', ['problem', 'absent'], 'gone it: problem > -'],
    ['unknown, then not there', ['declined', 'absent'], 'gone it: - > -'],
    ['gone, then there', ['ok', 'absent', 'problem'], 'new_subject it: - > problem'],
    ['a problem, then declined', ['problem', 'declined'], 'became_unknown it: problem > -'],
    ['a problem, then failed', ['problem', 'failed'], 'became_unknown it: problem > -'],
    ['ok, then out of reach', ['ok', 'uncovered'], 'became_unknown it: ok > -'],
    ['unknown twice is counted, and has no row', ['ok', 'declined', 'failed']],
    ['a problem, unknown, ok', ['problem', 'declined', 'ok'], 'known_again it: problem > ok'],
    ['a problem, unknown, a problem', ['problem', 'declined', 'problem'], 'known_again it: problem > problem'],
    ['ok, unknown, a problem', ['ok', 'failed', 'uncovered', 'problem'], 'known_again it: ok > problem'],
    ['never known before', ['declined', 'ok'], 'known_again it: - > ok'],
    ['ok, then a problem by other rules', ['ok', 'problem'], 'rule_changed it: ok > problem', NEW_RULES],
    ['a problem, then ok by other rules', ['problem', 'ok'], 'rule_changed it: problem > ok', NEW_RULES],
    [
      'ok by rules of the same version with other content',
      ['problem', 'ok'],
      'rule_changed it: problem > ok',
      SAME_VERSION,
    ],
    [
      'a problem, unknown, ok by other rules',
      ['problem', 'declined', 'ok'],
      'rule_changed it: problem > ok',
      NEW_RULES,
    ],
    ['a problem by both rules', ['problem', 'problem'], 'still_problem it: problem > problem', NEW_RULES],
    ['unknown, then as before by other rules', ['ok', 'declined', 'ok'], 'known_again it: ok > ok', NEW_RULES],
    ['unknown by other rules', ['ok', 'declined'], 'became_unknown it: ok > -', NEW_RULES],
  ];

  for (const [what, ends, told, rules] of transitions) {
    test(what, async () => {
      for (const [index, end] of ends.entries()) {
        const rows: SweptRow[] = end === 'absent' ? [] : [['it', end]];
        const isLast = index === ends.length - 1;
        const judgedBy = isLast && rules !== undefined ? { judgedBy: rules } : {};
        const done = await sweepOf(index + 1, [['other', 'ok'], ...rows], judgedBy);
        if (isLast) expect(await edges(store.db, done.run)).toEqual(told === undefined ? [] : [told]);
      }
    });
  }

  test('what was never changed is told with how long it has been so', async () => {
    for (const [index, end] of (['ok', 'problem', 'declined', 'problem', 'problem'] as const).entries()) {
      await sweepOf(index + 1, [['it', end]]);
    }
    expect((await known(store.db, owner.tenant)).get('it')).toMatchObject({
      standing: 'problem',
      verdict: 'crash_loop',
      reason: 'restarts',
      standingSince: night(2),
      lastOkAt: night(1),
      sweepsInStanding: 3,
      unknownSince: null,
      rulesVersion: '1',
    });
  });

  test('what is unknown keeps what was known, and says since when and why', async () => {
    for (const [index, end] of (['ok', 'problem', 'declined', 'failed'] as const).entries()) {
      await sweepOf(index + 1, [['it', end]]);
    }
    expect((await known(store.db, owner.tenant)).get('it')).toMatchObject({
      standing: 'problem',
      standingSince: night(2),
      sweepsInStanding: 1,
      unknownSince: night(3),
      unknownReasonCode: 'timeout',
      unknownReason: 'took too long',
    });
  });
});

describe('several rows of one identity', () => {
  test.each<readonly [RowEnd[], string]>([
    [['ok', 'problem', 'ok'], 'problem'],
    [['declined', 'problem'], 'problem'],
    [['cut', 'problem'], 'problem'],
    [['ok', 'declined'], 'unknown'],
    [['ok', 'failed', 'ok'], 'unknown'],
    [['ok', 'ok'], 'ok'],
  ])('%j stand as %s', async (ends, expected) => {
    await sweepOf(1, [['other', 'ok'], ...ends.map((end): SweptRow => ['it', end])]);
    const it = (await known(store.db, owner.tenant)).get('it')!;
    expect(it.unknownSince === null ? it.standing : 'unknown').toBe(expected);
  });

  test('a rollout keeps its identity: other keys are the same thing', async () => {
    await sweepOf(1, [
      ['web', 'problem'],
      ['web', 'ok'],
    ]);
    const after = await sweepOf(2, [
      ['web', 'ok'],
      ['web', 'ok'],
      ['web', 'ok'],
    ]);
    expect(await edges(store.db, after.run)).toEqual(['fixed web: problem > ok']);
    expect(counted(after)).toEqual({ fixed: 1 });
  });

  test('subjects without an identity are known by their keys', async () => {
    await sweepOf(1, [
      ['=pod-1', 'ok'],
      ['=pod-2', 'ok'],
    ]);
    const after = await sweepOf(2, [
      ['=pod-1', 'problem'],
      ['=pod-2', 'ok'],
    ]);
    expect(await edges(store.db, after.run)).toEqual(['newly_problem =pod-1: ok > problem']);
  });
});

describe('what is compared with what', () => {
  test('a first sweep is the baseline: it announces nothing, and the next one says against which run it was held', async () => {
    const first = await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'problem'],
      ['c', 'declined'],
    ]);
    expect(first.sweep).toMatchObject({ outcome: 'first', against: null, scopeKey: SCOPE });
    expect(counted(first)).toEqual({ baseline: 3 });
    expect(await edges(store.db, first.run)).toEqual([]);
    const second = await sweepOf(2, [
      ['a', 'ok'],
      ['b', 'problem'],
      ['d', 'ok'],
    ]);
    expect(second.sweep).toMatchObject({ outcome: 'compared', against: { runId: first.run.id, now: night(1) } });
    expect(await getSweep(store.db, { tenant: owner.tenant, runId: second.run.id })).toEqual(second.sweep);
    expect(counted(second)).toEqual({ still_ok: 1, still_problem: 1, new_subject: 1, gone: 1 });
  });

  test('dry runs, reruns of a part and runs without a scope are no baseline and have no changes', async () => {
    const source = await sweepOf(1, [['a', 'ok']]);
    const dry = await sweepOf(2, [['a', 'problem']], { dryRun: true });
    const rerun = await sweepOf(3, [['a', 'problem']], {
      rerun: { of: source.run.id, selection: { only: ['ok'] } },
    });
    expect([dry.sweep, rerun.sweep]).toEqual([undefined, undefined]);
    expect([dry.outcome, rerun.outcome]).toEqual(['finished', 'finished']);
    const bare = await store.db.query(`select from muster.sweeps where run_id = any($1)`, [[dry.run.id, rerun.run.id]]);
    expect(bare.rowCount).toBe(0);
    const next = await sweepOf(4, [['a', 'problem']]);
    expect(next.sweep!.against!.runId).toBe(source.run.id);
    expect(await edges(store.db, next.run)).toEqual(['newly_problem a: ok > problem']);
  });

  test('runs of another scope, runbook or tenant are another history', async () => {
    await sweepOf(1, [['a', 'ok']]);
    const definition = { ...acceptance(owner).definition, digest: 'def-other', name: 'other_check' };
    const others = [
      await sweepOf(2, [['a', 'problem']], { scopeKey: 'weekly' }),
      await sweepOf(2, [['a', 'problem']], { definition }),
      await swept(store.db, await newTenant(store.db), [['a', 'problem']], { acceptedAt: night(2) }),
    ];
    expect(others.map(({ sweep }) => sweep!.outcome)).toEqual(['first', 'first', 'first']);
    expect((await known(store.db, owner.tenant)).get('a')!.standing).toBe('ok');
  });

  test('a stopped run counts for what it looked at, and tells nothing gone', async () => {
    await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'problem'],
      ['c', 'ok'],
      ['d', 'ok'],
    ]);
    const stopped = await sweepOf(2, [
      ['a', 'problem'],
      ['b', 'cut'],
      ['new', 'cut'],
      ['d', 'ok'],
      ['d', 'cut'],
    ]);
    expect(stopped.sweep).toMatchObject({ outcome: 'compared', goneUntold: 'stopped' });
    expect(await edges(store.db, stopped.run)).toEqual(['newly_problem a: ok > problem']);
    expect(counted(stopped)).toEqual({ newly_problem: 1 });
    const next = await sweepOf(3, [
      ['a', 'problem'],
      ['b', 'ok'],
      ['new', 'ok'],
      ['d', 'ok'],
    ]);
    expect(await edges(store.db, next.run)).toEqual([
      'new_subject new: - > ok',
      'gone c: ok > -',
      'fixed b: problem > ok',
      'still_problem a: problem > problem',
    ]);
  });

  test('a run that was stopped before it looked at anything changes nothing', async () => {
    const first = await sweepOf(1, [['a', 'ok']]);
    const unlooked = await sweepOf(2, [
      ['a', 'cut'],
      ['b', 'cut'],
    ]);
    expect(unlooked.sweep).toMatchObject({ outcome: 'unlooked', against: null });
    const next = await sweepOf(3, [['a', 'ok']]);
    expect(next.sweep).toMatchObject({ outcome: 'compared', against: { runId: first.run.id } });
  });

  test('after a first sweep that was stopped, nobody knows what is new', async () => {
    await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'cut'],
    ]);
    const second = await sweepOf(2, [
      ['a', 'problem'],
      ['b', 'ok'],
      ['c', 'ok'],
    ]);
    expect(counted(second)).toEqual({ newly_problem: 1, baseline: 2 });
    expect(
      counted(
        await sweepOf(3, [
          ['a', 'ok'],
          ['b', 'ok'],
          ['c', 'ok'],
          ['d', 'ok'],
        ]),
      ),
    ).toEqual({
      fixed: 1,
      still_ok: 2,
      new_subject: 1,
    });
  });

  test('a plan that left something out tells nothing gone, until one is whole again', async () => {
    await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'ok'],
    ]);
    for (const [index, gaps] of [
      { ...WHOLE, left: true },
      { left: false, never: [...WHOLE.never, 'cluster-north'] },
      { left: false, never: [...WHOLE.never, 'cluster-north'] },
    ].entries()) {
      const partial = await sweepOf(index + 2, [['a', 'ok']], { gaps });
      expect(partial.sweep!.goneUntold).toBe('plan_not_whole');
      expect(counted(partial)).toEqual({ still_ok: 1 });
    }
    const whole = await sweepOf(9, [['a', 'ok']]);
    expect(counted(whole)).toEqual({ still_ok: 1, gone: 1 });
  });

  test('where the first plan was not whole, what it said that it can never cover is no news later', async () => {
    const first: SweptRow[] = [
      ['a', 'ok'],
      ['b', 'ok'],
    ];
    await sweepOf(1, first, { gaps: { ...WHOLE, left: true } });
    const never = [...WHOLE.never, 'cluster-north'];
    const refused = await sweepOf(2, [['a', 'ok']], { gaps: { left: false, never } });
    expect(refused.sweep!.goneUntold).toBe('plan_not_whole');
    expect(counted(await sweepOf(3, [['a', 'ok']]))).toEqual({ still_ok: 1, gone: 1 });
  });
});

describe('runs that finish out of order, at once, or twice', () => {
  test('a run that was accepted before the one that is recorded leaves the standings alone', async () => {
    const early = await openSweep(store.db, owner, [['a', 'ok']], { acceptedAt: night(1), now: night(1) });
    const later = await sweepOf(2, [['a', 'problem']]);
    const late = await early.finish();
    expect(late).toMatchObject({ outcome: 'finished', sweep: { outcome: 'late', against: { runId: later.run.id } } });
    expect(counted(late)).toEqual({});
    expect((await known(store.db, owner.tenant)).get('a')).toMatchObject({
      standing: 'problem',
      lastRunId: later.run.id,
    });
  });

  test('two sweeps of a scope that finish at once are recorded one after the other', async () => {
    await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'ok'],
    ]);
    const rows: SweptRow[] = [
      ['a', 'problem'],
      ['b', 'ok'],
    ];
    const open = await Promise.all(
      [2, 3, 4, 5].map((number) => openSweep(store.db, owner, rows, { acceptedAt: night(number), now: night(number) })),
    );
    const done = await Promise.all(open.map((sweep) => sweep.finish()));
    const compared = done.filter(({ sweep }) => sweep!.outcome === 'compared');
    const chain = compared.sort((x, y) => Number(x.run.createdAt) - Number(y.run.createdAt));
    expect(chain.length).toBeGreaterThan(0);
    expect(chain.map(({ sweep }) => sweep!.counts.newly_problem)).toEqual(
      chain.map((_, index) => (index === 0 ? 1 : 0)),
    );
    for (const [index, { sweep }] of chain.slice(1).entries()) expect(sweep!.against!.runId).toBe(chain[index]!.run.id);
    const row = (await known(store.db, owner.tenant)).get('a')!;
    expect(row).toMatchObject({ lastRunId: open[3]!.run.id, sweepsInStanding: chain.length });
  });

  test('a sweep waits for the one that holds its scope, and is compared with it', async () => {
    const first = await sweepOf(1, [['a', 'ok']]);
    const open = await openSweep(store.db, owner, [['a', 'problem']], { acceptedAt: night(3), now: night(3) });
    let finished: ReturnType<typeof open.finish> | undefined;
    await store.db.transaction(async (tx) => {
      await tx.query('select from muster.sweep_scopes where tenant = $1 for update', [owner.tenant]);
      finished = open.finish();
      await lockWaited(store.db);
    });
    expect((await finished!).sweep).toMatchObject({ outcome: 'compared', against: { runId: first.run.id } });
  });

  test('changes that take more time than a statement has cost themselves, and not the answer', async () => {
    const first = await sweepOf(1, [['a', 'ok']]);
    const open = await openSweep(store.db, owner, [['a', 'problem']], { acceptedAt: night(2), now: night(2) });
    const hasty = openDatabase({ url: store.url, statementTimeoutMs: 2_000 });
    await store.db.transaction(async (tx) => {
      await tx.query('select from muster.sweep_scopes where tenant = $1 for update', [owner.tenant]);
      expect(await finishSweep(hasty, open.run)).toMatchObject({ outcome: 'finished', sweep: undefined });
    });
    await hasty.close();
    expect(await getSweep(store.db, { tenant: owner.tenant, runId: open.run.id })).toBeUndefined();
    const next = await sweepOf(3, [['a', 'problem']]);
    expect(next.sweep!.against!.runId).toBe(first.run.id);
    expect(counted(next)).toEqual({ newly_problem: 1 });
  });

  test('an attempt whose fence has moved on records nothing', async () => {
    await sweepOf(1, [['a', 'ok']]);
    const open = await openSweep(store.db, owner, [['a', 'problem']], { acceptedAt: night(2) });
    const { fence } = (await claimRun(store.db, { runId: open.run.id, phase: 'collect', dispatchNo: 99 }))!;
    const stale = await open.finish({ fence: fence - 1 });
    expect(stale).toMatchObject({ outcome: 'lost', sweep: undefined });
    const done = await open.finish();
    expect(await edges(store.db, done.run)).toEqual(['newly_problem a: ok > problem']);
    expect((await open.finish({ fence: done.run.fence })).outcome).toBe('lost');
    expect((await known(store.db, owner.tenant)).get('a')!.sweepsInStanding).toBe(1);
  });

  test('a finish that fails records nothing, and the next one does', async () => {
    await sweepOf(1, [['a', 'ok']]);
    const open = await openSweep(store.db, owner, [['a', 'problem']], { acceptedAt: night(2) });
    const { rows } = await store.db.query<{ fence: number }>(
      'update muster.runs set fence = fence + 1 where id = $1 returning fence',
      [open.run.id],
    );
    const answer = { kind: 'envelope' as const, body: {} };
    const sweep = {
      judgedBy: RULES,
      gaps: WHOLE,
      compose: () => {
        throw new Error('no answer');
      },
    };
    const finish = { runId: open.run.id, fence: rows[0]!.fence, status: 'completed' as const, answer, sweep };
    await expect(finishRun(store.db, finish)).rejects.toThrow('no answer');
    expect((await known(store.db, owner.tenant)).get('a')!.standing).toBe('ok');
    expect(counted(await open.finish())).toEqual({ newly_problem: 1 });
  });
});

describe('reading', () => {
  test('changes come by word, the ones to look at first, filtered and in pages', async () => {
    await sweepOf(1, [
      ['a', 'ok', 'north'],
      ['b', 'problem', 'south'],
      ['c', 'problem', 'north'],
      ['d', 'ok', 'south'],
    ]);
    const { run } = await sweepOf(2, [
      ['a', 'problem', 'north'],
      ['b', 'ok', 'south'],
      ['c', 'problem', 'north'],
      ['e', 'ok', 'south'],
    ]);
    const of = async (over: object) => {
      const page = await pageChanges(store.db, { tenant: owner.tenant, runId: run.id, limit: 2, ...over });
      return [page.rows.map(({ change }) => change), page.nextAfter];
    };
    expect(await of({})).toEqual([['newly_problem', 'new_subject'], 1]);
    expect(await of({ after: 1 })).toEqual([['gone', 'fixed'], 3]);
    expect(await of({ after: 3 })).toEqual([['still_problem'], undefined]);
    expect(await of({ target: 'north' })).toEqual([['newly_problem', 'still_problem'], undefined]);
    expect(await of({ changes: ['fixed', 'gone'] })).toEqual([['gone', 'fixed'], undefined]);
    const stranger = (await newTenant(store.db)).tenant;
    expect(await of({ tenant: stranger })).toEqual([[], undefined]);
    expect(await getSweep(store.db, { tenant: stranger, runId: run.id })).toBeUndefined();
    expect((await rowStandings(store.db, { ...run, tenant: stranger }, ['a'])).size).toBe(0);
    expect((await rowStandings(store.db, run, ['a', 'missing'])).size).toBe(1);
  });

  test('standings are those of a tenant, by scope, runbook and standing, in pages', async () => {
    await sweepOf(1, [
      ['a', 'ok'],
      ['b', 'problem'],
      ['c', 'declined'],
    ]);
    await sweepOf(1, [['x', 'problem']], { scopeKey: 'weekly' });
    await swept(store.db, await newTenant(store.db), [['foreign', 'problem']]);
    const of = async (over: object) => {
      const { rows } = await pageStandings(store.db, { tenant: owner.tenant, limit: 10, ...over });
      return rows.map(({ identity }) => identity);
    };
    expect(await of({})).toEqual(['a', 'b', 'c', 'x']);
    expect(await of({ standing: 'problem' })).toEqual(['b', 'x']);
    expect(await of({ standing: 'unknown' })).toEqual(['c']);
    expect(await of({ scopeKey: 'weekly' })).toEqual(['x']);
    expect(await of({ runbook: 'another' })).toEqual([]);
    const first = await pageStandings(store.db, { tenant: owner.tenant, limit: 2 });
    expect(await of({ after: first.nextAfter })).toEqual(['c', 'x']);
  });
});

describe('retention', () => {
  test('a forgotten sweep takes its changes with it and leaves the standings', async () => {
    const now = night(1);
    await sweepOf(1, [['a', 'ok']]);
    const old = await sweepOf(2, [['a', 'problem']]);
    await sweepOf(3, [['a', 'problem']]);
    const finishedBefore = new Date(Date.now() + 60_000);
    const chosen = await condemnOldRuns(store.db, { finishedBefore, limit: 100 });
    expect(await forgetRuns(store.db, chosen)).toContain(old.run.id);
    for (const table of ['changes', 'sweeps']) {
      const left = await store.db.query(`select from muster.${table} where run_id = $1`, [old.run.id]);
      expect(left.rowCount, table).toBe(0);
    }
    expect((await known(store.db, owner.tenant)).get('a')).toMatchObject({ lastOkAt: now, sweepsInStanding: 2 });
    expect(counted(await sweepOf(4, [['a', 'ok']]))).toEqual({ fixed: 1 });
  });

  test('changes and sweeps never change, and a sweep goes only with its run', async () => {
    await sweepOf(1, [['a', 'ok']]);
    const { run } = await sweepOf(2, [['a', 'problem']]);
    for (const statement of [
      `update muster.changes set change = 'fixed' where run_id = $1`,
      `update muster.sweeps set fixed = 1 where run_id = $1`,
      'delete from muster.sweeps where run_id = $1',
    ]) {
      await expect(store.db.query(statement, [run.id])).rejects.toMatchObject({
        sqlState: expect.stringMatching(/^MU/),
      });
    }
  });
});

test('a run whose plan was never closed, and one that has no scope, have no changes', async () => {
  const stopped = await accepted(store.db, owner, { scopeKey: SCOPE });
  await requestCancel(store.db, { tenant: owner.tenant, runId: stopped.id });
  expect(await finishSweep(store.db, stopped)).toMatchObject({ outcome: 'finished', sweep: undefined });
  const { rows } = await store.db.query<{ id: string }>(
    `insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest, form,
        priority, now, status, phase, revision, created_at, updated_at)
      select gen_random_uuid(), tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest, form,
          priority, now, 'pending', 'plan', 1, created_at, updated_at from muster.runs where id = $1 returning id`,
    [stopped.id],
  );
  const { run } = await frozen(store.db, await reread(store.db, { ...stopped, id: rows[0]!.id }), []);
  expect(run.scopeKey).toBeNull();
  expect(await finishSweep(store.db, run)).toMatchObject({ outcome: 'finished', sweep: undefined });
});
