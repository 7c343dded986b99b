/** The file of schedules is what there is after a start, and a faulty one stops the start. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listAudit } from '@muster/results';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applySchedulesFile } from '../src/use-cases/apply-schedules-file.ts';
import { expectProblem, type Fixture, OTHER_TENANT, openFixture, TENANT } from './fixture.ts';
import { testCatalog } from './test-runbooks.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

async function apply(text: string) {
  const file = join(fixture.folder, 'schedules.yaml');
  await writeFile(file, text);
  return await applySchedulesFile({ db: fixture.db, catalog: testCatalog }, file);
}

const entry = (name: string, rest = 'timing: { cron: "0 2 * * *" }') => `
  - name: ${name}
    tenant: ${TENANT}
    runbook: anything
    ${rest}`;
const read = async (name: string) => (await fixture.ask(`/v1/schedules/${name}`)).body;

test('schedules are made, changed, left alone, paused when they leave, and come back', async () => {
  const none = { created: 0, changed: 0, resumed: 0, paused: 0 };
  const both = `schedules:${entry('first')}${entry('second')}`;
  expect(await apply(both)).toEqual({ ...none, created: 2 });
  expect(await apply(both)).toEqual(none);
  expect(await read('first')).toMatchObject({
    source: 'file',
    state: 'active',
    revision: 1,
    described: '0 2 * * * (UTC)',
  });
  const changed = `schedules:${entry('first', 'timing: { every_seconds: 3600 }')}`;
  expect(await apply(changed)).toEqual({ ...none, changed: 1, paused: 1 });
  expect(await read('first')).toMatchObject({ described: 'every 1 h', revision: 2 });
  expect(await read('second')).toMatchObject({
    state: 'paused',
    paused: { code: 'left_the_file', reason: 'it left the file of schedules' },
  });
  expect(await apply(changed)).toEqual(none);
  // It comes back with the file, and not by hand.
  expectProblem(await fixture.ask('/v1/schedules/second/resume', { method: 'POST' }), 409, 'schedule_of_file');
  expect(await apply(both)).toEqual({ ...none, changed: 1, resumed: 1 });
  expect(await read('second')).toMatchObject({ state: 'active' });
  const { entries } = await listAudit(fixture.db, { tenant: TENANT, limit: 100 });
  expect(entries.map(({ action, keyId }) => [action, keyId])).toContainEqual(['schedule_resumed', null]);
});

test('what people paused stays paused, and REST changes nothing of what the file says', async () => {
  const text = `schedules:${entry('held')}`;
  await apply(text);
  await fixture.ask('/v1/schedules/held/pause', { method: 'POST', body: { reason: 'not now' } });
  await apply(text);
  expect(await read('held')).toMatchObject({ state: 'paused', paused: { code: 'paused', reason: 'not now' } });
  const change = { method: 'PATCH', body: { overlap: 'allow' } };
  expectProblem(await fixture.ask('/v1/schedules/held', change), 409, 'schedule_of_file');
  expectProblem(await fixture.ask('/v1/schedules/held', { method: 'DELETE' }), 409, 'schedule_of_file');
  expect((await fixture.ask('/v1/schedules/held/trigger', { method: 'POST' })).status).toBe(202);
  await fixture.ask('/v1/schedules/held/resume', { method: 'POST' });
  // Once it has left the file, it may go.
  await apply('schedules: []');
  expect((await fixture.ask('/v1/schedules/held', { method: 'DELETE' })).status).toBe(204);
});

test("a schedule of the API that the file names is the file's from then on; those of other tenants are apart", async () => {
  const body = { name: 'taken', runbook: 'anything', timing: { cron: '0 5 * * *' } };
  await fixture.ask('/v1/schedules', { method: 'POST', body });
  const other = entry('taken').replace(TENANT, OTHER_TENANT);
  await apply(`schedules:${entry('taken', 'timing: { cron: "0 5 * * *" }')}${other}`);
  expect(await read('taken')).toMatchObject({ source: 'file', described: '0 5 * * * (UTC)' });
  const { body: theirs } = await fixture.ask('/v1/schedules/taken', { key: fixture.keys.other });
  expect(theirs).toMatchObject({ source: 'file', described: '0 2 * * * (UTC)' });
  await apply('schedules: []');
});

test('processes that start at once agree on one result', async () => {
  const text = `schedules:${['x-1', 'x-2', 'x-3'].map((name) => entry(name)).join('')}`;
  const done = await Promise.all(Array.from({ length: 6 }, () => apply(text)));
  expect(done.map(({ created }) => created).sort()).toEqual([0, 0, 0, 0, 0, 3]);
  await apply('schedules: []');
});

test.each([
  ['no such field', `schedules:${entry('a', 'cron: "0 2 * * *"')}`, /file\/schedules\/0\/.*expected/],
  [
    'a wrong time zone',
    `schedules:${entry('a', 'timing: { cron: "0 2 * * *", time_zone: Mars/Olympus }')}`,
    /timing\/time_zone: expected an IANA time zone/,
  ],
  [
    'a runbook that is not offered',
    `schedules:${entry('good')}${entry('a').replace('anything', 'nothing')}`,
    /schedule 'a': there is no runbook 'nothing'/,
  ],
  [
    'an input that does not fit',
    `schedules:${entry('a', 'input: { limit: 99 }\n    timing: { cron: "0 2 * * *" }').replace('anything', 'fleet_check')}`,
    /schedule 'a': input\/limit: expected at most 10/,
  ],
  ['a name twice', `schedules:${entry('a')}${entry('a')}`, /the schedule 'a' of the tenant 'acme' is there twice/],
  ['neither YAML nor JSON', 'schedules: [', /neither YAML nor JSON in line 1/],
  ['a key twice', 'schedules: []\nschedules: []', /neither YAML nor JSON in line 2/],
  ['no schedules at all', 'jobs: []', /file\/schedules: expected/],
])('%s stops the start with the place, and nothing of the file is used', async (_what, text, said) => {
  const count = async () => (await fixture.ask('/v1/schedules?limit=100')).body.schedules.length;
  const before = await count();
  const failed = await apply(text).catch((error) => error);
  expect(failed).toMatchObject({ code: 'config_invalid', setting: 'MUSTER_SCHEDULES' });
  expect(failed.message).toMatch(/^MUSTER_SCHEDULES: the file \S+schedules\.yaml/);
  expect(failed.message).toMatch(said);
  expect(failed.message).not.toContain('\n');
  expect(await count()).toBe(before);
});

test('a file that is not there stops the start', async () => {
  const missing = applySchedulesFile({ db: fixture.db, catalog: testCatalog }, join(fixture.folder, 'none.yaml'));
  await expect(missing).rejects.toThrow(/^MUSTER_SCHEDULES: the file \S+none\.yaml cannot be read \(ENOENT\)$/);
});
