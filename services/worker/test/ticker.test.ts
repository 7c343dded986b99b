/** Schedules are carried out: one row in the ledger for each slot that was due, and never two runs for one. */
import { claimRun, interruptRun, listAudit, requestCancel, setTenantQuota } from '@muster/results';
import { describe, expect, test } from 'vitest';
import { openScheduleBench } from './schedule-bench.ts';
import { TENANT } from './worker-bench.ts';

const NOON = '2026-11-30T12:00:00Z';

describe('a slot that is due', () => {
  test('becomes one run in the session of its schedule, comparable with its other runs, and one row', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule();
    expect(await bench.tick()).toMatchObject({ started: 0 });
    bench.clock.set('2026-11-30T12:15:00Z');
    expect(await bench.tick()).toMatchObject({ started: 1 });
    expect(await bench.tick()).toMatchObject({ started: 0 });
    const [tick] = await bench.ledger(schedule);
    expect(tick).toMatchObject({ slot: bench.clock.now(), state: 'started', trigger: 'schedule', reasonCode: null });
    const { rows } = await bench.db.query(
      `select runs.id, scope_key, sessions.name as session, owner_key_id, priority, now, body as input from muster.runs
        join muster.sessions on sessions.id = runs.session_id
        join muster.inputs on inputs.tenant = runs.tenant and inputs.digest = runs.input_digest`,
    );
    const run = { id: tick!.runId, scope_key: 'schedule:sweep', session: 'schedule:sweep', owner_key_id: null };
    expect(rows).toEqual([{ ...run, priority: 2, now: bench.clock.now(), input: { depth: 3 } }]);
    expect((await bench.read(schedule)).nextSlot).toEqual(new Date('2026-11-30T12:30:00Z'));
  });

  test('is due with its jitter, and stands in the ledger at its own instant', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ jitterMs: 600_000 });
    const due = schedule.nextDueAt!;
    expect(due > new Date('2026-11-30T12:15:00Z')).toBe(true);
    bench.clock.set(new Date(due.getTime() - 1));
    expect(await bench.tick()).toMatchObject({ started: 0 });
    bench.clock.set(due);
    expect(await bench.tick()).toMatchObject({ started: 1 });
    expect(await bench.ledger(schedule)).toMatchObject([{ slot: new Date('2026-11-30T12:15:00Z'), dueAt: due }]);
  });

  test('of one tenant is nothing to a schedule of the same name of another', async () => {
    const bench = await openScheduleBench(NOON);
    const ours = await bench.schedule();
    const theirs = await bench.schedule({ tenant: 'umbrella' });
    bench.clock.set('2026-11-30T12:15:00Z');
    await bench.tick();
    const runs = await bench.db.query('select tenant, session_id from muster.runs order by tenant');
    expect(runs.rows).toEqual([
      { tenant: TENANT, session_id: ours.sessionId },
      { tenant: 'umbrella', session_id: theirs.sessionId },
    ]);
    expect(ours.sessionId).not.toBe(theirs.sessionId);
    expect(await bench.told(ours)).toEqual(['12:15 started']);
  });
});

describe('eight instances at once', () => {
  test('write one row a slot, and start one run for each slot that is told as started', async () => {
    const bench = await openScheduleBench(NOON);
    const overlaps = ['skip', 'queue_one', 'cancel_previous', 'allow'] as const;
    for (let nth = 0; nth < 12; nth++) {
      await bench.schedule({ name: `sweep-${nth}`, overlap: overlaps[nth % 4]!, catchUpMs: 1_800_000 });
    }
    const tickers = Array.from({ length: 8 }, () => bench.openTicker());
    for (const at of ['12:15', '12:30', '13:30', '13:45']) {
      bench.clock.set(`2026-11-30T${at}:10Z`);
      await Promise.all(tickers.map((tick) => tick()));
    }
    const { rows: ticks } = await bench.db.query<{ rows: number; slots: number; started: number; runs: number }>(
      `select count(*) as rows, count(distinct (schedule_id, slot)) as slots,
          count(*) filter (where state = 'started') as started, count(distinct run_id) as runs from muster.ticks`,
    );
    const { rows: runs } = await bench.db.query<{ count: number }>('select count(*) from muster.runs');
    // Seven quarters of an hour of twelve schedules.
    expect(ticks[0]).toMatchObject({ rows: 84, slots: 84 });
    expect(ticks[0]!.runs).toBe(ticks[0]!.started);
    expect(runs[0]!.count).toBe(ticks[0]!.started);
    // Nothing ended: one run of each schedule, and where it is allowed one for each slot that half an hour catches up.
    expect(ticks[0]!.started).toBe(9 + 3 * 5);
  });

  test('end what waits once', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ overlap: 'queue_one' });
    bench.clock.set('2026-11-30T12:15:00Z');
    await bench.tick();
    bench.clock.set('2026-11-30T12:30:00Z');
    await bench.tick();
    await bench.end((await bench.ledger(schedule))[0]!.runId);
    await Promise.all(Array.from({ length: 8 }, () => bench.openTicker()()));
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 started']);
    expect((await bench.db.query('select from muster.runs')).rowCount).toBe(2);
  });
});

