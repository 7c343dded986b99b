import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  addMute,
  claimNotices,
  deleteNotifier,
  fileNotice,
  forgetNotices,
  liftMute,
  listMutes,
  type NoticeClaim,
  type NotifierSetting,
  pageNotices,
  putNotifier,
  readToldStandings,
  readToldSweep,
  replayNotice,
  settleNotice,
  writeNotice,
} from '../src/index.ts';
import { accepted, newTenant, openStore, type Store, type Tenant } from './store.ts';
import { finishSweep, openSweep, type SweptRow, swept } from './sweeps.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  owner = await newTenant(store.db);
  // Another test's notices are nobody's here.
  await store.db.query(`delete from muster.notices`);
});

const EDGES = ['newly_problem', 'fixed', 'became_unknown', 'known_again', 'gone', 'rule_changed'];
const night = (number: number) => new Date(Date.UTC(2026, 10, number, 2));
const sweepOf = (number: number, rows: readonly SweptRow[], over = {}) =>
  swept(store.db, owner, rows, { now: night(number), acceptedAt: night(number), ...over });

async function notifier(over: Partial<NotifierSetting> = {}) {
  const setting: NotifierSetting = {
    id: randomUUID(),
    tenant: owner.tenant,
    name: 'ops',
    url: 'https://example.com/hook',
    secret: Buffer.from('sealed'),
    format: 'muster',
    runbooks: null,
    scopes: null,
    targets: null,
    changes: EDGES,
    enabled: true,
    now: new Date(),
    ...over,
  };
  return await putNotifier(store.db, setting);
}

const filed = async () => (await pageNotices(store.db, { tenant: owner.tenant, limit: 100 })).notices;
const claims = (over = {}) => claimNotices(store.db, { limit: 10, perNotifier: 4, leaseMs: 60_000, ...over });
const told = async (runId: string, over = {}) =>
  (await readToldSweep(store.db, { tenant: owner.tenant, runId, changes: EDGES, targets: null, limit: 50, ...over }))!;
const words = (sweep: Awaited<ReturnType<typeof told>>) =>
  sweep.changes.map(({ change, subject }) => `${change} ${subject.split('/')[0]}`);

describe('the end of a run files what is to be told', () => {
  test('an edge, once for each notifier that wants it, with the run; a first sweep and a steady one none', async () => {
    await notifier();
    await notifier({ name: 'chat', format: 'slack', id: randomUUID() });
    await notifier({ name: 'off', enabled: false, id: randomUUID() });
    await notifier({ name: 'other-scope', scopes: ['weekly'], id: randomUUID() });
    await notifier({ name: 'other-words', changes: ['gone'], id: randomUUID() });
    await sweepOf(1, [['a', 'problem']]);
    await sweepOf(2, [['a', 'problem']]);
    expect(await filed()).toEqual([]);
    const { run } = await sweepOf(3, [['a', 'ok']]);
    const notices = await filed();
    expect(notices.map(({ notifier, kind, runId, state }) => [notifier, kind, runId, state]).sort()).toEqual([
      ['chat', 'changes', run.id, 'pending'],
      ['ops', 'changes', run.id, 'pending'],
    ]);
  });

  test('an answer for who wants envelopes, and a callback, of a run that is no sweep too', async () => {
    await notifier({ format: 'envelope' });
    const callback = { url: 'https://example.com/back', secret: Buffer.from('sealed too') };
    const run = await accepted(store.db, owner, { callback, dryRun: true });
    await store.db.query(
      `update muster.runs set status = 'running', started_at = now(), phase = 'collect', revision = 2,
      frozen_at = now(), subjects_total = 0, fence = 1, plan_fence = 1 where id = $1`,
      [run.id],
    );
    await finishSweep(store.db, run);
    const notices = await filed();
    expect(notices.map(({ kind, runId }) => [kind, runId]).sort()).toEqual([
      ['answer', run.id],
      ['callback', run.id],
    ]);
    const back = (await claims()).find(({ kind }) => kind === 'callback');
    expect(back).toMatchObject({ url: callback.url, secret: callback.secret, format: 'envelope', notifierId: null });
  });

  test('nothing when the run is not finished after all: its fence had moved on', async () => {
    await notifier();
    await sweepOf(1, [['a', 'problem']]);
    const open = await openSweep(store.db, owner, [['a', 'ok']], { now: night(2), acceptedAt: night(2) });
    const { outcome } = await open.finish({ fence: 99 });
    expect(outcome).toBe('lost');
    expect(await filed()).toEqual([]);
  });

  test('of another tenant nothing', async () => {
    await notifier();
    const other = await newTenant(store.db);
    for (const [number, end] of [
      [1, 'ok'],
      [2, 'problem'],
    ] as const) {
      await swept(store.db, other, [['a', end]], { now: night(number), acceptedAt: night(number) });
    }
    expect(await filed()).toEqual([]);
  });
});

