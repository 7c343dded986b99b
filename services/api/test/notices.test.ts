import { randomBytes } from 'node:crypto';
import { SecretBox } from '@muster/host';
import { claimNotices, settleNotice } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
const box = new SecretBox(randomBytes(32));
beforeAll(async () => {
  fixture = await openFixture({ box });
});
afterAll(() => fixture.close());

const URL = 'https://hooks.example.com/muster';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const put = (name: string, body: object = { url: URL, format: 'muster' }, key?: string) =>
  fixture.ask(`/v1/notifiers/${name}`, { method: 'PUT', body, ...(key !== undefined && { key }) });

describe('a notifier', () => {
  test('is made with a secret that is shown once, and changed without one', async () => {
    const made = await put('ops');
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'ops',
      url: URL,
      enabled: true,
      changes: expect.arrayContaining(['fixed']),
    });
    expect(made.body.secret).toMatch(/^whsec_/);
    const changed = await put('ops', { url: URL, format: 'slack', changes: ['gone'], runbooks: ['fleet_check'] });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ format: 'slack', changes: ['gone'], runbooks: ['fleet_check'] });
    for (const { text } of [changed, await fixture.ask('/v1/notifiers'), await fixture.ask('/v1/notifiers/ops')]) {
      expect(text).not.toContain('whsec_');
    }
    const { rows } = await fixture.db.query<{ id: string; secret: Buffer }>(
      `select id, secret from muster.notifiers where name = 'ops'`,
    );
    expect(box.open(rows[0]!.secret, rows[0]!.id).toString()).toBe(made.body.secret);
  });

  test('with a secret of its own never shows it, and leaves an audit without it', async () => {
    const made = await put('own', { url: URL, format: 'muster', secret: SECRET });
    expect(made.text).not.toContain('whsec_');
    const audit = await fixture.ask('/v1/audit');
    expect(audit.text).toContain('notifier_set');
    expect(audit.text).not.toContain(SECRET.slice(6));
    expect(fixture.logs.join('\n')).not.toContain(SECRET.slice(6));
  });

  test.each([
    ['an address of this machine', { url: 'http://127.0.0.1/x', format: 'muster' }, 'body/url'],
    ['the metadata service', { url: 'http://169.254.169.254/latest', format: 'muster' }, 'body/url'],
    ['another protocol', { url: 'file:///etc/passwd', format: 'muster' }, 'body/url'],
    ['a password in the address', { url: 'https://a:b@example.com/', format: 'muster' }, 'body/url'],
    ['a format that there is not', { url: URL, format: 'xml' }, 'body/format'],
    ['a word that there is not', { url: URL, format: 'muster', changes: ['broken'] }, 'body/changes/0'],
    ['a secret that signs nothing', { url: URL, format: 'muster', secret: 'secret' }, 'body/secret'],
    ['a field that there is not', { url: URL, format: 'muster', color: 'red' }, 'body'],
  ])('is refused with %s', async (_, body, path) => {
    const answer = await put('bad', body);
    expectProblem(answer, 400, 'invalid_request');
    expect(JSON.stringify(answer.body.errors)).toContain(path);
  });

  test('of another tenant is not there', async () => {
    await put('mine');
    const key = fixture.keys.other;
    expect((await fixture.ask('/v1/notifiers', { key })).body.notifiers).toEqual([]);
    for (const [method, path] of [
      ['GET', '/v1/notifiers/mine'],
      ['DELETE', '/v1/notifiers/mine'],
      ['POST', '/v1/notifiers/mine/test'],
      ['POST', '/v1/notifiers/mine/announce'],
    ] as const) {
      expectProblem(await fixture.ask(path, { method, key }), 404, 'notifier_not_found');
    }
  });

  test('cannot be made where no secrets are kept', async () => {
    const bare = await openFixture();
    try {
      const answer = await bare.ask('/v1/notifiers/ops', { method: 'PUT', body: { url: URL, format: 'muster' } });
      expectProblem(answer, 503, 'secrets_unavailable');
    } finally {
      await bare.close();
    }
  });
});

