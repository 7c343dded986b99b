import { randomUUID } from 'node:crypto';
import { newArtifactRef } from '@muster/artifacts';
import type { ApiRole } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Access, roleCovers } from '../src/caller.ts';
import { type Answer, expectProblem, type Fixture, OTHER_TENANT, openFixture } from './fixture.ts';
import { assess, finish, interrupt, keepArtifact } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

/** The role that each route needs. A route that is not in here fails the test. */
const ACCESS: Readonly<Record<string, Access>> = {
  'GET /healthz': 'open',
  'GET /readyz': 'open',
  'GET /openapi.json': 'open',
  'GET /v1/runbooks': 'reader',
  'GET /v1/runbooks/:name': 'reader',
  'POST /v1/uploads': 'runner',
  'POST /v1/runs': 'runner',
  'GET /v1/runs': 'reader',
  'GET /v1/runs/:run_id': 'reader',
  'POST /v1/runs/:run_id/cancel': 'runner',
  'POST /v1/runs/:run_id/rerun': 'runner',
  'GET /v1/runs/:run_id/rows': 'reader',
  'GET /v1/runs/:run_id/changes': 'reader',
  'GET /v1/standings': 'reader',
  'GET /v1/runs/:run_id/envelope': 'reader',
  'GET /v1/runs/:run_id/answer': 'reader',
  'GET /v1/runs/:run_id/history': 'reader',
  'GET /v1/runs/:run_id/events': 'reader',
  'GET /v1/runs/:run_id/interruption': 'reader',
  'POST /v1/runs/:run_id/resume': 'runner',
  'GET /v1/interruptions': 'reader',
  'POST /v1/hooks/:name': 'signature',
  'GET /v1/deliveries': 'reader',
  'GET /v1/deliveries/:delivery_id': 'reader',
  'POST /v1/deliveries/:delivery_id/replay': 'runner',
  'GET /v1/artifacts/:ref': 'reader',
  'GET /v1/schedules': 'reader',
  'POST /v1/schedules': 'admin',
  'GET /v1/schedules/:name': 'reader',
  'PATCH /v1/schedules/:name': 'admin',
  'DELETE /v1/schedules/:name': 'admin',
  'POST /v1/schedules/:name/pause': 'runner',
  'POST /v1/schedules/:name/resume': 'runner',
  'POST /v1/schedules/:name/trigger': 'runner',
  'GET /v1/schedules/:name/ticks': 'reader',
  'POST /v1/keys': 'admin',
  'GET /v1/keys': 'admin',
  'DELETE /v1/keys/:key_id': 'admin',
  'GET /v1/quota': 'admin',
  'PUT /v1/quota': 'admin',
  'GET /v1/audit': 'admin',
  'GET /v1/notifiers': 'reader',
  'GET /v1/notifiers/:name': 'reader',
  'PUT /v1/notifiers/:name': 'admin',
  'DELETE /v1/notifiers/:name': 'admin',
  'POST /v1/notifiers/:name/test': 'runner',
  'POST /v1/notifiers/:name/announce': 'runner',
  'GET /v1/notices': 'reader',
  'POST /v1/notices/:notice_id/replay': 'runner',
  'GET /v1/mutes': 'reader',
  'POST /v1/mutes': 'runner',
  'DELETE /v1/mutes/:mute_id': 'runner',
  'POST /mcp': 'reader',
};
const ROLES: readonly ApiRole[] = ['reader', 'runner', 'approver', 'admin'];