describe('an hour without any worker', () => {
  const LATER = ['12:30 missed later_is_due', '12:45 missed later_is_due', '13:00 missed later_is_due'];
  test.each([
    ['skip', ['12:15 missed too_late', ...LATER, '13:15 started']],
    ['queue_one', ['12:15 missed too_late', ...LATER, '13:15 started']],
    ['cancel_previous', ['12:15 missed too_late', ...LATER, '13:15 started']],
    ['allow', ['12:15 missed too_late', '12:30 started', '12:45 started', '13:00 started', '13:15 started']],
  ] as const)('%s', async (overlap, expected) => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ overlap });
    bench.clock.set('2026-11-30T13:15:20Z');
    await bench.tick();
    expect(await bench.told(schedule)).toEqual(expected);
    expect((await bench.read(schedule)).nextSlot).toEqual(new Date('2026-11-30T13:30:00Z'));
  });

  test.each([
    ['skip', '13:15 skipped still_running'],
    ['queue_one', '13:15 queued waits'],
    ['cancel_previous', '13:15 queued waits'],
    ['allow', '13:15 started'],
  ] as const)('%s, beside a run that is not over', async (overlap, expected) => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ overlap });
    bench.clock.set('2026-11-30T12:15:00Z');
    await bench.tick();
    bench.clock.set('2026-11-30T13:15:20Z');
    await bench.tick();
    expect((await bench.told(schedule)).at(-1)).toBe(expected);
  });
});

test('three days away from a schedule of each minute are few rows, and no slot is lost', async () => {
  const bench = await openScheduleBench(NOON);
  const schedule = await bench.schedule({ timing: { cron: '* * * * *', time_zone: 'Europe/Berlin' } });
  bench.clock.set('2026-12-03T12:00:30Z');
  await bench.tick();
  const ledger = await bench.ledger(schedule);
  expect(ledger.reduce((sum, { slots }) => sum + slots, 0)).toBe(3 * 1440);
  expect(ledger.length).toBeLessThanOrEqual(1001);
  expect(ledger[0]).toMatchObject({ state: 'missed', reasonCode: 'too_late', slots: 4000 });
  expect(ledger[0]!.reason).toMatch(/^4000 slots until 2026-12-03T06:40:00.000Z; the first: found \d+ s late/);
  expect(ledger.at(-1)).toMatchObject({ state: 'started', slot: new Date('2026-12-03T12:00:00Z') });
});

