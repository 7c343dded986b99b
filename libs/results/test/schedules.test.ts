import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScheduleDefinition, ScheduleRecord } from '../src/index.ts';
import {
  claimSchedule,
  createSchedule,
  endWaitingTick,
  findSchedule,
  findSession,
  findTickable,
  forgetTicks,
  insertTick,
  isStarter,
  listSchedules,
  listTicks,
  noteEndedRuns,
  openRunsOf,
  pauseSchedule,
  waitingTick,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, newTenant, openStore, refusal } from './store.ts';

let store: Store;
let owner: Tenant;
let stranger: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
  stranger = await newTenant(store.db);
});
afterAll(() => store.close());

const NOW = new Date('2026-11-30T12:00:00Z');
const NEXT = { slot: new Date('2026-11-30T13:00:00Z'), dueAt: new Date('2026-11-30T13:00:00Z') };
const DEFINITION: ScheduleDefinition = {
  runbookName: 'fleet_check',
  runbookVersion: null,
  input: { canonical: '{}', digest: 'd' },
  priority: 2,
  timing: {},
  overlap: 'skip',
  jitterMs: 0,
  catchUpMs: 0,
  pauseAfterFailures: null,
  source: 'api',
  ownerKeyId: null,
};

function make(name: string, over: Partial<ScheduleDefinition> & { tenant?: string } = {}) {
  const schedule = { tenant: owner.tenant, ...DEFINITION, ...over, id: randomUUID(), name, next: NEXT, now: NOW };
  return store.db.transaction((tx) => createSchedule(tx, schedule));
}

const skipped = { state: 'skipped', code: 'x', reason: 'x' } as const;
const waits = { state: 'queued', code: 'waits', reason: 'waits' } as const;
const tick = (schedule: ScheduleRecord, minute: number, end: Parameters<typeof insertTick>[2]['end'], now = NOW) => {
  const slot = new Date(NOW.getTime() + minute * 60_000);
  return store.db.transaction((tx) => insertTick(tx, schedule, { slot, dueAt: slot, trigger: 'schedule', end }, now));
};

test("a name is taken once in a tenant, however many ask at once, and nothing of it is another tenant's", async () => {
  const made = await Promise.all(Array.from({ length: 6 }, () => make('once')));
  expect(made.filter(Boolean)).toHaveLength(1);
  const schedule = made.find(Boolean)!;
  await tick(schedule, 0, skipped);
  const theirs = { tenant: stranger.tenant };
  expect(await findSchedule(store.db, { ...theirs, name: 'once' })).toBeUndefined();
  expect((await listSchedules(store.db, { ...theirs, limit: 10 })).schedules).toEqual([]);
  expect((await listTicks(store.db, { ...theirs, scheduleId: schedule.id, limit: 10 })).ticks).toEqual([]);
  expect((await listTicks(store.db, { tenant: owner.tenant, scheduleId: schedule.id, limit: 10 })).ticks).toHaveLength(
    1,
  );
  // Its session has no owner, and a key's session of that name is another one.
  const session = await findSession(store.db, owner.tenant, { keyId: null, name: 'schedule:once' });
  expect(session).toMatchObject({ id: schedule.sessionId, ownerKeyId: null });
  expect(await findSession(store.db, owner.tenant, { keyId: owner.keyId, name: 'schedule:once' })).toBeUndefined();
});

test('somebody who holds a schedule is gone past, not waited for', async () => {
  const schedule = (await make('held'))!;
  await store.db.transaction(async (tx) => {
    expect((await claimSchedule(tx, schedule.id))?.name).toBe('held');
    expect(await store.db.transaction((other) => claimSchedule(other, schedule.id))).toBeUndefined();
  });
  expect(await store.db.transaction((tx) => claimSchedule(tx, schedule.id))).toBeDefined();
});

test('what is due is found by whoever has its runbook, and by others after their patience', async () => {
  const pinned = (await make('pinned', { runbookVersion: '2.0.0' }))!;
  const find = async (at: string, version: string) => {
    const runbooks = [{ name: 'fleet_check', version }];
    const now = new Date(`2026-11-30T${at}Z`);
    return (await findTickable(store.db, { now, runbooks, patienceMs: 30_000, limit: 100 })).includes(pinned.id);
  };
  expect(await find('12:59:59', '2.0.0')).toBe(false);
  expect(await find('13:00:00', '2.0.0')).toBe(true);
  expect(await find('13:00:00', '1.0.0')).toBe(false);
  expect(await find('13:00:30', '1.0.0')).toBe(true);
});

