import { newArtifactRef } from '@muster/artifacts';
import { setTenantQuota } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture, TENANT } from './fixture.ts';
import { assess, finish } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const start = (body: unknown, headers: Record<string, string> = {}, key = fixture.keys.runner) =>
  fixture.ask('/v1/runs', { method: 'POST', body, headers, key });
const countRuns = async () =>
  (await fixture.db.query<{ n: number }>('select count(*) as n from muster.runs')).rows[0]!.n;

describe('accepting a run', () => {
  test('a run is acknowledged with its place and the safe run, and never with its input', async () => {
    const answer = await start({
      runbook: 'fleet_check',
      version: '1.2.0',
      input: { note: 'not to be shown' },
      now: '2026-11-30T13:00:00.5+01:00',
      priority: 'sweep',
    });
    expect(answer.status).toBe(202);
    expect(answer.headers.location).toBe(`/v1/runs/${answer.body.run_id}`);
    expect(answer.body).toMatchObject({
      definition_name: 'fleet_check',
      definition_version: '1.2.0',
      definition_digest: 'digest-of-fleet_check',
      run_status: 'pending',
      phase: 'plan',
      checkpoint_revision: 1,
      activity_cursor: 1,
      priority: 'sweep',
      now: '2026-11-30T12:00:00.500Z',
    });
    expect(answer.text).not.toContain('not to be shown');
    const read = await fixture.ask(String(answer.headers.location));
    expect(read.body).toEqual(answer.body);
  });

  test('the input is kept canonical and by digest, so that key order makes no difference', async () => {
    await start({ runbook: 'anything', input: { b: 1, a: { d: 1, c: 2 } } });
    await start({ runbook: 'anything', input: { a: { c: 2, d: 1 }, b: 1 } });
    const { rows } = await fixture.db.query<{ body: string }>(
      `select body::text as body from muster.inputs where body::text like '%"d"%'`,
    );
    expect(rows.map((row) => row.body)).toEqual(['{"a":{"c":2,"d":1},"b":1}']);
  });

  test('twenty identical requests at once with one key make one run, and each gets it', async () => {
    const before = await countRuns();
    const body = { runbook: 'fleet_check', input: { note: 'same' } };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => start(body, { 'idempotency-key': 'twenty', 'muster-session': 'fresh' })),
    );
    expect(new Set(answers.map((answer) => answer.body.run_id)).size).toBe(1);
    expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
    const replayed = answers.filter((answer) => answer.status === 200);
    expect(replayed).toHaveLength(19);
    expect(replayed.every((answer) => answer.headers['idempotency-replayed'] === 'true')).toBe(true);
    expect((await countRuns()) - before).toBe(1);
  });

  test('the same key with another body is a conflict that names the first run', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await start({ runbook: 'fleet_check', input: {} }, headers);
    const second = await start({ runbook: 'fleet_check', input: { note: 'other' } }, headers);
    expectProblem(second, 409, 'idempotency_conflict');
    expect(second.body.run_id).toBe(first.body.run_id);
  });

  test('an idempotency key holds for its session alone', async () => {
    const headers = { 'idempotency-key': 'shared' };
    const one = await start({ runbook: 'fleet_check', input: {} }, headers);
    const other = await start({ runbook: 'fleet_check', input: {} }, { ...headers, 'muster-session': 'second' });
    expect(other.status).toBe(202);
    expect(other.body.run_id).not.toBe(one.body.run_id);
    expect(other.body.session_id).not.toBe(one.body.session_id);
  });

  test('a replay shows the run as it is now', async () => {
    const headers = { 'idempotency-key': 'later' };
    const { body } = await start({ runbook: 'fleet_check', input: {} }, headers);
    await assess(fixture, body.run_id);
    await finish(fixture, body.run_id);
    const replayed = await start({ runbook: 'fleet_check', input: {} }, headers);
    expect(replayed.status).toBe(200);
    expect(replayed.body).toMatchObject({ run_id: body.run_id, run_status: 'completed', answer_kind: 'envelope' });
  });

  test('a parent run must be in the same session', async () => {
    const parent = await start({ runbook: 'fleet_check', input: {} });
    const child = await start({ runbook: 'fleet_check', input: {}, parent_run_id: parent.body.run_id });
    expect(child.body.parent_run_id).toBe(parent.body.run_id);
    const stray = await start(
      { runbook: 'fleet_check', input: {}, parent_run_id: parent.body.run_id },
      { 'muster-session': 'elsewhere' },
    );
    expectProblem(stray, 422, 'unknown_parent_run');
  });
});