describe('a claim', () => {
  const file = async (count: number, name = 'ops') => {
    const { id } = await notifier({ name, id: randomUUID() });
    for (let at = 0; at < count; at++)
      await fileNotice(store.db, { tenant: owner.tenant, notifierId: id, kind: 'test' });
  };

  test('is one process’ alone, however many ask at once', async () => {
    await file(8);
    const all = await Promise.all(Array.from({ length: 8 }, () => claims({ limit: 2 })));
    const ids = all.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('of a slow receiver leaves room for the others', async () => {
    await file(50, 'slow');
    await file(1, 'quick');
    const got = await claims({ limit: 10, perNotifier: 3 });
    expect(got).toHaveLength(4);
  });

  test('that nothing came of is due again, under the same id and with the same body', async () => {
    await file(1);
    const [first] = (await claims({ leaseMs: 0 })) as [NoticeClaim];
    expect(await writeNotice(store.db, first.id, 'first')).toBe('first');
    const [second] = (await claims()) as [NoticeClaim];
    expect(second).toMatchObject({ id: first.id, attempt: 2, body: 'first' });
    expect(await writeNotice(store.db, first.id, 'second')).toBe('first');
    // The attempt that was thought dead comes late: it may say that it was sent, and nothing else.
    await settleNotice(store.db, first, { state: 'dead', why: 'late' });
    expect((await filed())[0]?.state).toBe('pending');
    await settleNotice(store.db, first, { state: 'sent', status: 200 });
    expect((await filed())[0]?.state).toBe('sent');
  });

  test('is over for good once it is settled, and can be filed again', async () => {
    await file(1);
    const [claim] = (await claims()) as [NoticeClaim];
    await writeNotice(store.db, claim.id, 'body');
    expect(await replayNotice(store.db, { tenant: owner.tenant, id: claim.id })).toBe('open');
    await settleNotice(store.db, claim, { state: 'dead', status: 500, why: 'status_500' });
    expect(await replayNotice(store.db, { tenant: 'elsewhere', id: claim.id })).toBeUndefined();
    const again = await replayNotice(store.db, { tenant: owner.tenant, id: claim.id });
    expect((await claims())[0]).toMatchObject({ id: again, body: 'body', attempt: 1 });
  });

  test('goes with its notifier, and old notices go with time', async () => {
    await file(2);
    const [claim] = (await claims()) as [NoticeClaim];
    await settleNotice(store.db, claim, { state: 'sent', status: 200 });
    expect(await forgetNotices(store.db, new Date(Date.now() + 60_000), 10)).toBe(1);
    await deleteNotifier(store.db, { tenant: owner.tenant, name: 'ops' });
    expect(await filed()).toEqual([]);
  });
});

describe('what is told of a sweep', () => {
  const mute = (over: object) =>
    addMute(store.db, {
      tenant: owner.tenant,
      runbook: null,
      scope: null,
      subject: null,
      target: null,
      reason: 'works on it',
      keyId: null,
      startsAt: night(1),
      endsAt: night(20),
      now: night(1),
      ...over,
    });

  test('its edges, the ones to look at first; a target that is not asked for is left out', async () => {
    await sweepOf(1, [
      ['a', 'ok', 'north'],
      ['b', 'problem', 'south'],
      ['c', 'ok'],
    ]);
    const { run } = await sweepOf(2, [
      ['a', 'problem', 'north'],
      ['b', 'ok', 'south'],
      ['c', 'ok'],
    ]);
    expect(words(await told(run.id))).toEqual(['newly_problem a', 'fixed b']);
    expect(words(await told(run.id, { targets: ['south'] }))).toEqual(['fixed b']);
    expect((await told(run.id, { limit: 1 })).total).toBe(2);
  });

  test('a muted subject is counted as muted and not told', async () => {
    await mute({ subject: 'a/*' });
    await sweepOf(2, [
      ['a', 'ok'],
      ['ab', 'ok'],
    ]);
    const { run } = await sweepOf(3, [
      ['a', 'problem'],
      ['ab', 'problem'],
    ]);
    expect(await told(run.id)).toMatchObject({ muted: 1, total: 1, counts: { newly_problem: 2 } });
    expect(words(await told(run.id))).toEqual(['newly_problem ab']);
  });

  test('a mute of another scope, runbook, target or time mutes nothing; its pattern means what it says', async () => {
    await mute({ scope: 'weekly' });
    await mute({ runbook: 'other' });
    await mute({ target: 'south*' });
    await mute({ subject: '_/%' });
    await mute({ endsAt: night(2) });
    await mute({ startsAt: night(10) });
    await sweepOf(3, [['a', 'ok', 'north']]);
    const { run } = await sweepOf(4, [['a', 'problem', 'north']]);
    expect(await told(run.id)).toMatchObject({ muted: 0, total: 1 });
  });

  test('what became a problem under a mute is told by the first sweep after it, once', async () => {
    await notifier();
    const { id } = await mute({ subject: 'a*' });
    await sweepOf(2, [
      ['a', 'ok'],
      ['old', 'problem'],
    ]);
    const muted = await sweepOf(3, [
      ['a', 'problem'],
      ['old', 'problem'],
    ]);
    expect(await told(muted.run.id)).toMatchObject({ muted: 1, total: 0 });
    expect(await liftMute(store.db, { tenant: owner.tenant, id, now: new Date(night(3).getTime() + 60_000) })).toBe(
      true,
    );
    const after = await sweepOf(4, [
      ['a', 'problem'],
      ['old', 'problem'],
    ]);
    expect(words(await told(after.run.id))).toEqual(['newly_problem a']);
    expect((await filed()).map(({ runId }) => runId)).toContain(after.run.id);
    const later = await sweepOf(5, [
      ['a', 'problem'],
      ['old', 'problem'],
    ]);
    expect(await told(later.run.id)).toMatchObject({ total: 0 });
  });

  test('many that became unknown on one target for one reason are one outage', async () => {
    const many = (end: 'ok' | 'failed'): SweptRow[] =>
      Array.from({ length: 1000 }, (_, at) => [`m${at}`, end, 'north'] as const);
    await sweepOf(1, [...many('ok'), ['s', 'ok', 'south']]);
    const { run } = await sweepOf(2, [...many('failed'), ['s', 'failed', 'south']]);
    const sweep = await told(run.id);
    expect(sweep.outages).toEqual([
      { target: 'north', reasonCode: 'timeout', count: 1000, samples: expect.any(Array) },
    ]);
    expect(words(sweep)).toEqual(['became_unknown s']);
    expect(sweep.total).toBe(1);
  });

  test('what goes back and forth is told as that, once, and is counted until it is calm', async () => {
    const seen: unknown[] = [];
    for (let number = 1; number <= 8; number++) {
      const { run } = await sweepOf(number, [['a', number % 2 === 0 ? 'problem' : 'ok']]);
      if (number === 1) continue;
      const { total, flapping, damped } = await told(run.id);
      seen.push([total, flapping.length, damped]);
    }
    expect(seen).toEqual([
      [1, 0, 0],
      [1, 0, 0],
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
      [0, 0, 1],
      [0, 0, 1],
    ]);
  });

  test('everything that is wrong now, but for what is muted', async () => {
    await sweepOf(1, [
      ['a', 'problem'],
      ['b', 'problem'],
      ['c', 'ok'],
      ['d', 'failed'],
    ]);
    await mute({ subject: 'b/*' });
    const query = { tenant: owner.tenant, runbooks: null, scopes: null, targets: null, now: night(5), limit: 10 };
    const now = await readToldStandings(store.db, query);
    expect(now).toMatchObject({ total: 1, muted: 1, unknown: 1 });
    expect(now.problems.map(({ subject }) => subject)).toEqual(['a/1']);
    expect(await readToldStandings(store.db, { ...query, tenant: 'elsewhere' })).toMatchObject({ total: 0 });
  });

  test('mutes that hold or will are listed with their patterns as they were given', async () => {
    await mute({ subject: 'a_b%c*', target: '\\x*' });
    await mute({ startsAt: night(25), endsAt: night(26) });
    const mutes = await listMutes(store.db, { tenant: owner.tenant, now: night(22), limit: 10 });
    expect(mutes).toHaveLength(1);
    const [held] = await listMutes(store.db, { tenant: owner.tenant, now: night(5), limit: 10 });
    expect(held).toMatchObject({ subject: 'a_b%c*', target: '\\x*' });
  });
});
