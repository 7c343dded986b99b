import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture, TENANT } from './fixture.ts';
import { assess, finish, rowOf } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

/** A fleet that is over: host-0 and host-5 ok, host-1 a problem, then one declined, not checked, not coverable. */
async function overRun(input: object = {}, headers: Record<string, string> = {}): Promise<string> {
  const body = { runbook: 'fleet_check', input };
  const { body: run } = await fixture.ask('/v1/runs', { method: 'POST', body, headers });
  await assess(fixture, run.run_id);
  await finish(fixture, run.run_id);
  return run.run_id;
}

const rerun = (runId: string, body: unknown, headers: Record<string, string> = {}, key = fixture.keys.runner) =>
  fixture.ask(`/v1/runs/${runId}/rerun`, { method: 'POST', body, headers, key });

const countRuns = async () =>
  (await fixture.db.query<{ n: number }>('select count(*) as n from muster.runs')).rows[0]!.n;

describe('a rerun', () => {
  test('is a run of its own that names its source, over the same input and what was chosen', async () => {
    const source = await overRun({ note: 'the same' });
    const answer = await rerun(source, { only: ['not_checked', 'problem', 'problem'], priority: 'sweep' });
    expect(answer.status).toBe(202);
    expect(answer.headers.location).toBe(`/v1/runs/${answer.body.run_id}`);
    expect(answer.body).toMatchObject({
      rerun_of: source,
      run_status: 'pending',
      priority: 'sweep',
      definition_changed: false,
      source_definition_version: '1.2.0',
    });
    const [before, after] = [await rowOf(fixture, source), await rowOf(fixture, answer.body.run_id)];
    expect(after).toMatchObject({ inputDigest: before.inputDigest, sessionId: before.sessionId, rerunOf: source });
    expect(after.rerunSelection).toEqual({ only: ['problem', 'not_checked'] });
    expect((await fixture.ask(`/v1/runs/${answer.body.run_id}`)).body.rerun_of).toBe(source);
  });

  test('takes subjects by their keys, each once', async () => {
    const { body } = await rerun(await overRun(), { subjects: ['host-4', 'host-1', 'host-4'] });
    expect((await rowOf(fixture, body.run_id)).rerunSelection).toEqual({ subjects: ['host-4', 'host-1'] });
  });

  test('may be a dry run', async () => {
    const { body } = await rerun(await overRun(), { only: ['ok'], dry_run: true });
    expect(body).toMatchObject({ dry_run: true });
  });

  test('stands in the session of its source, whoever asks for it', async () => {
    const source = await overRun({}, { 'muster-session': 'night' });
    const { body } = await rerun(source, { only: ['ok'] });
    expect(body.session_id).toBe((await rowOf(fixture, source)).sessionId);
  });

  test('with an idempotency key is one run, and another request with that key a conflict', async () => {
    const source = await overRun();
    const headers = { 'idempotency-key': 'again' };
    const first = await rerun(source, { only: ['problem'] }, headers);
    const second = await rerun(source, { only: ['problem'] }, headers);
    expect(second.status).toBe(200);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body.run_id).toBe(first.body.run_id);
    expectProblem(await rerun(source, { only: ['ok'] }, headers), 409, 'idempotency_conflict');
    expectProblem(await rerun(await overRun(), { only: ['problem'] }, headers), 409, 'idempotency_conflict');
  });

  test('says when the runbook is another one now', async () => {
    const source = await overRun();
    await fixture.db.query(`insert into muster.definitions select 'older', name, '1.1.0', declaration, created_at
      from muster.definitions where digest = 'digest-of-fleet_check'`);
    await fixture.db.query('alter table muster.runs disable trigger guard_run');
    await fixture.db.query(
      `update muster.runs set definition_digest = 'older', runbook_version = '1.1.0' where id = $1`,
      [source],
    );
    await fixture.db.query('alter table muster.runs enable trigger guard_run');
    expect((await rerun(source, { only: ['ok'] })).body).toMatchObject({
      definition_changed: true,
      source_definition_version: '1.1.0',
      definition_version: '1.2.0',
      source_definition_digest: 'older',
    });
  });

  test('reads a kept upload again', async () => {
    const upload = await fixture.ask('/v1/uploads?name=a&keep=true', { method: 'POST', raw: 'a' });
    const source = await overRun({ files: [{ ref: upload.body.ref }] });
    expect((await rerun(source, { only: ['ok'] })).status).toBe(202);
  });
});