describe('refusing a run', () => {
  const base = { runbook: 'fleet_check', input: {} };
  test.each<[string, unknown, number, string, Record<string, string>?]>([
    ['an unknown runbook', { ...base, runbook: 'fleet_chek' }, 404, 'unknown_runbook'],
    ['an unknown version', { ...base, version: '9' }, 404, 'unknown_runbook_version'],
    ['no input', { runbook: 'fleet_check' }, 400, 'invalid_request'],
    ['an input that is a list', { ...base, input: [] }, 400, 'invalid_request'],
    ['an unknown field', { ...base, colour: 'red' }, 400, 'invalid_request'],
    ['an unknown field of the input', { ...base, input: { colour: 'red' } }, 422, 'input_invalid'],
    ['a wrong type in the input', { ...base, input: { limit: '3' } }, 422, 'input_invalid'],
    ['a number beyond the range', { ...base, input: { limit: 11 } }, 422, 'input_invalid'],
    ['an instant without a zone', { ...base, now: '2026-11-30T12:00:00' }, 400, 'invalid_request'],
    ['a day that does not exist', { ...base, now: '2026-02-30T12:00:00Z' }, 400, 'invalid_request'],
    ['an instant before 1970', { ...base, now: '1969-12-31T23:59:59Z' }, 400, 'invalid_request'],
    ['an unknown priority', { ...base, priority: 'now' }, 400, 'invalid_request'],
    ['a parent that is no id', { ...base, parent_run_id: 'x' }, 400, 'invalid_request'],
    ['a zero parent', { ...base, parent_run_id: '00000000-0000-0000-0000-000000000000' }, 400, 'invalid_request'],
    ['an idempotency key with a space', base, 400, 'invalid_request', { 'idempotency-key': 'a b' }],
    ['an idempotency key of 201', base, 400, 'invalid_request', { 'idempotency-key': 'k'.repeat(201) }],
    ['a session with a slash', base, 400, 'invalid_request', { 'muster-session': 'a/b' }],
    ['an upload that is not there', { ...base, input: { note: newArtifactRef() } }, 422, 'unknown_artifact'],
    ['a text with NUL for a runbook', { ...base, runbook: 'a\u0000b' }, 400, 'invalid_request'],
  ])('%s is refused and nothing is written', async (_what, body, status, code, headers) => {
    const before = await countRuns();
    expectProblem(await start(body, headers), status, code);
    expect(await countRuns()).toBe(before);
  });

  test("a tenant's quota refuses by its name and limit, and nothing is written", async () => {
    const none = { maxOpenRuns: null, maxSubjectsPerRun: null, maxInFlightChunks: null };
    const tenant = TENANT;
    await setTenantQuota(fixture.db, { tenant, ...none, maxOpenRuns: 1 });
    try {
      const before = await countRuns();
      const answer = await start({ runbook: 'anything', input: {} });
      expectProblem(answer, 429, 'quota_exceeded');
      expect(answer.body).toMatchObject({ limit: 1 });
      expect(await countRuns()).toBe(before);
    } finally {
      await setTenantQuota(fixture.db, { tenant, ...none });
    }
  });

  test('names that are spelled alike are offered', async () => {
    const answer = await start({ runbook: 'fleet_chek', input: {} });
    expect(answer.body.nearest[0]).toBe('fleet_check');
    expect(answer.body.detail).toBe("there is no runbook 'fleet_chek'; did you mean 'fleet_check'?");
  });

  test('faults are named by place and expectation, without what was sent', async () => {
    const answer = await start({ runbook: 'fleet_check', input: { note: 5, limit: 'SECRET', wrong: 'SECRET' } });
    expect(answer.body.errors).toEqual([
      { path: 'input/note', expected: 'a value of type string' },
      { path: 'input/limit', expected: 'a value of type number' },
      { path: 'input/wrong', expected: 'no such field' },
    ]);
    expect(answer.text).not.toContain('SECRET');
  });

  test('an input document is bounded in bytes, depth and properties', async () => {
    let deep: Record<string, unknown> = {};
    for (let level = 1; level < 33; level += 1) deep = { deep };
    const wide = Object.fromEntries(Array.from({ length: 4097 }, (_, index) => [`k${index}`, 1]));
    for (const [bound, input] of [
      ['depth', deep],
      ['properties', wide],
      ['bytes', { text: 'x'.repeat(256 * 1024) }],
    ] as const) {
      const answer = await start({ runbook: 'anything', input });
      expectProblem(answer, 422, 'input_out_of_bounds');
      expect(answer.body.bound).toBe(bound);
    }
    const { deep: allowed } = deep;
    expect((await start({ runbook: 'anything', input: allowed })).status).toBe(202);
  });
});
