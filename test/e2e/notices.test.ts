/** Notices on real processes: from the end of a sweep to a receiver's hands, whatever dies, hangs or refuses on the way. */
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const RUNBOOKS = fileURLToPath(new URL('./notice-runbooks.ts', import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly body: Body;
}

/** A receiver that keeps what comes, and answers as it is told: by default 204 at once. */
class Receiver {
  readonly received: Received[] = [];
  answer: (response: ServerResponse, nth: number) => void = (response) => response.writeHead(204).end();
  readonly #server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const raw = Buffer.concat(parts).toString('utf8');
      this.received.push({ path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw) });
      this.answer(response, this.received.length);
    });
  });

  async open(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  /** `host`: a name or an address of this machine. */
  url(path = '/', host = '127.0.0.1'): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async got(count: number): Promise<Received[]> {
    const enough = (received: Received[]) => received.length >= count;
    return await waitFor(() => this.received, enough, { what: `${count} notices`, timeoutMs: 25_000 });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

const [queue] = (await testQueueBackends()).filter(({ name }) => name === 'postgres');
let cluster: Cluster;
let receiver: Receiver;
let scope: string;
let nth = 0;
const urls: string[] = [];

beforeAll(async () => {
  cluster = await startCluster(queue!, { MUSTER_RUNBOOKS: RUNBOOKS, MUSTER_NOTIFY_PRIVATE: 'allow' });
  await cluster.startWorker();
});
beforeEach(async () => {
  receiver = new Receiver();
  await receiver.open();
  urls.push(receiver.url());
  scope = `scope-${++nth}`;
});
afterEach(async () => {
  for (const { name } of (await cluster.ask('GET', '/v1/notifiers')).notifiers) {
    await fetch(`${cluster.address}/v1/notifiers/${name}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${cluster.key}` },
    });
  }
  await receiver.close();
});
afterAll(() => {
  const said = cluster.processes.flatMap(({ stdout, stderr }) => [...stdout, ...stderr]).join('\n');
  for (const hidden of [SECRET.slice(6), ...urls]) expect(said).not.toContain(hidden);
});

const lamp = (number: number, state: 'broken' | 'dark') =>
  writeFile(join(cluster.folder, 'signals', `lamp-${number}`), state);
const mend = (number: number) => rm(join(cluster.folder, 'signals', `lamp-${number}`), { force: true });
const notifier = (over: object = {}, name = 'ops') =>
  cluster.ask('PUT', `/v1/notifiers/${name}`, {
    url: receiver.url(),
    format: 'muster',
    secret: SECRET,
    scopes: [scope],
    ...over,
  });
const notices = async (query = '') => (await cluster.ask('GET', `/v1/notices?${query}`)).notices;

async function sweep(lamps = 3): Promise<string> {
  const runId = await cluster.startRun('lamps', { lamps }, { scope, now: undefined });
  expect(await cluster.ended(runId)).toMatchObject({ run_status: 'completed' });
  return runId;
}

test('a sweep that finds something new tells it once, signed, and its end too; what goes on as it was is not told', async () => {
  await notifier();
  await sweep();
  await lamp(1, 'broken');
  const runId = await sweep();
  const [told] = await receiver.got(1);
  const headers = told!.headers as Record<string, string>;
  expect(new Webhook(SECRET).verify(told!.raw, headers)).toMatchObject({
    type: 'muster.sweep.changed',
    version: 1,
    id: headers['webhook-id'],
    run_id: runId,
    runbook: 'lamps',
    scope,
    sentence: '1 newly a problem, 0 still a problem, 2 still ok',
    changes: [
      { change: 'newly_problem', subject: 'lamp-1', target: 'high', verdict: 'out', reason: 'it does not shine' },
    ],
    more: 0,
  });
  expect(() => new Webhook(SECRET).verify(`${told!.raw} `, headers)).toThrow();
  await sweep();
  await mend(1);
  await sweep();
  const all = await receiver.got(2);
  expect(all.map(({ body }) => body.changes.map(({ change }: Body) => change))).toEqual([['newly_problem'], ['fixed']]);
  expect((await notices('notifier=ops')).map(({ state }: Body) => state)).toEqual(['sent', 'sent']);
});

test('an attempt that fails is made again with the same id and the same bytes', async () => {
  await notifier();
  receiver.answer = (response, count) => response.writeHead(count === 1 ? 500 : 204).end();
  await cluster.ask('POST', '/v1/notifiers/ops/test', {});
  const [first, second] = await receiver.got(2);
  expect(second!.raw).toBe(first!.raw);
  expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
  for (const { raw, headers } of [first!, second!]) new Webhook(SECRET).verify(raw, headers as Record<string, string>);
});

test('a redirect is not followed', async () => {
  await notifier();
  receiver.answer = (response) => response.writeHead(307, { location: receiver.url('/elsewhere') }).end();
  await cluster.ask('POST', '/v1/notifiers/ops/test', {});
  const tried = (list: Body[]) => list[0]?.last_status === 307;
  await waitFor(() => notices('notifier=ops'), tried, { what: 'the attempt' });
  expect(receiver.received.map(({ path }) => path)).toEqual(['/']);
});

test('what nobody wants any more is dead at once, and can be sent again by hand', async () => {
  await notifier();
  receiver.answer = (response, count) => response.writeHead(count === 1 ? 410 : 204).end();
  await cluster.ask('POST', '/v1/notifiers/ops/test', {});
  const dead = (list: Body[]) => list.length === 1;
  const [{ notice_id: id }] = await waitFor(() => notices('state=dead&notifier=ops'), dead, { what: 'its death' });
  const { notice_id: again } = await cluster.ask('POST', `/v1/notices/${id}/replay`, {});
  const [first, second] = await receiver.got(2);
  expect(second!.raw).toBe(first!.raw);
  expect(second!.headers['webhook-id']).toBe(again);
});