describe('is refused and writes nothing', () => {
  test.each<[string, unknown]>([
    ['nothing chosen', {}],
    ['both ways of choosing', { only: ['ok'], subjects: ['host-1'] }],
    ['no word', { only: [] }],
    ['an unknown word', { only: ['problems'] }],
    ['no key', { subjects: [] }],
    ['an empty key', { subjects: [''] }],
    ['a key with NUL', { subjects: ['a\u0000'] }],
    ['too many keys', { subjects: Array.from({ length: 1001 }, (_, index) => `host-${index}`) }],
    ['an unknown field', { only: ['ok'], input: {} }],
    ['an instant without a zone', { only: ['ok'], now: '2026-11-30T12:00:00' }],
  ])('%s', async (_what, body) => {
    const source = await overRun();
    const before = await countRuns();
    expectProblem(await rerun(source, body), 400, 'invalid_request');
    expect(await countRuns()).toBe(before);
  });

  test('a subject that the run does not have, by name', async () => {
    const answer = await rerun(await overRun(), { subjects: ['host-1', 'host-77'] });
    expectProblem(answer, 422, 'unknown_subject');
    expect(answer.body).toMatchObject({ detail: "the run has no subject 'host-77'", subjects: ['host-77'] });
  });

  test('words in which no subject ended', async () => {
    const empty = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'fleet_check', input: {} } });
    await fixture.ask(`/v1/runs/${empty.body.run_id}/cancel`, { method: 'POST', body: {} });
    await finish(fixture, empty.body.run_id);
    expectProblem(await rerun(empty.body.run_id, { only: ['problem', 'not_checked'] }), 422, 'nothing_to_rerun');
  });

  test('a run that is not over', async () => {
    const { body } = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'fleet_check', input: {} } });
    expectProblem(await rerun(body.run_id, { only: ['ok'] }), 409, 'run_not_final');
  });

  test('a bounded run: it is started again as a whole', async () => {
    const { body } = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
    await finish(fixture, body.run_id);
    expectProblem(await rerun(body.run_id, { only: ['ok'] }), 422, 'not_a_fleet');
  });

  test('a run whose uploads went with it', async () => {
    const upload = await fixture.ask('/v1/uploads?name=a', { method: 'POST', raw: 'a' });
    const source = await overRun({ files: [{ ref: upload.body.ref }] });
    const before = await countRuns();
    const answer = await rerun(source, { only: ['ok'] });
    expectProblem(answer, 410, 'input_gone');
    expect(answer.body.refs).toEqual([upload.body.ref]);
    expect(await countRuns()).toBe(before);
  });

  test('a run of another tenant, like one that does not exist', async () => {
    const source = await overRun();
    expectProblem(await rerun(source, { only: ['ok'] }, {}, fixture.keys.other), 404, 'run_not_found');
    expectProblem(await rerun(source.replace(/^.{8}/, '00000001'), { only: ['ok'] }), 404, 'run_not_found');
  });

  test('by a key that may only read', async () => {
    expectProblem(await rerun(await overRun(), { only: ['ok'] }, {}, fixture.keys.reader), 403, 'forbidden');
  });
});

describe('how a run is started', () => {
  const start = (body: object) => fixture.ask('/v1/runs', { method: 'POST', body: { input: {}, ...body } });

  test('a dry run and a canary are kept with the run', async () => {
    const { body } = await start({ runbook: 'fleet_check', dry_run: true, canary_percent: 2.5 });
    expect(body.dry_run).toBe(true);
    expect(await rowOf(fixture, body.run_id, TENANT)).toMatchObject({ dryRun: true, canaryPercent: 2.5 });
    const plain = await start({ runbook: 'fleet_check', dry_run: false });
    expect(plain.body).not.toHaveProperty('dry_run');
  });

  test('a scope is kept with the run, also of one over uploads', async () => {
    const { body } = await start({ runbook: 'fleet_check', scope: 'nightly' });
    expect((await rowOf(fixture, body.run_id, TENANT)).scopeKey).toBe('nightly');
    const upload = await fixture.ask('/v1/uploads?name=a', { method: 'POST', raw: 'a' });
    const over = { runbook: 'fleet_check', input: { files: [{ ref: upload.body.ref }] } };
    const bare = await start(over);
    expect((await rowOf(fixture, bare.body.run_id, TENANT)).scopeKey).toBeNull();
    const named = await start({ ...over, scope: 'nightly' });
    expect((await rowOf(fixture, named.body.run_id, TENANT)).scopeKey).toBe('nightly');
  });

  test.each(['', 'a\nb', 'x'.repeat(201), 5])('a scope of %j is refused', async (scope) => {
    expectProblem(await start({ runbook: 'fleet_check', scope }), 400, 'invalid_request');
  });

  test.each([{ dry_run: true }, { canary_percent: 5 }, { scope: 'nightly' }])(
    'a bounded run takes no %j',
    async (option) => {
      expectProblem(await start({ runbook: 'anything', ...option }), 422, 'not_a_fleet');
      expect((await start({ runbook: 'anything', dry_run: false })).status).toBe(202);
    },
  );

  test.each([0, -1, 100.1, '5%', null])('a canary of %j is refused', async (percent) => {
    expectProblem(await start({ runbook: 'fleet_check', canary_percent: percent }), 400, 'invalid_request');
  });
});