describe('a run that is not over', () => {
  test('counts while it waits for a person', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule();
    bench.clock.set('2026-11-30T12:15:00Z');
    await bench.tick();
    const runId = (await bench.ledger(schedule))[0]!.runId!;
    const { fence } = (await claimRun(bench.db, { runId, phase: 'procedure', dispatchNo: 1 }))!;
    const policy = { role: 'approver', self: false, withinMs: 86_400_000 } as const;
    const asked = { question: 'On?', resumeSchema: {}, policy, checkpoint: Buffer.from('x') };
    expect(await interruptRun(bench.db, { runId, fence, ...asked })).toBe('interrupted');
    bench.clock.set('2026-11-30T12:30:00Z');
    await bench.tick();
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 skipped still_running']);
  });

  test('lets one slot wait under queue_one, and its end starts that slot', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ overlap: 'queue_one' });
    for (const at of ['12:15', '12:30', '12:45']) {
      bench.clock.set(`2026-11-30T${at}:00Z`);
      await bench.tick();
    }
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 queued waits', '12:45 skipped one_waits']);
    bench.clock.set('2026-11-30T12:50:00Z');
    await bench.end((await bench.ledger(schedule))[0]!.runId);
    expect(await bench.tick()).toMatchObject({ started: 1 });
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 started', '12:45 skipped one_waits']);
    expect((await bench.ledger(schedule))[0]).toMatchObject({ runStatus: 'completed' });
  });

  test('is asked to end under cancel_previous, and the latest slot takes the place of those that wait', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ overlap: 'cancel_previous' });
    for (const at of ['12:15', '12:30', '12:45']) {
      bench.clock.set(`2026-11-30T${at}:00Z`);
      await bench.tick();
    }
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 skipped replaced', '12:45 queued waits']);
    const runId = (await bench.ledger(schedule))[0]!.runId;
    const { rows } = await bench.db.query('select stop_reason, cancel_reason from muster.runs');
    expect(rows).toEqual([{ stop_reason: 'cancelled', cancel_reason: 'the next slot of the schedule sweep is due' }]);
    await bench.end(runId, 'cancelled');
    await bench.tick();
    expect((await bench.ledger(schedule)).map(({ state, runStatus }) => [state, runStatus])).toEqual([
      ['started', 'cancelled'],
      ['skipped', null],
      ['started', null],
    ]);
  });
});

describe('failures in a row', () => {
  test('pause a schedule with the reason; a success begins the count again, a cancel leaves it', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ pauseAfterFailures: 2 });
    const ends = ['failed', 'completed', 'failed', 'cancelled', 'failed'] as const;
    for (const [nth, status] of ends.entries()) {
      bench.clock.set(new Date(Date.parse(NOON) + (nth + 1) * 900_000));
      await bench.tick();
      const { runId } = (await bench.ledger(schedule)).at(-1)!;
      if (status === 'cancelled') await requestCancel(bench.db, { tenant: TENANT, runId: runId! });
      expect((await bench.read(schedule)).state).toBe('active');
      await bench.end(runId, status);
    }
    await bench.tick();
    expect(await bench.read(schedule)).toMatchObject({
      state: 'paused',
      pausedCode: 'failures',
      pausedReason: '2 runs failed in a row',
      pausedBy: null,
      nextSlot: null,
    });
    const { entries } = await listAudit(bench.db, { tenant: TENANT, limit: 1 });
    expect(entries[0]).toMatchObject({ action: 'schedule_paused', keyId: null, details: { schedule: 'sweep' } });
    bench.clock.set('2026-11-30T15:00:00Z');
    expect(await bench.tick()).toMatchObject({ started: 0, missed: 0 });
    await bench.resume(schedule);
    bench.clock.set('2026-11-30T15:15:00Z');
    expect(await bench.tick()).toMatchObject({ started: 1, missed: 0 });
    expect(await bench.read(schedule)).toMatchObject({ state: 'active', failures: 0 });
  });
});