test('one slot of a schedule waits at most, and a pause gives it up', async () => {
  const schedule = (await make('waiting'))!;
  await tick(schedule, 0, waits);
  expect(await refusal(tick(schedule, 1, waits))).toBe('ticks_one_waits');
  const paused = await store.db.transaction((tx) =>
    pauseSchedule(tx, schedule, { code: 'paused', reason: 'why' }, NOW),
  );
  expect(paused).toMatchObject({ state: 'paused', nextSlot: null, pausedBy: null });
  expect(await waitingTick(store.db, schedule.id)).toBeUndefined();
  const { ticks } = await listTicks(store.db, { tenant: owner.tenant, scheduleId: schedule.id, limit: 10 });
  expect(ticks).toMatchObject([{ state: 'skipped', reasonCode: 'paused' }]);
  const active = `update muster.schedules set next_slot = now(), next_due_at = now() where id = $1`;
  expect(await refusal(store.db.query(active, [schedule.id]))).toBe('schedules_paused_is_not_due');
});

test('the end of a run is noted once, also of one that was forgotten', async () => {
  const schedule = (await make('ends'))!;
  const run = await accepted(store.db, owner, { session: { id: schedule.sessionId } });
  const first = (await tick(schedule, 0, waits))!;
  await store.db.transaction((tx) => endWaitingTick(tx, first, { state: 'started', runId: run.id }, NOW));
  await tick(schedule, 1, { state: 'started', runId: randomUUID() });
  expect(await openRunsOf(store.db, schedule.id)).toEqual([run.id]);
  const note = () => store.db.transaction((tx) => noteEndedRuns(tx, schedule));
  expect(await note()).toEqual({ failures: 0, ended: 1 });
  expect(await note()).toEqual({ failures: 0, ended: 0 });
  const { ticks } = await listTicks(store.db, { tenant: owner.tenant, scheduleId: schedule.id, limit: 10 });
  expect(ticks.map(({ runStatus }) => runStatus)).toEqual(['forgotten', null]);
});

test('a ledger is forgotten by age, but for what waits or has a run that is open', async () => {
  const schedule = (await make('old'))!;
  const old = new Date('2026-01-01T00:00:00Z');
  const run = await accepted(store.db, owner, { session: { id: schedule.sessionId } });
  await tick(schedule, 0, skipped, old);
  await tick(schedule, 1, waits, old);
  await tick(schedule, 2, { state: 'started', runId: run.id }, old);
  await tick(schedule, 3, skipped);
  expect(await forgetTicks(store.db, { decidedBefore: new Date('2026-06-01T00:00:00Z'), limit: 100 })).toBe(1);
  const { ticks } = await listTicks(store.db, { tenant: owner.tenant, scheduleId: schedule.id, limit: 10 });
  expect(ticks.map(({ state }) => state)).toEqual(['skipped', 'started', 'queued']);
});

test('who stands behind a run of a schedule is who gave it its form and who asked for it by hand', async () => {
  const schedule = (await make('mine', { ownerKeyId: owner.keyId }))!;
  const run = await accepted(store.db, owner, { session: { id: schedule.sessionId } });
  const asker = randomUUID();
  expect(await isStarter(store.db, run, owner.keyId)).toBe(false);
  const end = { state: 'started', runId: run.id } as const;
  const asked = { slot: NOW, dueAt: NOW, trigger: 'manual', askedBy: asker, end } as const;
  await store.db.transaction((tx) => insertTick(tx, schedule, asked, NOW));
  expect(await isStarter(store.db, run, owner.keyId)).toBe(true);
  expect(await isStarter(store.db, run, asker)).toBe(true);
  expect(await isStarter(store.db, run, randomUUID())).toBe(false);
  const own = await accepted(store.db, owner);
  expect(await isStarter(store.db, own, owner.keyId)).toBe(true);
});