describe('a notice', () => {
  test('is filed on demand, listed, and sent again only when it is over', async () => {
    await put('try');
    const filed = await fixture.ask('/v1/notifiers/try/test', { method: 'POST', body: {} });
    expect(filed.status).toBe(202);
    const { notice_id: id } = filed.body;
    const list = await fixture.ask('/v1/notices?notifier=try&state=pending');
    expect(list.body.notices).toMatchObject([{ notice_id: id, kind: 'test', attempts: 0 }]);
    expectProblem(await fixture.ask(`/v1/notices/${id}/replay`, { method: 'POST', body: {} }), 409, 'notice_open');
    const claims = await claimNotices(fixture.db, { limit: 50, perNotifier: 50, leaseMs: 60_000 });
    const claim = claims.find((one) => one.id === id)!;
    await settleNotice(fixture.db, claim, { state: 'dead', status: 500, why: 'status_500' });
    const again = await fixture.ask(`/v1/notices/${id}/replay`, { method: 'POST', body: {} });
    expect(again.status).toBe(202);
    const after = await fixture.ask('/v1/notices?notifier=try');
    expect(after.body.notices).toMatchObject([
      { notice_id: again.body.notice_id, replay_of: id, state: 'pending' },
      { notice_id: id, state: 'dead', last_status: 500, last_error: 'status_500' },
    ]);
    const key = fixture.keys.other;
    expectProblem(
      await fixture.ask(`/v1/notices/${id}/replay`, { method: 'POST', body: {}, key }),
      404,
      'notice_not_found',
    );
    expect((await fixture.ask('/v1/notices', { key })).body.notices).toEqual([]);
  });

  test('comes in pages that lose and repeat nothing', async () => {
    await put('pages');
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) {
      ids.unshift((await fixture.ask('/v1/notifiers/pages/announce', { method: 'POST', body: {} })).body.notice_id);
    }
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await fixture.ask(`/v1/notices?notifier=pages&limit=2${after}`);
      seen.push(...body.notices.map((one: { notice_id: string }) => one.notice_id));
      if (body.next_after === undefined) break;
      after = `&after=${body.next_after}`;
    }
    expect(seen).toEqual(ids);
    expectProblem(await fixture.ask('/v1/notices?after=x'), 400, 'unknown_cursor');
  });
});

describe('a mute', () => {
  const mute = (body: object, key?: string) =>
    fixture.ask('/v1/mutes', { method: 'POST', body, ...(key !== undefined && { key }) });
  const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

  test('has a reason, an author and an end, and can be ended', async () => {
    const set = await mute({ reason: 'moving house', until: tomorrow(), subject: 'shop/*' });
    expect(set.status).toBe(201);
    expect(set.body).toMatchObject({ reason: 'moving house', subject: 'shop/*', key_id: expect.any(String) });
    const id = set.body.mute_id;
    expect((await fixture.ask('/v1/mutes')).body.mutes.map((one: { mute_id: string }) => one.mute_id)).toContain(id);
    const key = fixture.keys.other;
    expect((await fixture.ask('/v1/mutes', { key })).body.mutes).toEqual([]);
    expectProblem(await fixture.ask(`/v1/mutes/${id}`, { method: 'DELETE', key }), 404, 'mute_not_found');
    expect((await fixture.ask(`/v1/mutes/${id}`, { method: 'DELETE' })).status).toBe(204);
    expectProblem(await fixture.ask(`/v1/mutes/${id}`, { method: 'DELETE' }), 404, 'mute_not_found');
  });

  test.each([
    ['no reason', { until: '2999-01-01T00:00:00Z' }],
    ['no end', { reason: 'x' }],
    ['an end that is over', { reason: 'x', until: '2020-01-01T00:00:00Z' }],
    ['an end far off', { reason: 'x', until: '2999-01-01T00:00:00Z' }],
    ['an end before its beginning', { reason: 'x', from: '2999-01-02T00:00:00Z', until: '2999-01-01T00:00:00Z' }],
    ['an end without a zone', { reason: 'x', until: '2999-01-01T00:00:00' }],
  ])('with %s is refused', async (_, body) => {
    expectProblem(await mute(body), 400, 'invalid_request');
  });
});

describe('a callback', () => {
  const start = (callback: object, headers: Record<string, string> = {}) =>
    fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {}, callback }, headers });

  test('is kept with its run, its secret sealed under the run and shown to nobody', async () => {
    const answer = await start({ url: URL, secret: SECRET }, { 'idempotency-key': 'calls-back' });
    expect(answer.status).toBe(202);
    const { run_id: id } = answer.body;
    const { rows } = await fixture.db.query<{ url: string; secret: Buffer }>(
      'select url, secret from muster.run_callbacks where run_id = $1',
      [id],
    );
    expect(rows[0]?.url).toBe(URL);
    expect(box.open(rows[0]!.secret, id).toString()).toBe(SECRET);
    for (const { text } of [answer, await fixture.ask(`/v1/runs/${id}`)]) expect(text).not.toContain('whsec_');
    // The same request again is the same run, with the callback that it had.
    const again = await start({ url: URL, secret: SECRET }, { 'idempotency-key': 'calls-back' });
    expect([again.status, again.body.run_id]).toEqual([200, id]);
  });

  test('to an address that may not be is refused before anything is stored', async () => {
    const answer = await start({ url: 'http://10.0.0.1/' });
    expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.errors).toMatchObject([{ path: 'body/callback/url' }]);
  });
});
