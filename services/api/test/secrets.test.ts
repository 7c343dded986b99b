import { canarySecret, findCanary, findCanaryInFolder } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Fixture, openFixture } from './fixture.ts';
import { finish } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

test('a secret in an input, an upload, a header, a query or a path is in no log, answer or error', async () => {
  const canary = canarySecret();
  const answers: Answer[] = [];
  const ask = async (...args: Parameters<Fixture['ask']>) => {
    const answer = await fixture.ask(...args);
    answers.push(answer);
    return answer;
  };
  const quoted = encodeURIComponent(canary);
  const run = await ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: { password: canary } } });
  const wrong: unknown[] = [
    { runbook: 'fleet_check', input: { note: 1, limit: canary } },
    { runbook: 'fleet_check', input: { note: canary.repeat(10) } },
    { runbook: 'fleet_check', input: {}, now: canary },
    { runbook: 'fleet_check', input: {}, priority: canary },
    { runbook: 'fleet_check', input: {}, parent_run_id: canary },
  ];
  for (const body of wrong) await ask('/v1/runs', { method: 'POST', body });
  for (const raw of [`{"a": "${canary}`, `"${canary}"`, canary]) {
    await ask('/v1/runs', { method: 'POST', raw, headers: { 'content-type': 'application/json' } });
  }
  await ask('/v1/runs', { headers: { authorization: `Bearer ${canary}` }, key: undefined });
  await ask('/v1/runs', { headers: { 'muster-session': canary, 'idempotency-key': canary } });
  await ask(`/v1/runs?status=${quoted}`);
  await ask(`/v1/runs/${quoted}`);
  await ask(`/v1/artifacts/${quoted}`);
  await ask(`/v1/${quoted}`);
  await ask('/v1/uploads?name=secret', { method: 'POST', raw: canary });
  await ask(`/v1/runs/${run.body.run_id}/cancel`, { method: 'POST', body: { reason: 'no', x: canary } });
  await finish(fixture, run.body.run_id);
  for (const path of ['', '/history', '/rows', '/envelope']) await ask(`/v1/runs/${run.body.run_id}${path}`);
  expect(findCanary(canary, fixture.logs)).toEqual([]);
  expect(
    findCanary(
      canary,
      answers.map(({ text, headers }) => [text, headers]),
    ),
  ).toEqual([]);
});

test('API keys are in no log and not in the database', async () => {
  const made = await fixture.ask('/v1/keys', { method: 'POST', body: { name: 'secret', role: 'reader' } });
  await fixture.ask('/v1/runs', { key: made.body.key });
  const { rows } = await fixture.db.query('select *, encode(key_hash, $1) as hash from muster.api_keys', ['escape']);
  for (const key of [made.body.key, ...Object.values(fixture.keys)]) {
    expect(fixture.logs.filter((text) => text.includes(key))).toEqual([]);
    expect(JSON.stringify(rows)).not.toContain(key);
  }
});

test('an upload lies in the store alone, and the log names requests by pattern, tenant and key id', async () => {
  const canary = canarySecret();
  const upload = await fixture.ask('/v1/uploads?name=one', { method: 'POST', raw: canary });
  expect(upload.status).toBe(201);
  expect(await findCanaryInFolder(canary, fixture.folder)).toHaveLength(1);
  const run = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
  await fixture.ask(`/v1/runs/${run.body.run_id}/rows?verdict=private`);
  const lines = fixture.logs.map((text) => JSON.parse(text)).filter((line) => line.msg === 'request');
  expect(lines.at(-1)).toMatchObject({
    method: 'GET',
    route: '/v1/runs/:run_id/rows',
    status: 200,
    tenant: 'acme',
    key_id: expect.any(String),
    run_id: run.body.run_id,
    request_id: expect.any(String),
  });
  expect(fixture.logs.join('')).not.toContain('private');
});
