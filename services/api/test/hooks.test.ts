/** Webhooks at the door: what is proven is kept before the answer, once; what is not leaves nothing behind. */
import { request } from 'node:http';
import { claimDeliveries, finishDeliveries } from '@muster/results';
import { canarySecret, findCanary, manualClock } from '@muster/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { REPEAT_MS } from '../src/use-cases/receive-delivery.ts';
import { type Answer, expectProblem, type Fixture, OTHER_TENANT, TENANT } from './fixture.ts';
import { alertGroup, type Headers, type HookName, openHooks, post, SECRETS, type Sent, sign } from './hook-senders.ts';

const clock = manualClock('2026-11-30T12:00:00.000Z');
const at = () => ({ at: clock.now() });

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openHooks({ now: clock.now });
});
afterAll(() => fixture.close());
afterEach(() => fixture.db.query('truncate muster.deliveries'));

const rows = async () =>
  (await fixture.db.query<{ id: string; state: string }>('select id, state from muster.deliveries order by id')).rows;
const read = (id: string, key = fixture.keys.admin) => fixture.ask(`/v1/deliveries/${id}`, { key });
const replay = (id: string, key = fixture.keys.runner) =>
  fixture.ask(`/v1/deliveries/${id}/replay`, { method: 'POST', key });

/** Ends a delivery as a worker would. */
async function work(tenant: string, hook: string, runId?: string): Promise<void> {
  const claims = await claimDeliveries(fixture.db, { hooks: [{ tenant, hook }], limitPerHook: 10, leaseMs: 1000 });
  const runs = runId === undefined ? [] : [{ run_id: runId, subject: 'db-7', alerts: 1 }];
  const result = { kind: 'alerts', runs, collapsed: [], declined: [], skipped: [], doubts: [] };
  const ends = claims.map((claim) => ({ claim, state: 'done' as const, result }));
  await finishDeliveries(fixture.db, ends, clock.now());
}

const SIGNED: HookName[] = ['alerts', 'repo', 'pager', 'errors', 'shop'];

