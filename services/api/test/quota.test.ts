import { defineRunbook } from '@muster/envelope';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture, TENANT } from './fixture.ts';
import { rowOf } from './run-stages.ts';
import { fleetCheck, testCatalog } from './test-runbooks.ts';

const { form: _form, charts: _charts, ...declaration } = fleetCheck;
const limits = { ...fleetCheck.limits, canary: '12.5%', errorBudget: '5%' };
const withCanary = defineRunbook({ ...declaration, limits } as never);
const definition = { runbook: withCanary, digest: 'digest-with-canary' };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture({
    catalog: { ...testCatalog, byName: new Map([...testCatalog.byName, ['fleet_check', definition]]) },
  });
});
afterAll(() => fixture.close());

const NONE = { max_open_runs: null, max_subjects_per_run: null, max_in_flight_chunks: null };
const set = (body: unknown, key = fixture.keys.admin) => fixture.ask('/v1/quota', { method: 'PUT', body, key });

describe('a tenant’s quota', () => {
  test('is none until it is set, and then what was set, for that tenant alone', async () => {
    expect((await fixture.ask('/v1/quota')).body).toEqual(NONE);
    const quota = { max_open_runs: 3, max_subjects_per_run: null, max_in_flight_chunks: 0 };
    const answer = await set(quota);
    expect([answer.status, answer.body]).toEqual([200, quota]);
    expect((await fixture.ask('/v1/quota')).body).toEqual(quota);
    expect((await fixture.ask('/v1/quota', { key: fixture.keys.other })).body).toEqual(NONE);
    await set(NONE);
    expect((await fixture.ask('/v1/quota')).body).toEqual(NONE);
  });

  test('holds for the next start', async () => {
    await set({ ...NONE, max_open_runs: 0 });
    const start = () => fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
    expectProblem(await start(), 429, 'quota_exceeded');
    await set(NONE);
    expect((await start()).status).toBe(202);
  });

  test.each([
    {},
    { ...NONE, max_open_runs: -1 },
    { ...NONE, max_open_runs: 1.5 },
    { ...NONE, max_open_runs: '5' },
    { ...NONE, max_open_runs: 2 ** 31 },
    { ...NONE, max_runs: 5 },
    { max_open_runs: 5 },
    { ...NONE, tenant: 'umbrella' },
  ])('that cannot be is refused, and the old one stays: %j', async (body) => {
    expectProblem(await set(body), 400, 'invalid_request');
    expect((await fixture.ask('/v1/quota')).body).toEqual(NONE);
  });
});

test('a runbook’s canary and error budget are fixed at acceptance; a start may ask for another canary', async () => {
  const start = async (over: object) =>
    (await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'fleet_check', input: {}, ...over } })).body;
  expect(await rowOf(fixture, (await start({})).run_id, TENANT)).toMatchObject({
    canaryPercent: 12.5,
    errorBudgetPercent: 5,
  });
  const asked = await start({ canary_percent: 50 });
  expect(await rowOf(fixture, asked.run_id, TENANT)).toMatchObject({ canaryPercent: 50 });
});
