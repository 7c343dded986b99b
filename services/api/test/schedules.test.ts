/** Schedules over REST: made, read, changed, steered, and what is refused. */
import { listAudit } from '@muster/results';
import { manualClock } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, expectProblem, type Fixture, openFixture, TENANT } from './fixture.ts';
import { finish, interrupt } from './run-stages.ts';

const clock = manualClock('2026-10-24T12:00:00Z');
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture({ now: clock.now });
});
afterAll(() => fixture.close());

let made = 0;
const NIGHTLY = { runbook: 'fleet_check', timing: { cron: '30 2 * * *', time_zone: 'Europe/Berlin' } };

async function make(over: object = {}): Promise<string> {
  const name = `sweep-${made++}`;
  const answer = await fixture.ask('/v1/schedules', { method: 'POST', body: { name, ...NIGHTLY, ...over } });
  expect(answer.text).toContain(name);
  expect(answer.status).toBe(201);
  return name;
}

function act(name: string, action: string, body?: unknown, key?: string): Promise<Answer> {
  const asked = { method: 'POST', body, ...(key !== undefined && { key }) };
  return fixture.ask(`/v1/schedules/${name}/${action}`, asked);
}

async function ticksOf(name: string): Promise<Answer['body'][]> {
  return (await fixture.ask(`/v1/schedules/${name}/ticks`)).body.ticks;
}

describe('a schedule', () => {
  test('is shown with its defaults and the next five instants, over the change of clocks', async () => {
    const name = await make({ input: { limit: 3 } });
    const { body } = await fixture.ask(`/v1/schedules/${name}`, { key: fixture.keys.runner });
    expect(body).toMatchObject({
      name,
      runbook: 'fleet_check',
      version: null,
      input: { limit: 3 },
      described: '30 2 * * * (Europe/Berlin)',
      overlap: 'skip',
      priority: 'sweep',
      jitter_seconds: 0,
      catch_up_seconds: 3600,
      pause_after_failures: null,
      state: 'active',
      failures: 0,
      source: 'api',
      revision: 1,
    });
    expect(body.next.map(({ slot }: { slot: string }) => slot)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
      '2026-10-27T01:30:00.000Z',
      '2026-10-28T01:30:00.000Z',
      '2026-10-29T01:30:00.000Z',
    ]);
    expect(body.next_due_at).toBe(body.next[0].due_at);
    // A key that may only read sees that there is an input, and not what it is.
    const seen = await fixture.ask(`/v1/schedules/${name}`, { key: fixture.keys.reader });
    expect(seen.body.input).toBeUndefined();
    expect(seen.body.input_digest).toBe(body.input_digest);
  });

  test('is listed by name, in pages', async () => {
    for (const name of ['a-1', 'a-2', 'a-3']) {
      await fixture.ask('/v1/schedules', { method: 'POST', body: { name, ...NIGHTLY } });
    }
    const first = await fixture.ask('/v1/schedules?limit=2');
    expect(first.body.schedules.map(({ name }: { name: string }) => name)).toEqual(['a-1', 'a-2']);
    const second = await fixture.ask(`/v1/schedules?limit=1&after=${first.body.next_after}`);
    expect(second.body.schedules[0].name).toBe('a-3');
  });

  test('is changed where something is given; its slots begin anew with another timing alone', async () => {
    const name = await make();
    const change = (body: object) => fixture.ask(`/v1/schedules/${name}`, { method: 'PATCH', body });
    const kept = await change({ overlap: 'queue_one', version: '1.2.0', pause_after_failures: 3 });
    expect(kept.body).toMatchObject({ overlap: 'queue_one', version: '1.2.0', pause_after_failures: 3, revision: 2 });
    expect(kept.body.next_due_at).toBe('2026-10-25T00:30:00.000Z');
    const moved = await change({ timing: { every_seconds: 3600 }, version: null });
    expect(moved.body).toMatchObject({ version: null, described: 'every 1 h', overlap: 'queue_one' });
    expect(moved.body.next_due_at).toBe('2026-10-24T13:00:00.000Z');
    expect((await change({ jitter_seconds: 60 })).body.jitter_seconds).toBe(60);
  });

  test('is deleted with its ledger, and its runs stay', async () => {
    const name = await make();
    const { run_id: runId } = (await act(name, 'trigger')).body;
    expect((await fixture.ask(`/v1/schedules/${name}`, { method: 'DELETE' })).status).toBe(204);
    expectProblem(await fixture.ask(`/v1/schedules/${name}/ticks`), 404, 'schedule_not_found');
    expect((await fixture.ask(`/v1/runs/${runId}`)).status).toBe(200);
    // The name is free again, and a trigger of the new one is no repetition of the old one's.
    const again = await fixture.ask('/v1/schedules', { method: 'POST', body: { name, ...NIGHTLY } });
    expect(again.status).toBe(201);
    expect((await act(name, 'trigger')).body.run_id).not.toBe(runId);
  });

  test('that is paused has nothing to come, and goes on from when it is resumed', async () => {
    const name = await make();
    const paused = await act(name, 'pause', { reason: 'the cluster moves' }, fixture.keys.runner);
    expect(paused.body).toMatchObject({
      state: 'paused',
      next: [],
      paused: { code: 'paused', reason: 'the cluster moves' },
    });
    expect(paused.body.paused.by).toMatch(/^[0-9a-f-]{36}$/);
    expect(paused.body.next_due_at).toBeUndefined();
    const changed = await fixture.ask(`/v1/schedules/${name}`, {
      method: 'PATCH',
      body: { timing: { cron: '0 3 * * *' } },
    });
    expect(changed.body).toMatchObject({ state: 'paused', next: [] });
    const resumed = await act(name, 'resume', undefined, fixture.keys.runner);
    expect(resumed.body).toMatchObject({ state: 'active', next_due_at: '2026-10-25T03:00:00.000Z' });
    expect(resumed.body.paused).toBeUndefined();
    expect((await act(name, 'resume')).body.revision).toBe(resumed.body.revision);
  });
});