test('a receiver that never answers holds up no other', async () => {
  const quick = new Receiver();
  await quick.open();
  try {
    receiver.answer = () => undefined;
    await notifier({}, 'slow');
    await notifier({ url: quick.url() }, 'quick');
    for (let at = 0; at < 20; at++) await cluster.ask('POST', '/v1/notifiers/slow/test', {});
    await receiver.got(4);
    await cluster.ask('POST', '/v1/notifiers/quick/test', {});
    await quick.got(1);
    expect(receiver.received.length).toBeLessThanOrEqual(8);
  } finally {
    await quick.close();
  }
});

test('kill -9 between the answer and the notice: it comes all the same, with the same id', async () => {
  await notifier();
  await sweep();
  await lamp(0, 'broken');
  // The first attempt is held open, so that its worker dies in it.
  receiver.answer = (response, count) => (count === 1 ? undefined : response.writeHead(204).end());
  await sweep();
  const [held] = await receiver.got(1);
  const workers = cluster.processes.slice(1);
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  // The claim is good for half a minute; here it is over.
  await cluster.db.query(`update muster.notices set next_at = now() where state = 'pending'`);
  await cluster.startWorker();
  const [, second] = await receiver.got(2);
  expect(second!.headers['webhook-id']).toBe(held!.headers['webhook-id']);
  expect(second!.raw).toBe(held!.raw);
  await mend(0);
});

test('a collector that sees nothing any more is one entry, not a hundred', async () => {
  await notifier();
  await sweep(100);
  await Promise.all(Array.from({ length: 100 }, (_, number) => lamp(number, 'dark')));
  await sweep(100);
  const [{ body }] = (await receiver.got(1)) as [Received];
  expect(body).toMatchObject({ changes: [], outages: [{ target: 'high', reason_code: 'subject_failed', count: 100 }] });
  await Promise.all(Array.from({ length: 100 }, (_, number) => mend(number)));
});

test('what is muted is not told and stays counted; when the mute ends, what is wrong still is told', async () => {
  await notifier();
  await sweep();
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const { mute_id: mute } = await cluster.ask('POST', '/v1/mutes', {
    reason: 'works',
    until,
    subject: 'lamp-2',
    scope,
  });
  await lamp(2, 'broken');
  await sweep();
  const dropped = (list: Body[]) => list.length === 1;
  const [notice] = await waitFor(() => notices('state=dropped&notifier=ops'), dropped, { what: 'the muted notice' });
  expect(notice).toMatchObject({ last_error: 'muted', attempts: 1 });
  expect((await cluster.ask('GET', `/v1/runs/${notice.run_id}/envelope`)).result.changes.counts.newly_problem).toBe(1);
  await fetch(`${cluster.address}/v1/mutes/${mute}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${cluster.key}` },
  });
  await sweep();
  const [{ body }] = (await receiver.got(1)) as [Received];
  expect(body.changes).toMatchObject([{ change: 'newly_problem', subject: 'lamp-2' }]);
  await mend(2);
});

describe('other forms', () => {
  test('Slack is told in its own, and everything that is wrong now on demand', async () => {
    await notifier({ format: 'slack' });
    await sweep();
    await lamp(1, 'broken');
    await sweep();
    const [told] = await receiver.got(1);
    expect(told!.body).toMatchObject({ text: expect.stringContaining('1 newly a problem'), blocks: expect.any(Array) });
    await cluster.ask('POST', '/v1/notifiers/ops/announce', {});
    const [, announced] = await receiver.got(2);
    expect(JSON.stringify(announced!.body)).toContain('lamp-1');
    await mend(1);
  });

  test('an envelope is forwarded as it is stored, and posted to the callback of the run that names one', async () => {
    await notifier({ format: 'envelope', scopes: null });
    const callback = { url: receiver.url('/back'), secret: SECRET };
    const runId = await cluster.startRun('lamps', { lamps: 1 }, { callback, now: undefined });
    const got = await receiver.got(2);
    const envelope = await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
    expect(got.map(({ path }) => path).sort()).toEqual(['/', '/back']);
    for (const { body, raw, headers } of got) {
      new Webhook(SECRET).verify(raw, headers as Record<string, string>);
      expect(body).toMatchObject({ type: 'muster.run.finished', run: { run_id: runId, run_status: 'completed' } });
      expect(JSON.stringify(body.envelope)).toBe(JSON.stringify(envelope));
    }
    expect(new Set(got.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });
});

test('a name that resolves to this machine is refused when it is connected to', async () => {
  const strict = await startCluster(queue!, { MUSTER_RUNBOOKS: RUNBOOKS });
  await strict.startWorker();
  const body = { url: receiver.url('/', 'localhost'), format: 'muster' };
  await strict.ask('PUT', '/v1/notifiers/inside', body);
  await strict.ask('POST', '/v1/notifiers/inside/test', {});
  const tried = ({ notices: [first] }: Body) => first?.last_error !== undefined;
  const page = await waitFor(() => strict.ask('GET', '/v1/notices'), tried, { what: 'the attempt' });
  expect(page.notices[0]).toMatchObject({ state: 'pending', last_error: 'address_refused' });
  expect(receiver.received).toEqual([]);
});
