/** Deliveries become runs: each once, each alert by name, whatever else waits or fails. */
import { randomBytes } from 'node:crypto';
import { newArtifactRef } from '@muster/artifacts';
import { SecretBox } from '@muster/host';
import { claimDeliveries, type DeliveryRecord, getRun, getRunCollapse, setTenantQuota } from '@muster/results';
import { canarySecret, findCanary, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { hookWithdrawer, inbox } from '../src/maintenance/inbox.ts';
import { benchTools } from './bench-runbooks.ts';
import { alertOf, COLLAPSING, groupOf, HOUR_MS, hookOf, keep, replay, strictCheck, worked } from './inbox-bench.ts';
import { type Bench, openBench, signal, TENANT } from './worker-bench.ts';

const open = (hooks = [hookOf()], over: Parameters<typeof openBench>[0] = {}) =>
  openBench({ tools: benchTools(), hooks, ...over });

const contextOf = (bench: Bench) => ({ ...bench, log: bench.log, now: () => new Date() });
/** One round of the inbox, without a worker around it. */
const round = (bench: Bench) => inbox(contextOf(bench), () => undefined).runOnce();
const until = (bench: Bench, sql: string, count: number) =>
  waitFor(
    () => bench.count('deliveries', sql),
    (found) => found === count,
    { what: `${count} deliveries ${sql}` },
  );

describe('a delivery', () => {
  test('becomes a run for each alert that fires, which ends as any other and names the delivery', async () => {
    const bench = await open();
    await bench.work();
    const delivery = await keep(bench, groupOf([alertOf('db-1'), alertOf('db-2', { status: 'resolved' })]));
    const { state, attempts, result } = await worked(bench, delivery);
    expect({ state, attempts, result }).toEqual({
      state: 'done',
      attempts: 1,
      result: {
        kind: 'alerts',
        runs: [{ run_id: expect.any(String), subject: 'f-db-1', alerts: 1 }],
        collapsed: [],
        declined: [],
        skipped: [
          { fingerprint: 'f-db-2', code: 'status_not_asked', reason: 'the hook does not ask for the status resolved' },
        ],
        doubts: [],
      },
    });
    const run = (await getRun(bench.db, { tenant: TENANT, runId: result.runs[0]!.run_id }))!;
    expect(run).toMatchObject({ runbookName: 'machine_check', priority: 1, deliveryId: delivery.id });
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect(await bench.count('sessions', `name = 'hook:disks' and owner_key_id is null`)).toBe(1);
    expect(await bench.count('inputs', `body::jsonb = '{"machine":"db-1"}'`)).toBe(1);
  });

  test('whose sender does not know how its subject is, declines it by name and runs nothing for it', async () => {
    const hook = hookOf({ format: 'grafana' });
    const bench = await open([hook]);
    const noData = alertOf('db-1', { labels: { alertname: 'DatasourceNoData', rulename: 'Disk', host: 'db-1' } });
    const broken = alertOf('db-2', { labels: { alertname: 'DatasourceError', rulename: 'Disk', host: 'db-2' } });
    const body = groupOf([noData, broken, alertOf('db-3')], { orgId: 1, title: 't', truncatedAlerts: 4 });
    const delivery = await keep(bench, body, { hook });
    await round(bench);
    const { result } = await worked(bench, delivery);
    expect(result.declined).toEqual([
      { fingerprint: 'f-db-1', reason: 'no_data' },
      { fingerprint: 'f-db-2', reason: 'datasource_error' },
    ]);
    expect(result.runs.map(({ subject }) => subject)).toEqual(['f-db-3']);
    expect(result.skipped).toEqual([]);
    expect(result.truncated).toEqual({ missing: 4, why: 'the sender cut 4 alerts off this group' });
  });

  test('that is a test of the connection runs nothing, and one that says nothing tells why', async () => {
    const hook = hookOf({ format: 'github', scheme: 'github', input: {} });
    const bench = await open([hook]);
    const ping = await keep(bench, { zen: 'x', hook_id: 1 }, { hook, headers: { 'x-github-event': 'ping' } });
    const cut = await keep(bench, '{"cut', { hook, headers: { 'x-github-event': 'push' } });
    await round(bench);
    expect(await worked(bench, ping)).toMatchObject({ state: 'done', result: { kind: 'ping', runs: [] } });
    expect(await worked(bench, cut)).toMatchObject({
      state: 'unreadable',
      result: { kind: 'unreadable', runs: [], skipped: [], failure: { code: 'body_cut_off' } },
    });
    expect(await bench.count('runs')).toBe(0);
  });

  test('with an input that the runbook does not take skips it by place, and hides no other', async () => {
    const hook = hookOf({
      runbook: 'strict_check',
      input: { machine: { from: 'labels.host' }, ref: { from: 'labels.ref', required: false } },
    });
    const bench = await open([hook], { runbooks: [strictCheck] });
    const alert = (host: string, more = {}) => alertOf(host, { labels: { alertname: 'x', host, ...more } });
    const ref = newArtifactRef();
    const delivery = await keep(bench, groupOf([alert('x'.repeat(50)), alert('db-1'), alert('db-2', { ref })]));
    await round(bench);
    const { result } = await worked(bench, delivery);
    expect(result.runs.map(({ subject }) => subject)).toEqual(['f-db-1']);
    expect(result.skipped).toEqual([
      {
        fingerprint: `f-${'x'.repeat(50)}`,
        code: 'input_invalid',
        reason: 'input/machine: expected at most 20 characters',
      },
      {
        fingerprint: 'f-db-2',
        code: 'unknown_artifact',
        reason: 'the input names an upload, and a hook has none',
      },
    ]);
  });
});

describe('a storm for one subject', () => {
  test('is one run with a count, however many workers take it in', async () => {
    const hook = hookOf(COLLAPSING);
    const bench = await open([hook]);
    const deliveries = await Promise.all(
      Array.from({ length: 60 }, (_, nth) =>
        keep(bench, groupOf([alertOf('db-1'), alertOf(`web-${nth % 3}`)]), { hook }),
      ),
    );
    await Promise.all(Array.from({ length: 4 }, () => bench.work()));
    await until(bench, `state = 'done'`, 60);
    expect(await bench.count('runs')).toBe(4);
    const counts = await bench.db.query('select key, count from muster.hook_collapses order by key');
    expect(counts.rows).toEqual([
      { key: 'subject:db-1', count: 60 },
      ...[0, 1, 2].map((nth) => ({ key: `subject:web-${nth}`, count: 20 })),
    ]);
    const { result } = await worked(bench, deliveries[7]!);
    expect(result.runs.length + result.collapsed.length).toBe(2);
  });

  test('joins a run that is not over however long it takes, and one that is over within the time of the hook', async () => {
    const held = signal();
    const begun = signal();
    const hook = hookOf(COLLAPSING);
    const bench = await open([hook], {
      tools: benchTools({
        async probe() {
          begun.give();
          await held.given;
          return 10;
        },
      }),
    });
    await bench.work();
    const start = Date.now();
    const send = async (afterMs: number) => {
      const receivedAt = new Date(start + afterMs);
      const { result } = await worked(bench, await keep(bench, groupOf([alertOf('db-1')]), { hook, receivedAt }));
      return [...result.runs, ...result.collapsed].map((run) => run.run_id).join();
    };
    const first = await send(0);
    await begun.given;
    expect(await send(5 * HOUR_MS)).toBe(first);
    held.give();
    await bench.ended((await getRun(bench.db, { tenant: TENANT, runId: first }))!);
    expect(await send(HOUR_MS - 1)).toBe(first);
    const second = await send(HOUR_MS);
    expect(second).not.toBe(first);
    expect(await send(HOUR_MS + 1)).toBe(second);
    expect(await getRunCollapse(bench.db, { tenant: TENANT, runId: first })).toMatchObject({ hook: 'disks', count: 3 });
    expect(await getRunCollapse(bench.db, { tenant: TENANT, runId: second })).toMatchObject({ count: 2 });
    expect(await getRunCollapse(bench.db, { tenant: 'umbrella', runId: second })).toBeUndefined();
  });

  test('that is replayed begins a run of its own, which the next ones join', async () => {
    const hook = hookOf(COLLAPSING);
    const bench = await open([hook]);
    const body = groupOf([alertOf('db-1'), alertOf('db-1', { fingerprint: 'other' })]);
    const first = await keep(bench, body, { hook });
    await round(bench);
    const again = await replay(bench, first, body);
    await round(bench);
    const later = await keep(bench, body, { hook, receivedAt: new Date(Date.now() + 1000) });
    await round(bench);
    const ids = async (delivery: DeliveryRecord) => {
      const { result } = await worked(bench, delivery);
      return { runs: result.runs.map((run) => run.run_id), joined: result.collapsed.map((run) => run.run_id) };
    };
    const [one, two, three] = [await ids(first), await ids(again), await ids(later)];
    expect(two.runs).toHaveLength(1);
    expect(two.runs).not.toEqual(one.runs);
    expect(three).toEqual({ runs: [], joined: two.runs });
    expect(again).toMatchObject({ replayOf: first.id });
  });
});

describe('a delivery that cannot be worked on', () => {
  test('is tried again for a while, then refused by name, and holds up no other', async () => {
    const bench = await open();
    const poison = await keep(bench, groupOf([alertOf('db-0')]), { box: new SecretBox(randomBytes(32)) });
    const others = await Promise.all([1, 2, 3].map((nth) => keep(bench, groupOf([alertOf(`db-${nth}`)]))));
    await round(bench);
    for (const other of others) expect(await worked(bench, other)).toMatchObject({ state: 'done' });
    for (let attempt = 2; attempt <= 6; attempt++) {
      await bench.db.query(`update muster.deliveries set next_at = now() where state = 'received'`);
      await round(bench);
    }
    expect(await worked(bench, poison)).toMatchObject({
      state: 'refused',
      attempts: 6,
      result: { runs: [], failure: { code: 'secret_box_unreadable', reason: 'nothing could be made of it' } },
    });
  });

  test('because each process that took it died, is refused in the end', async () => {
    const bench = await open();
    const delivery = await keep(bench, groupOf([alertOf('db-0')]));
    for (let attempt = 1; attempt <= 6; attempt++) {
      const hooks = [{ tenant: TENANT, hook: 'disks' }];
      expect(await claimDeliveries(bench.db, { hooks, limitPerHook: 5, leaseMs: 0 })).toHaveLength(1);
    }
    await round(bench);
    expect(await worked(bench, delivery)).toMatchObject({
      state: 'refused',
      result: { failure: { code: 'worker_died' } },
    });
    expect(await bench.count('runs')).toBe(0);
  });

  test('because the tenant has no run left waits, and what does not fit after an hour is skipped by name', async () => {
    const bench = await open();
    await setTenantQuota(bench.db, {
      tenant: TENANT,
      maxOpenRuns: 1,
      maxSubjectsPerRun: null,
      maxInFlightChunks: null,
    });
    const body = groupOf([alertOf('db-1'), alertOf('db-2')]);
    const fresh = await keep(bench, body);
    const old = await keep(bench, body, { receivedAt: new Date(Date.now() - HOUR_MS - 1) });
    await round(bench);
    expect(await bench.count('deliveries', `state = 'received' and attempts = 0 and next_at > now()`)).toBe(1);
    const { state, result } = await worked(bench, old);
    expect([state, result.runs.length]).toEqual(['done', 1]);
    expect(result.skipped).toEqual([
      { fingerprint: 'f-db-2', code: 'quota_exceeded', reason: `the tenant's quota max_open_runs of 1 is used up` },
    ]);
    await setTenantQuota(bench.db, {
      tenant: TENANT,
      maxOpenRuns: 9,
      maxSubjectsPerRun: null,
      maxInFlightChunks: null,
    });
    await bench.db.query(`update muster.deliveries set next_at = now() where state = 'received'`);
    await round(bench);
    expect((await worked(bench, fresh)).result.runs).toHaveLength(2);
  });

  test('because no worker has its hook is left to those that may, and refused when none came', async () => {
    const bench = await open();
    const delivery = await keep(bench, groupOf([alertOf('db-1')]), { hook: hookOf({ name: 'withdrawn' }) });
    const known = await keep(bench, groupOf([alertOf('db-2')]));
    await round(bench);
    const withdraw = () => hookWithdrawer(contextOf(bench), 60_000).runOnce();
    expect(await withdraw()).toEqual({ refused: 0 });
    await bench.db.query(`update muster.deliveries set next_at = now() - interval '1 hour' where state = 'received'`);
    expect(await withdraw()).toEqual({ refused: 1 });
    expect(await worked(bench, delivery)).toMatchObject({
      state: 'refused',
      result: { failure: { code: 'hook_withdrawn', reason: 'no worker has this hook any more' } },
    });
    expect(await worked(bench, known)).toMatchObject({ state: 'done' });
  });

  test('says nothing of its body in a log', async () => {
    const canary = canarySecret();
    const hook = hookOf({ input: { machine: { from: 'labels.host' } } });
    const bench = await open([hook]);
    await keep(bench, groupOf([alertOf(canary)]), { hook });
    await keep(bench, `{"cut ${canary}`, { hook });
    await keep(bench, groupOf([alertOf(canary)]), { hook, box: new SecretBox(randomBytes(32)) });
    await bench.work();
    await until(bench, `state <> 'received'`, 2);
    await waitFor(
      () => bench.logs.filter((line) => line.msg === 'a delivery failed').length,
      (failures) => failures > 0,
    );
    expect(findCanary(canary, bench.logs)).toEqual([]);
  });
});