describe('a trigger', () => {
  test('starts a run at once, and is a row of the ledger with the key that asked', async () => {
    const name = await make({ runbook: 'anything', input: { a: 1 } });
    await act(name, 'pause');
    const started = await act(name, 'trigger', {}, fixture.keys.runner);
    expect(started.status).toBe(202);
    expect(started.body).toMatchObject({ state: 'started', trigger: 'manual', slots: 1 });
    expect(started.body.asked_by).toMatch(/^[0-9a-f-]{36}$/);
    const run = await fixture.ask(`/v1/runs/${started.body.run_id}`);
    expect(run.body).toMatchObject({ definition_name: 'anything', run_status: 'pending', priority: 'sweep' });
    const listed = await fixture.ask(`/v1/runs?session=schedule:${name}`);
    expect(listed.body.runs.map((listed: { run_id: string }) => listed.run_id)).toEqual([started.body.run_id]);
    const foreign = await fixture.ask(`/v1/runs?session=schedule:${name}`, { key: fixture.keys.other });
    expect(foreign.body.runs).toEqual([]);
    const again = await act(name, 'trigger');
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ state: 'skipped', reason_code: 'still_running' });
    await finish(fixture, started.body.run_id, { kind: 'absence', body: { looked_for: 'x', note: 'x' } });
    expect((await act(name, 'trigger')).status).toBe(202);
    const ticks = await ticksOf(name);
    expect(ticks.map(({ state }) => state)).toEqual(['started', 'skipped', 'started']);
    expect(ticks[2].run_status).toBe('completed');
    // The clock stood still: each has an instant of its own.
    expect(new Set(ticks.map(({ slot }) => slot)).size).toBe(3);
    const page = await fixture.ask(`/v1/schedules/${name}/ticks?limit=2`);
    const rest = await fixture.ask(`/v1/schedules/${name}/ticks?limit=2&after=${page.body.next_after}`);
    expect([...page.body.ticks, ...rest.body.ticks]).toEqual(ticks);
    expectProblem(await fixture.ask(`/v1/schedules/${name}/ticks?after=x`), 400, 'unknown_cursor');
  });

  test('at the instant of a slot leaves the slot its row', async () => {
    const name = await make({ timing: { every_seconds: 60, anchor: '2026-10-24T12:00:00Z' } });
    const { slot } = (await act(name, 'trigger')).body;
    expect(slot).toBe('2026-10-24T12:00:00.001Z');
  });

  test('of many at once starts one run', async () => {
    const name = await make();
    const asked = await Promise.all(Array.from({ length: 8 }, () => act(name, 'trigger')));
    expect(asked.filter(({ body }) => body.state === 'started')).toHaveLength(1);
    expect(asked.filter(({ body }) => body.reason_code === 'still_running')).toHaveLength(7);
  });
});

describe('a run of a schedule that asks', () => {
  test('is not answered by the key that gave the schedule its form, nor by the one that triggered it', async () => {
    const name = await make({ runbook: 'asking' });
    const { run_id: runId } = (await act(name, 'trigger', undefined, fixture.keys.approver)).body;
    await interrupt(fixture, runId);
    const resume = (key: string) =>
      fixture.ask(`/v1/runs/${runId}/resume`, { method: 'POST', body: { resume: { choice: 'left' } }, key });
    expectProblem(await resume(fixture.keys.admin), 403, 'self_approval');
    expectProblem(await resume(fixture.keys.approver), 403, 'self_approval');
    const other = await fixture.ask('/v1/keys', { method: 'POST', body: { name: 'second', role: 'approver' } });
    expect((await resume(other.body.key)).status).toBe(202);
  });
});