const concrete = (url: string) =>
  url
    .replace(':run_id', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11')
    .replace(':key_id', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11')
    .replace(':delivery_id', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11')
    .replace(':notice_id', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11')
    .replace(':mute_id', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11')
    .replace(':ref', newArtifactRef())
    .replace(':name', 'fleet_check');

function askRoute(route: string, key: string | undefined, method?: string): Promise<Answer> {
  const [verb, url = ''] = route.split(' ');
  return fixture.ask(concrete(url), { method: method ?? verb ?? 'GET', key });
}

describe('roles', () => {
  test('every route is in the table, with the role that it needs', () => {
    const found = fixture.table.routes
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, url, access }) => [`${method} ${url}`, access]);
    expect(Object.fromEntries(found)).toEqual(ACCESS);
  });

  test('HEAD needs what GET needs, and stands on the same paths', () => {
    const paths = (wanted: string) =>
      fixture.table.routes.filter(({ method }) => method === wanted).map(({ url, access }) => `${access} ${url}`);
    expect(paths('HEAD').sort()).toEqual(paths('GET').sort());
  });

  test.each(Object.entries(ACCESS))('%s takes keys of the role %s and above, and no others', async (route, needed) => {
    if (needed === 'open') {
      expect((await askRoute(route, undefined)).status).toBe(200);
      return;
    }
    if (needed === 'signature') {
      // No key opens it: what is sent must be signed.
      for (const key of [undefined, fixture.keys.admin]) {
        expectProblem(await askRoute(route, key), 401, 'delivery_unverified');
      }
      return;
    }
    expectProblem(await askRoute(route, undefined), 401, 'unauthorized');
    for (const role of ROLES) {
      const answer = await askRoute(route, fixture.keys[role]);
      if (roleCovers(role, needed)) expect([401, 403]).not.toContain(answer.status);
      else {
        expectProblem(answer, 403, 'forbidden');
        expect(answer.body.needed_role).toBe(needed);
      }
    }
  });

  test.each([
    ['no scheme', 'KEY'],
    ['another scheme', 'Basic KEY'],
    ['nothing behind it', 'Bearer '],
    ['two keys', 'Bearer KEY KEY'],
    ['a key that never was', `Bearer mk_${'a'.repeat(43)}`],
    ['a key cut short', 'Bearer KEY'],
    ['a NUL', 'Bearer mk_%00'],
  ])('%s is not authorised', async (what, header) => {
    const key = what === 'a key cut short' ? fixture.keys.admin.slice(0, -1) : fixture.keys.admin;
    const answer = await fixture.ask('/v1/runs', {
      key: undefined,
      headers: { authorization: header.replaceAll('KEY', key) },
    });
    expectProblem(answer, 401, 'unauthorized');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="muster"');
  });
});

describe('keys', () => {
  test('a key is shown once, works with its role, and is refused at once when it is revoked', async () => {
    const made = await fixture.ask('/v1/keys', { method: 'POST', body: { name: 'ci', role: 'reader' } });
    expect(made.status).toBe(201);
    const { key, key_id: keyId } = made.body;
    expect((await fixture.ask('/v1/runs', { key })).status).toBe(200);
    expectProblem(await fixture.ask('/v1/keys', { key }), 403, 'forbidden');
    const list = await fixture.ask('/v1/keys');
    expect(list.body.keys.map((entry: { key_id: string }) => entry.key_id)).toContain(keyId);
    expect(list.text).not.toContain(key);
    expect((await fixture.ask(`/v1/keys/${keyId}`, { method: 'DELETE' })).status).toBe(204);
    expectProblem(await fixture.ask('/v1/runs', { key }), 401, 'unauthorized');
    expectProblem(await fixture.ask(`/v1/keys/${keyId}`, { method: 'DELETE' }), 404, 'key_not_found');
  });

  test.each([
    { name: 'x', role: 'root' },
    { name: '', role: 'reader' },
    { name: 'x' },
    { name: 'x', role: 'reader', tenant: OTHER_TENANT },
    { name: 'a\u0000', role: 'reader' },
  ])('a key that cannot be is refused: %j', async (body) => {
    expectProblem(await fixture.ask('/v1/keys', { method: 'POST', body }), 400, 'invalid_request');
  });
});

describe('tenants', () => {
  test('nothing of a tenant is visible to the admin of another, on any route', async () => {
    const { runId, ref, keyId, uploadRef, asking } = await belongings();
    const other = fixture.keys.other;
    const secrets = [runId, asking, ref, keyId, uploadRef, 'fleet-of-acme', 'host-1', 'nightly'];
    const notFound: Readonly<Record<string, [url: string, code: string, body?: unknown]>> = {
      'GET /v1/runs/:run_id': [`/v1/runs/${runId}`, 'run_not_found'],
      'POST /v1/runs/:run_id/cancel': [`/v1/runs/${runId}/cancel`, 'run_not_found'],
      'POST /v1/runs/:run_id/rerun': [`/v1/runs/${runId}/rerun`, 'run_not_found', { only: ['ok'] }],
      'GET /v1/runs/:run_id/rows': [`/v1/runs/${runId}/rows`, 'run_not_found'],
      'GET /v1/runs/:run_id/changes': [`/v1/runs/${runId}/changes`, 'run_not_found'],
      'GET /v1/runs/:run_id/envelope': [`/v1/runs/${runId}/envelope`, 'run_not_found'],
      'GET /v1/runs/:run_id/answer': [`/v1/runs/${runId}/answer`, 'run_not_found'],
      'GET /v1/runs/:run_id/history': [`/v1/runs/${runId}/history`, 'run_not_found'],
      'GET /v1/runs/:run_id/events': [`/v1/runs/${runId}/events`, 'run_not_found'],
      'GET /v1/runs/:run_id/interruption': [`/v1/runs/${asking}/interruption`, 'run_not_found'],
      'POST /v1/runs/:run_id/resume': [`/v1/runs/${asking}/resume`, 'run_not_found', { resume: { choice: 'left' } }],
      'GET /v1/artifacts/:ref': [`/v1/artifacts/${ref}`, 'artifact_not_found'],
      'GET /v1/schedules/:name': ['/v1/schedules/nightly', 'schedule_not_found'],
      'PATCH /v1/schedules/:name': ['/v1/schedules/nightly', 'schedule_not_found', { overlap: 'allow' }],
      'DELETE /v1/schedules/:name': ['/v1/schedules/nightly', 'schedule_not_found'],
      'POST /v1/schedules/:name/pause': ['/v1/schedules/nightly/pause', 'schedule_not_found'],
      'POST /v1/schedules/:name/resume': ['/v1/schedules/nightly/resume', 'schedule_not_found'],
      'POST /v1/schedules/:name/trigger': ['/v1/schedules/nightly/trigger', 'schedule_not_found'],
      'GET /v1/schedules/:name/ticks': ['/v1/schedules/nightly/ticks', 'schedule_not_found'],
      'DELETE /v1/keys/:key_id': [`/v1/keys/${keyId}`, 'key_not_found'],
    };
    const silent: Readonly<Record<string, string[]>> = {
      'GET /v1/runs': ['/v1/runs', '/v1/runs?session=fleet-of-acme', `/v1/runs?session=${await sessionOf(runId)}`],
      'GET /v1/schedules': ['/v1/schedules', '/v1/schedules?after=a'],
      'GET /v1/keys': ['/v1/keys'],
      'GET /v1/standings': ['/v1/standings', '/v1/standings?runbook=fleet_check'],
      'GET /v1/quota': ['/v1/quota'],
      'GET /v1/interruptions': ['/v1/interruptions'],
      'GET /v1/audit': ['/v1/audit', `/v1/audit?run_id=${runId}`],
    };
    const apart = [
      'POST /v1/runs',
      'POST /v1/schedules',
      'POST /v1/uploads',
      'POST /v1/keys',
      'PUT /v1/quota',
      'GET /v1/runbooks',
      'GET /v1/runbooks/:name',
      // Its isolation has tests of its own: mcp-ports and mcp-tools.
      'POST /mcp',
      // Those of notices have tests of their own: notices.
      'GET /v1/notifiers',
      'GET /v1/notifiers/:name',
      'PUT /v1/notifiers/:name',
      'DELETE /v1/notifiers/:name',
      'POST /v1/notifiers/:name/test',
      'POST /v1/notifiers/:name/announce',
      'GET /v1/notices',
      'POST /v1/notices/:notice_id/replay',
      'GET /v1/mutes',
      'POST /v1/mutes',
      'DELETE /v1/mutes/:mute_id',
      // Those of hooks have tests of their own: hooks.
      'POST /v1/hooks/:name',
      'GET /v1/deliveries',
      'GET /v1/deliveries/:delivery_id',
      'POST /v1/deliveries/:delivery_id/replay',
    ];
    const covered = [...Object.keys(notFound), ...Object.keys(silent), ...apart].sort();
    expect(
      Object.keys(ACCESS)
        .filter((route) => ACCESS[route] !== 'open')
        .sort(),
    ).toEqual(covered);

    for (const [route, [url, code, body]] of Object.entries(notFound)) {
      const asked = { method: route.split(' ')[0]!, key: other, body };
      const foreign = await fixture.ask(url, asked);
      expectProblem(foreign, 404, code);
      const absent = await fixture.ask(concrete(route.split(' ')[1]!), asked);
      expect({ ...foreign.body, instance: '' }).toEqual({ ...absent.body, instance: '' });
    }
    for (const url of Object.values(silent).flat()) {
      const answer = await fixture.ask(url, { key: other });
      expect(answer.status).toBe(200);
      for (const secret of secrets) expect(answer.text).not.toContain(secret);
    }
    const cursor = await fixture.ask(`/v1/runs?after=${runId}`, { key: other });
    expectProblem(cursor, 400, 'unknown_cursor');
    for (const [input, extra, code] of [
      [{ ref: uploadRef }, {}, 'unknown_artifact'],
      [{ ref }, {}, 'unknown_artifact'],
      [{}, { parent_run_id: runId }, 'unknown_parent_run'],
    ] as const) {
      const body = { runbook: 'anything', input, ...extra };
      expectProblem(await fixture.ask('/v1/runs', { method: 'POST', body, key: other }), 422, code);
    }
    // The owner still has everything.
    expect((await fixture.ask('/v1/standings')).text).toContain(runId);
    expect((await fixture.ask(`/v1/runs/${runId}/envelope`)).status).toBe(200);
    expect((await fixture.ask(`/v1/artifacts/${ref}`)).status).toBe(200);
  });

  test('the same idempotency key of two tenants makes two runs', async () => {
    const start = (key: string) =>
      fixture.ask('/v1/runs', {
        method: 'POST',
        body: { runbook: 'anything', input: {} },
        headers: { 'idempotency-key': 'the-same' },
        key,
      });
    const [ours, theirs] = await Promise.all([start(fixture.keys.runner), start(fixture.keys.other)]);
    expect([ours.status, theirs.status]).toEqual([202, 202]);
    expect(ours.body.run_id).not.toBe(theirs.body.run_id);
  });
});

async function belongings() {
  const schedule = { name: 'nightly', runbook: 'anything', timing: { cron: '0 2 * * *' } };
  const made = await fixture.ask('/v1/schedules', { method: 'POST', body: schedule });
  expect(made.status).toBe(201);
  const headers = { 'muster-session': 'fleet-of-acme' };
  const accept = async (runbook: string) =>
    (await fixture.ask('/v1/runs', { method: 'POST', body: { runbook, input: {} }, headers })).body.run_id as string;
  const runId = await accept('fleet_check');
  await assess(fixture, runId);
  await finish(fixture, runId);
  const { ref } = await keepArtifact(fixture, await accept('anything'), Buffer.from(randomUUID()));
  const upload = await fixture.ask('/v1/uploads?name=a', { method: 'POST', raw: 'a', headers });
  const keys = await fixture.ask('/v1/keys');
  const asking = await accept('asking');
  await interrupt(fixture, asking);
  await fixture.ask(`/v1/runs/${asking}/cancel`, { method: 'POST' });
  const still = await accept('asking');
  await interrupt(fixture, still);
  return { runId, asking: still, ref, uploadRef: upload.body.ref as string, keyId: keys.body.keys[0].key_id as string };
}

async function sessionOf(runId: string): Promise<string> {
  return (await fixture.ask(`/v1/runs/${runId}`)).body.session_id;
}