describe('what cannot be started is refused, with the reason', () => {
  test('a version that is not offered', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule({ runbookVersion: '0.9.0' });
    bench.clock.set('2026-11-30T12:15:29Z');
    expect(await bench.tick()).toMatchObject({ refused: 0 });
    bench.clock.set('2026-11-30T12:15:30Z');
    expect(await bench.tick()).toMatchObject({ refused: 1 });
    expect((await bench.ledger(schedule))[0]).toMatchObject({
      reasonCode: 'version_not_offered',
      reason: 'nightly is offered in version 1.0.0, and the schedule stays with 0.9.0',
    });
  });

  test('a runbook that is not offered; but a worker that has it is waited for first', async () => {
    const bench = await openScheduleBench(NOON);
    const schedule = await bench.schedule();
    const without = bench.openTicker([]);
    bench.clock.set('2026-11-30T12:15:00Z');
    expect(await without()).toMatchObject({ refused: 0 });
    expect(await bench.tick()).toMatchObject({ started: 1 });
    bench.clock.set('2026-11-30T12:30:40Z');
    await bench.end((await bench.ledger(schedule))[0]!.runId);
    expect(await without()).toMatchObject({ refused: 1 });
    expect((await bench.ledger(schedule))[1]).toMatchObject({ reasonCode: 'runbook_not_offered' });
  });

  test('an input that fits no longer, without a word of it', async () => {
    const bench = await openScheduleBench(NOON);
    const input = { canonical: '{"width":"hunter2"}', digest: 'a digest' };
    const schedule = await bench.schedule({ input });
    bench.clock.set('2026-11-30T12:15:00Z');
    await bench.tick();
    const [tick] = await bench.ledger(schedule);
    expect(tick).toMatchObject({ reasonCode: 'input_invalid', reason: 'input/width: expected no such field' });
    expect(JSON.stringify(tick)).not.toContain('hunter2');
  });

  test('a tenant without a run left', async () => {
    const bench = await openScheduleBench(NOON);
    const quota = { maxOpenRuns: 1, maxSubjectsPerRun: null, maxInFlightChunks: null };
    await setTenantQuota(bench.db, { tenant: TENANT, ...quota });
    const schedule = await bench.schedule({ overlap: 'allow' });
    bench.clock.set('2026-11-30T12:30:00Z');
    await bench.tick();
    expect(await bench.told(schedule)).toEqual(['12:15 started', '12:30 refused quota_exceeded']);
    expect((await bench.ledger(schedule))[1]!.reason).toBe("the tenant's quota max_open_runs of 1 is used up");
  });
});

describe('while clocks change', () => {
  test.each([
    // Left out: due at the first instant after the gap.
    ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']],
    [
      'America/New_York',
      '30 2 * * *',
      '2026-03-07T12:00:00Z',
      ['2026-03-08T07:00:00.000Z', '2026-03-09T06:30:00.000Z'],
    ],
    // Twice: due the first time.
    ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']],
    [
      'Australia/Lord_Howe',
      '45 1 * * *',
      '2026-04-04T00:00:00Z',
      ['2026-04-04T14:45:00.000Z', '2026-04-05T15:15:00.000Z'],
    ],
  ])('a slot of the day in %s (%s from %s) is carried out once', async (zone, cron, from, expected) => {
    const bench = await openScheduleBench(from);
    const schedule = await bench.schedule({ timing: { cron, time_zone: zone }, overlap: 'allow' });
    for (let minutes = 0; minutes < 46 * 60; minutes += 15) {
      bench.clock.advance(900_000);
      await bench.tick();
    }
    const ledger = await bench.ledger(schedule);
    expect(ledger.map(({ slot, state }) => [slot.toISOString(), state])).toEqual(
      expected.map((slot) => [slot, 'started']),
    );
  });
});

test('one schedule that cannot be carried out holds up no other', async () => {
  const bench = await openScheduleBench(NOON);
  const broken = await bench.schedule({ name: 'broken' });
  const sound = await bench.schedule({ name: 'sound', at: '2026-11-30T12:00:01Z' });
  await bench.db.query(`update muster.schedules set timing = '{"cron":"never"}' where id = $1`, [broken.id]);
  bench.clock.set('2026-11-30T12:15:00Z');
  await expect(bench.tick()).rejects.toThrow();
  expect(await bench.told(sound)).toEqual(['12:15 started']);
});

test('a ledger never says otherwise later, and has one row for a slot whoever errs', async () => {
  const bench = await openScheduleBench(NOON);
  const schedule = await bench.schedule();
  bench.clock.set('2026-11-30T12:15:00Z');
  await bench.tick();
  const refused = async (sql: string) =>
    await bench.db.query(sql, [schedule.id]).then(
      () => 'done',
      (error) => error.constraint ?? error.sqlState,
    );
  const set = 'update muster.ticks set';
  expect(
    await refused(`${set} state = 'skipped', run_id = null, reason_code = 'x', reason = 'x' where schedule_id = $1`),
  ).toBe('MU018');
  expect(await refused(`${set} slot = slot + interval '1 s' where schedule_id = $1`)).toBe('MU019');
  const copy = `insert into muster.ticks (tenant, schedule_id, slot, trigger, state, reason_code, reason, due_at, decided_at)
    select tenant, schedule_id, slot, 'manual', 'missed', 'x', 'x', due_at, decided_at from muster.ticks where schedule_id = $1`;
  expect(await refused(copy)).toBe('ticks_schedule_id_slot_key');
});