test('everything that is done to a schedule is in the audit', async () => {
  const name = await make();
  await act(name, 'pause', { reason: 'why' });
  await act(name, 'resume');
  await act(name, 'trigger');
  await fixture.ask(`/v1/schedules/${name}`, { method: 'PATCH', body: { overlap: 'allow' } });
  await fixture.ask(`/v1/schedules/${name}`, { method: 'DELETE' });
  const { entries } = await listAudit(fixture.db, { tenant: TENANT, limit: 6 });
  expect(entries.map(({ action }) => action)).toEqual([
    'schedule_deleted',
    'schedule_changed',
    'schedule_triggered',
    'schedule_resumed',
    'schedule_paused',
    'schedule_created',
  ]);
  for (const { details, keyId } of entries) {
    expect(details).toMatchObject({ schedule: name });
    expect(keyId).not.toBeNull();
  }
});

describe('refusals', () => {
  const refused = (body: object) => fixture.ask('/v1/schedules', { method: 'POST', body: { name: 'never', ...body } });
  const place = (path: string, expected: string) => ({ errors: [{ path, expected }] });

  test.each<[string, object, number, string, object]>([
    [
      'a runbook that is not there',
      { ...NIGHTLY, runbook: 'fleet_chek' },
      404,
      'unknown_runbook',
      { nearest: expect.arrayContaining(['fleet_check']) },
    ],
    [
      'a version that is not here',
      { ...NIGHTLY, version: '9' },
      404,
      'unknown_runbook_version',
      { available: '1.2.0' },
    ],
    [
      'an input that does not fit',
      { ...NIGHTLY, input: { limit: 99 } },
      422,
      'input_invalid',
      place('input/limit', 'at most 10'),
    ],
    [
      'a zone that is none',
      { ...NIGHTLY, timing: { cron: '0 0 * * *', time_zone: 'America/New_Yrok' } },
      400,
      'invalid_request',
      place('body/timing/time_zone', 'an IANA time zone, such as America/New_York'),
    ],
    [
      'a pattern that is none',
      { ...NIGHTLY, timing: { cron: '0 25 * * *' } },
      400,
      'invalid_request',
      place(
        'body/timing/cron',
        'numbers within their fields: minutes 0-59, hours 0-23, days 1-31, months 1-12, days of the week 0-7',
      ),
    ],
    [
      'an interval that is too short',
      { ...NIGHTLY, timing: { every_seconds: 5 } },
      400,
      'invalid_request',
      place('body/timing/every_seconds', 'at least 60'),
    ],
    ['no timing', { runbook: 'fleet_check' }, 400, 'invalid_request', {}],
    [
      'a field that nobody reads',
      { ...NIGHTLY, jitter: 5 },
      400,
      'invalid_request',
      place('body/jitter', 'no such field'),
    ],
    [
      'a jitter that is longer than an interval',
      { ...NIGHTLY, timing: { every_seconds: 300 }, jitter_seconds: 301 },
      400,
      'invalid_request',
      place('body/jitter_seconds', 'at most 300, the shortest time from one slot to the next'),
    ],
    [
      'another policy',
      { ...NIGHTLY, overlap: 'kill' },
      400,
      'invalid_request',
      place('body/overlap', 'one of skip, queue_one, cancel_previous, allow'),
    ],
    ['a name that is none', { ...NIGHTLY, name: 'A b' }, 400, 'invalid_request', {}],
  ])('%s', async (_what, body, status, code, extras) => {
    const answer = await refused(body);
    expectProblem(answer, status, code);
    expect(answer.body).toMatchObject(extras);
    expectProblem(await fixture.ask('/v1/schedules/never'), 404, 'schedule_not_found');
  });

  test('an input that names an upload', async () => {
    const upload = await fixture.ask('/v1/uploads?name=a', { method: 'POST', raw: 'a' });
    const answer = await refused({ ...NIGHTLY, input: { files: [{ ref: upload.body.ref }] } });
    expectProblem(answer, 422, 'input_invalid');
    expect(answer.body.detail).toBe('the input of a schedule may name no uploads');
  });

  test('a name that is taken', async () => {
    const name = await make();
    expectProblem(await refused({ ...NIGHTLY, name }), 409, 'schedule_exists');
  });

  test('a change that does not fit leaves the schedule as it is', async () => {
    const name = await make();
    const before = await fixture.ask(`/v1/schedules/${name}`);
    for (const body of [{ input: { limit: 99 } }, { runbook: 'nothing' }, { name: 'other' }, { timing: {} }]) {
      const answer = await fixture.ask(`/v1/schedules/${name}`, { method: 'PATCH', body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
    expect((await fixture.ask(`/v1/schedules/${name}`)).body).toEqual(before.body);
  });
});
