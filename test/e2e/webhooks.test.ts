/**
 * Webhooks through real processes: what a sender was answered for becomes its runs once, whoever dies on the way.
 */
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@muster/results';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const RUNBOOKS = fileURLToPath(new URL('./hook-runbooks.ts', import.meta.url));
const TOKEN = 'token-of-the-alerts';
const KEY = Buffer.from('0123456789abcdef01234567');

let cluster: Cluster;
beforeAll(async () => {
  const [queue] = await testQueueBackends();
  cluster = await startCluster(queue!, {
    MUSTER_RUNBOOKS: RUNBOOKS,
    MUSTER_CREDENTIAL_ALERTS_TOKEN: TOKEN,
    MUSTER_CREDENTIAL_ORDERS_KEY: `whsec_${KEY.toString('base64')}`,
  });
});

function group(...machines: string[]): string {
  const alerts = machines.map((machine) => ({
    status: 'firing',
    labels: { alertname: 'Load', machine },
    startsAt: '2026-03-01T08:30:00Z',
    fingerprint: `f-${machine}`,
  }));
  return JSON.stringify({ version: '4', groupKey: '{}', status: 'firing', receiver: 'muster', alerts });
}

async function post(
  hook: string,
  body: string,
  headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
) {
  const response = await fetch(`${cluster.address}/v1/hooks/${hook}`, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as Body };
}

function sign(id: string, body: string): Record<string, string> {
  const seconds = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', KEY).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}

const count = async (from: string, values: unknown[] = []) =>
  Number((await cluster.db.query<{ count: number }>(`select count(*) from muster.${from}`, values)).rows[0]!.count);
const runsOf = (id: string) => count('runs where delivery_id = $1', [id]);
/** Lets the claims of dead workers be good again at once. */
const passLeases = () => cluster.db.query(`update muster.deliveries set next_at = now() where state = 'received'`);
const worked = (id: string): Promise<Body> =>
  waitFor(
    () => cluster.ask('GET', `/v1/deliveries/${id}`),
    (delivery) => delivery.state !== 'received',
    { what: 'the end of the delivery' },
  );

describe('a delivery', () => {
  test('is answered before its run, which names it, ends, and is given to the sender that asks again', async () => {
    const raw = JSON.stringify({ type: 'order.stuck', data: { machine: 'm-1' } });
    const first = await post('orders', raw, sign('msg_1', raw));
    expect(first).toMatchObject({ status: 202, body: { state: 'received' } });
    const id = first.body.delivery_id;
    expect(await runsOf(id)).toBe(0);
    const worker = await cluster.startWorker();
    const { counts, result } = await worked(id);
    expect(counts).toEqual({ runs: 1, collapsed: 0, declined: 0, skipped: 0 });
    const runId = result.runs[0].run_id;
    expect(await cluster.ended(runId)).toMatchObject({ run_status: 'completed', delivery_id: id });
    const again = await post('orders', raw, sign('msg_1', raw));
    expect(again).toMatchObject({ status: 200, body: { delivery_id: id, state: 'done', run_ids: [runId] } });
    expect((await post('orders', `${raw} `, sign('msg_1', `${raw} `))).status).toBe(409);
    const { runs } = await cluster.ask('GET', '/v1/runs?session=hook:orders');
    expect(runs.map((run: Body) => run.run_id)).toEqual([runId]);
    await worker.kill();
  });

  test('whose worker is killed between the row and the run begins it once, by another', async () => {
    const none = { max_open_runs: null, max_subjects_per_run: null, max_in_flight_chunks: null };
    await cluster.ask('PUT', '/v1/quota', none);
    const { body } = await post('alerts', group('m-2', 'm-3'));
    const id = body.delivery_id;
    const holding = openDatabase({ url: cluster.env.DATABASE_URL as string, maxConnections: 1 });
    const free = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    // Whoever accepts a run waits for its tenant's row: there the worker stands in the middle of the delivery.
    const hold = holding.transaction(async (tx) => {
      await tx.query(`select from muster.tenant_quotas where tenant = 'default' for update`);
      held.resolve();
      await free.promise;
    });
    await held.promise;
    const doomed = await cluster.startWorker();
    await waitFor(
      () =>
        cluster.db.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like '%tenant_quotas%'`,
        ),
      (waiting) => waiting.rowCount > 0,
      { what: 'the worker to stand in the middle of the delivery' },
    );
    expect(await doomed.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    free.resolve();
    await hold;
    await holding.close();
    await waitFor(
      () =>
        cluster.db.query(`select from pg_stat_activity where datname = current_database() and state like 'idle in%'`),
      (open) => open.rowCount === 0,
      { what: 'the dead worker’s transaction to be undone' },
    );
    expect(await runsOf(id)).toBe(0);
    expect(await cluster.ask('GET', `/v1/deliveries/${id}`)).toMatchObject({ state: 'received', attempts: 1 });
    await passLeases();
    const heir = await cluster.startWorker();
    expect(await worked(id)).toMatchObject({ state: 'done', attempts: 2, counts: { runs: 2 } });
    expect(await runsOf(id)).toBe(2);
    expect((await post('alerts', group('m-2', 'm-3'))).body).toMatchObject({ delivery_id: id, state: 'done' });
    await heir.kill();
  });
});

test('workers that are killed again and again lose no delivery and begin none twice', async () => {
  const machines = Array.from({ length: 160 }, (_, nth) => `machine-${nth}`);
  const sent = await Promise.all(machines.map((machine) => post('alerts', group(machine))));
  const stormed = await Promise.all(
    machines.map((machine, nth) => post('storms', group(machine, `shared-${nth % 2}`))),
  );
  expect([...sent, ...stormed].map(({ status }) => status)).toEqual(Array(320).fill(202));
  const done = () => count(`deliveries where state = 'done' and hook in ('alerts', 'storms')`);
  const before = await done();
  for (const enough of [5, 60, 140]) {
    const pair = await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    await waitFor(done, (found) => found >= before + enough, { what: `${enough} deliveries` });
    await Promise.all(pair.map((worker) => worker.kill('SIGKILL')));
    await passLeases();
  }
  const worker = await cluster.startWorker();
  await waitFor(done, (found) => found === before + 320, { what: 'all deliveries' });
  const ids = (answers: typeof sent) => answers.map(({ body }) => body.delivery_id);
  expect(await count('runs where delivery_id = any($1)', [ids(sent)])).toBe(160);
  // One run a machine, and one each for the two that all deliveries share.
  expect(await count('runs where delivery_id = any($1)', [ids(stormed)])).toBe(162);
  const { rows } = await cluster.db.query('select key, count from muster.hook_collapses where count > 1 order by key');
  expect(rows).toEqual([0, 1].map((nth) => ({ key: `subject:shared-${nth}`, count: 80 })));
  await worker.kill();
});