describe('a delivery that is proven', () => {
  test.each(SIGNED)('is kept when the sender is answered, and nothing was made of it by then: %s', async (name) => {
    const answer = await post(fixture, sign(name, at()));
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({
      delivery_id: expect.any(String),
      state: 'received',
      received_at: clock.now().toISOString(),
    });
    expect(await rows()).toEqual([{ id: answer.body.delivery_id, state: 'received' }]);
    expect((await fixture.db.query('select from muster.runs')).rowCount).toBe(0);
  });

  test('may be any bytes of any type: what it says is found out later', async () => {
    const bodies: [string, Headers][] = [
      ['', {}],
      ['{"cut', { 'content-type': 'application/json' }],
      ['payload=%7B%7D', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['{"a":1,"a":2}', { 'content-type': 'text/plain' }],
      ['x', { 'content-type': 'application/x-nonsense' }],
    ];
    for (const [raw, headers] of bodies) {
      const authorization = `Bearer ${SECRETS.alerts}`;
      const answer = await post(fixture, { hook: 'alerts', raw, headers: { ...headers, authorization } });
      expect([raw, answer.status]).toEqual([raw, 202]);
    }
    const large = { ...sign('alerts'), raw: 'x'.repeat(1024 * 1024) };
    expect((await post(fixture, large)).status).toBe(202);
    expectProblem(await post(fixture, { ...large, raw: `${large.raw}x` }), 413, 'body_too_large');
    expect(await rows()).toHaveLength(bodies.length + 1);
  });

  test('is taken with each secret that is good, so that a rotation loses none', async () => {
    SECRETS.alerts_next = 'token-of-tomorrow';
    const next = { authorization: 'Bearer token-of-tomorrow' };
    expect((await post(fixture, sign('alerts'))).status).toBe(202);
    expect((await post(fixture, sign('alerts'), { headers: next })).status).toBe(202);
    delete SECRETS.alerts_next;
    expectProblem(await post(fixture, sign('alerts'), { headers: next }), 401, 'delivery_unverified');
  });

  test('is asked for again while no secret can be had', async () => {
    const secret = SECRETS.repo!;
    const sent = sign('repo');
    delete SECRETS.repo;
    const answer = await post(fixture, sent);
    expectProblem(answer, 503, 'hook_secret_unavailable');
    expect(answer.headers['retry-after']).toBe('30');
    expect(await rows()).toEqual([]);
    SECRETS.repo = secret;
    expect((await post(fixture, sent)).status).toBe(202);
  });
});

describe('a delivery that is not proven leaves no row, and its refusal tells nothing', () => {
  const without = (sent: Sent, name: string): Headers => {
    const { [name]: _left, ...rest } = sent.headers;
    return rest;
  };
  const with_ = (sent: Sent, headers: Headers): Headers => ({ ...sent.headers, ...headers });
  const flip = (text: string) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
  const PROOF: Readonly<Record<string, string>> = {
    alerts: 'authorization',
    repo: 'x-hub-signature-256',
    pager: 'x-pagerduty-signature',
    errors: 'sentry-hook-signature',
    shop: 'webhook-signature',
  };
  const proof = (sent: Sent) => sent.headers[PROOF[sent.hook]!]!;
  const TAMPERINGS: Readonly<Record<string, (sent: Sent) => Partial<Sent>>> = {
    'no proof': (sent) => ({ headers: without(sent, PROOF[sent.hook]!) }),
    'an empty proof': (sent) => ({ headers: with_(sent, { [PROOF[sent.hook]!]: '' }) }),
    'a proof that is cut': (sent) => ({ headers: with_(sent, { [PROOF[sent.hook]!]: proof(sent).slice(0, -2) }) }),
    'a proof with another end': (sent) => ({ headers: with_(sent, { [PROOF[sent.hook]!]: flip(proof(sent)) }) }),
    'the proof of another hook': (sent) => ({
      headers: with_(sent, { [PROOF[sent.hook]!]: sign('foreign').headers.authorization! }),
    }),
  };
  const ofBody: Readonly<Record<string, (sent: Sent) => Partial<Sent>>> = {
    'a space more in the body': ({ raw }) => ({ raw: `${raw} ` }),
    'a digit changed in the body': ({ raw }) => ({ raw: raw.replace(/[0-9a-f](?=[^0-9a-f]*$)/, 'z') }),
    'no body': () => ({ raw: '' }),
  };
  const cases = SIGNED.flatMap((name) => [
    ...Object.entries(TAMPERINGS).map(([what, change]) => [name, what, change] as const),
    // A bearer token covers no body.
    ...(name === 'alerts' ? [] : Object.entries(ofBody).map(([what, change]) => [name, what, change] as const)),
  ]);

  let unknown: Answer;
  beforeAll(async () => {
    unknown = await post(fixture, sign('alerts'), { hook: 'nobody-has-this' });
  });
  const sameAsUnknown = (answer: Answer) => {
    expectProblem(answer, 401, 'delivery_unverified');
    expect({ ...answer.body, instance: '' }).toEqual({ ...unknown.body, instance: '' });
    const { 'x-request-id': _id, date: _date, ...headers } = answer.headers;
    const { 'x-request-id': _id2, date: _date2, ...unknownHeaders } = unknown.headers;
    expect(headers).toEqual(unknownHeaders);
  };

  test.each(cases)('%s: %s', async (name, _what, change) => {
    const sent = sign(name, at());
    sameAsUnknown(await post(fixture, sent, change(sent)));
    expect(await rows()).toEqual([]);
    expect((await post(fixture, sent)).status).toBe(202);
  });

  test('another id, another time, and a time outside of the window', async () => {
    const sent = sign('shop', at());
    const stale = (byMs: number) => sign('shop', { at: new Date(clock.now().getTime() + byMs) });
    for (const one of [
      { ...sent, headers: with_(sent, { 'webhook-id': 'another' }) },
      { ...sent, headers: with_(sent, { 'webhook-timestamp': String(clock.now().getTime() / 1000 + 1) }) },
      stale(-301_000),
      stale(301_000),
    ]) {
      sameAsUnknown(await post(fixture, one));
    }
    expect((await post(fixture, stale(-299_000))).status).toBe(202);
    expect(await rows()).toHaveLength(1);
  });

  test('names that no hook can have, and the hook of nobody', async () => {
    for (const name of ['nobody', 'Alerts', '%00', '..%2fkeys', 'x'.repeat(200), '__proto__', 'constructor']) {
      sameAsUnknown(await post(fixture, sign('alerts'), { hook: name }));
    }
    expect(await rows()).toEqual([]);
  });

  test('a proof that came twice', async () => {
    const address = new URL(await fixture.listen());
    const { raw, headers } = sign('repo');
    const flat = [...Object.entries(headers), ['X-Hub-Signature-256', headers['x-hub-signature-256']!]].flat();
    const status = await new Promise((resolve, reject) => {
      const options = {
        method: 'POST',
        headers: ['host', address.host, ...flat, 'content-length', String(Buffer.byteLength(raw))],
      };
      request(new URL('/v1/hooks/repo', address), options as never, (response) => resolve(response.statusCode))
        .on('error', reject)
        .end(raw);
    });
    expect(status).toBe(401);
    expect(await rows()).toEqual([]);
  });

  test('without a key to seal bodies with nothing is taken', async () => {
    const bare = await openHooks({ box: undefined as never });
    try {
      sameAsUnknown(await post(bare, sign('alerts')));
    } finally {
      await bare.close();
    }
  });
});

describe('a delivery that comes again', () => {
  test.each(['repo', 'pager', 'errors', 'shop'] as const)('is the same one, with its runs: %s', async (name) => {
    const sent = sign(name, at());
    const first = await post(fixture, sent);
    const again = await post(fixture, sent);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const runId = '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11';
    await work(TENANT, name, runId);
    const done = await post(fixture, sent);
    expect([done.status, done.body]).toEqual([200, { ...first.body, state: 'done', run_ids: [runId] }]);
    expect(await rows()).toHaveLength(1);
  });

  test.each(['repo', 'pager', 'errors', 'shop'] as const)('with another body is a conflict: %s', async (name) => {
    const { hook } = sign(name);
    const first = await post(fixture, sign(name, { id: 'the-same', ...at() }));
    expect(first.status).toBe(202);
    const body =
      name === 'pager'
        ? { event: { id: 'the-same', event_type: 'incident.resolved', resource_type: 'incident', data: {} } }
        : { other: 1 };
    const other = await post(fixture, sign(hook, { id: 'the-same', body, ...at() }));
    expectProblem(other, 409, 'delivery_conflict');
    expect(other.body.delivery_id).toBe(first.body.delivery_id);
    expect(await rows()).toHaveLength(1);
  });

  test('under the id of another hook is a delivery of its own', async () => {
    const body = { data: { id: 'x' } };
    expect((await post(fixture, sign('repo', { id: 'one', body }))).status).toBe(202);
    expect((await post(fixture, sign('errors', { id: 'one', body }))).status).toBe(202);
    expect((await post(fixture, sign('shop', { id: 'one', body, ...at() }))).status).toBe(202);
  });

  test('without an id is known by its body, for a while', async () => {
    const sent = sign('alerts', { body: alertGroup('db-7') });
    const first = await post(fixture, sent);
    clock.advance(REPEAT_MS - 1);
    const again = await post(fixture, sent);
    expect([again.status, again.body]).toEqual([200, first.body]);
    clock.advance(1);
    const later = await post(fixture, sent);
    expect(later.status).toBe(202);
    expect(later.body.delivery_id).not.toBe(first.body.delivery_id);
    expect((await post(fixture, sign('foreign', { body: alertGroup('db-7') }))).status).toBe(202);
  });

  test.each(['alerts', 'repo'] as const)('thirty times at once is one row: %s', async (name) => {
    const sent = sign(name, at());
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(fixture, sent)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(29);
    expect(new Set(answers.map(({ body }) => body.delivery_id)).size).toBe(1);
    expect(await rows()).toHaveLength(1);
  });
});

describe('deliveries that are kept', () => {
  test('are listed newest first, by hook and state, page by page', async () => {
    const sent: string[] = [];
    for (const name of ['alerts', 'repo', 'alerts', 'repo', 'alerts'] as const) {
      clock.advance(1000);
      sent.unshift((await post(fixture, sign(name))).body.delivery_id);
    }
    await work(TENANT, 'repo');
    const ids = async (query: string) => {
      const { body } = await fixture.ask(`/v1/deliveries?${query}`, { key: fixture.keys.reader });
      return { ids: body.deliveries.map((one: { delivery_id: string }) => one.delivery_id), next: body.next_after };
    };
    expect((await ids('')).ids).toEqual(sent);
    expect((await ids('hook=alerts')).ids).toEqual([sent[0], sent[2], sent[4]]);
    expect((await ids('state=done')).ids).toEqual([sent[1], sent[3]]);
    const first = await ids('limit=2');
    expect(first).toEqual({ ids: sent.slice(0, 2), next: sent[1] });
    expect(await ids(`limit=3&after=${first.next}`)).toEqual({ ids: sent.slice(2), next: undefined });
    expectProblem(
      await fixture.ask('/v1/deliveries?after=6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11'),
      400,
      'unknown_cursor',
    );
    expectProblem(await fixture.ask('/v1/deliveries?state=lost'), 400, 'invalid_request');
  });

  test('show what was sent to admins alone, and never a secret', async () => {
    const body = { ref: 'main', api_token: 'in-the-body', url: 'https://me:pass@git.test/x' };
    const { body: kept } = await post(fixture, sign('repo', { id: 'd-1', body }));
    const admin = (await read(kept.delivery_id)).body;
    expect(admin).toMatchObject({ hook: 'repo', format: 'github', sender_delivery_id: 'd-1', attempts: 0 });
    expect(admin.sent.headers).toMatchObject({
      'x-github-delivery': 'd-1',
      'x-github-event': 'push',
      'x-hub-signature-256': '[redacted]',
    });
    expect(admin.sent.body).toEqual({ ref: 'main', api_token: '[redacted]', url: 'https://[redacted]@git.test/x' });
    for (const key of [fixture.keys.reader, fixture.keys.runner, fixture.keys.approver]) {
      const shown = await read(kept.delivery_id, key);
      expect(shown.status).toBe(200);
      expect(shown.body.sent).toBeUndefined();
      expect(shown.text).not.toContain('main');
    }
  });

  test('show no body that another key sealed, and are not replayed', async () => {
    const { body } = await post(fixture, sign('repo'));
    await work(TENANT, 'repo');
    await fixture.db.query(`alter table muster.deliveries disable trigger guard_delivery`);
    await fixture.db.query(`update muster.deliveries set body = decode(repeat('01', 60), 'hex')`);
    await fixture.db.query(`alter table muster.deliveries enable trigger guard_delivery`);
    expect((await read(body.delivery_id)).body.sent.hidden).toBe('it was sealed with another MUSTER_SECRET_KEY');
    expectProblem(await replay(body.delivery_id), 409, 'delivery_sealed');
  });

  test('are replayed as a new one that names the old, and the audit says who', async () => {
    const { body: first } = await post(fixture, sign('repo'));
    expectProblem(await replay(first.delivery_id), 409, 'delivery_waiting');
    await work(TENANT, 'repo');
    expectProblem(await replay(first.delivery_id, fixture.keys.reader), 403, 'forbidden');
    const again = await replay(first.delivery_id);
    expect(again.status).toBe(202);
    expect(again.headers.location).toBe(`/v1/deliveries/${again.body.delivery_id}`);
    expect(again.body).toMatchObject({ state: 'received', replay_of: first.delivery_id, hook: 'repo' });
    const sent = async (id: string) => (await read(id)).body.sent;
    expect(await sent(again.body.delivery_id)).toEqual(await sent(first.delivery_id));
    const { body: audit } = await fixture.ask('/v1/audit?limit=1');
    expect(audit.entries).toEqual([
      {
        at: clock.now().toISOString(),
        action: 'delivery_replayed',
        key_id: expect.any(String),
        details: { hook: 'repo', delivery_id: first.delivery_id, replay_id: again.body.delivery_id },
      },
    ]);
  });

  test('are seen by their tenant alone', async () => {
    const { body } = await post(fixture, sign('foreign'));
    await work(OTHER_TENANT, 'foreign');
    expect((await fixture.ask('/v1/deliveries')).body.deliveries).toEqual([]);
    expectProblem(await read(body.delivery_id), 404, 'delivery_not_found');
    expectProblem(await replay(body.delivery_id), 404, 'delivery_not_found');
    expectProblem(await fixture.ask(`/v1/deliveries?after=${body.delivery_id}`), 400, 'unknown_cursor');
    const theirs = await fixture.ask('/v1/deliveries', { key: fixture.keys.other });
    expect(theirs.body.deliveries).toHaveLength(1);
  });
});

test('nothing of a body, a header or a secret is in a log or, as text, in the database', async () => {
  const canary = canarySecret();
  const secret = SECRETS.repo!;
  SECRETS.repo = canarySecret();
  try {
    const sent = sign('repo', { id: 'c-1', body: { ref: canary, token: canary } });
    await post(fixture, sent, { headers: { ...sent.headers, 'x-more': canary, cookie: canary } });
    await post(fixture, sent, { headers: { ...sent.headers, 'x-hub-signature-256': canary } });
    await post(fixture, sent, { hook: canary.replaceAll('/', '') });
    await post(fixture, sign('alerts'), { headers: { authorization: `Bearer ${canary}` } });
    await post(fixture, sign('repo', { id: 'c-1', body: { ref: canary, other: canary } }));
    const stored = await fixture.db.query(`select *, encode(body, 'escape') as text from muster.deliveries`);
    expect(stored.rowCount).toBe(1);
    for (const hidden of [canary, SECRETS.repo, sent.headers['x-hub-signature-256']!]) {
      expect(findCanary(hidden, fixture.logs)).toEqual([]);
      expect(findCanary(hidden, stored.rows)).toEqual([]);
    }
    expect(fixture.logs.join('')).toContain('signature_malformed');
  } finally {
    SECRETS.repo = secret;
  }
});
