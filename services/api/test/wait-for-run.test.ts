/** Waiting for a run: woken by its changes, without asking while nothing changes. */
import { claimRun, type Database, getRun, type RunRecord } from '@muster/results';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RunChanges } from '../src/run-changes.ts';
import { expectProblem, type Fixture, openFixture, TENANT } from './fixture.ts';
import { assess, finish } from './run-stages.ts';

const LONG_MS = 30_000;
const FRACTION_MS = 20;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({ maxWaiters: 3 });
});
afterEach(() => fixture.close());

async function accept(runbook = 'anything'): Promise<string> {
  const answer = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook, input: {} } });
  return answer.body.run_id;
}

const waitFor = (runId: string, query = '') => fixture.ask(`/v1/runs/${runId}?wait_ms=${LONG_MS}${query}`);
const claim = (runId: string) => claimRun(fixture.db, { runId, phase: 'procedure', dispatchNo: 1 });
const rowOf = async (runId: string): Promise<RunRecord> => (await getRun(fixture.db, { tenant: TENANT, runId }))!;

/** Resolves when so many wait. */
async function untilWaiting(count: number): Promise<void> {
  while (fixture.changes.waiting < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('a request that waits', () => {
  test('is answered when the run is over, with its envelope when that is asked for', async () => {
    const runId = await accept();
    const waiting = waitFor(runId, '&include=envelope');
    await untilWaiting(1);
    await finish(fixture, runId);
    const { status, body } = await waiting;
    expect(status).toBe(200);
    expect(body).toMatchObject({ run_status: 'completed', answer_kind: 'envelope', envelope: { result: {} } });
    expect(body.envelope).toEqual((await fixture.ask(`/v1/runs/${runId}/envelope`)).body);
    expect(fixture.changes.waiting).toBe(0);
  });

  test('does not end with a change that is not the end, unless it asked for anything newer', async () => {
    const runId = await accept();
    const { revision } = await rowOf(runId);
    const forEnd = waitFor(runId);
    const forNews = waitFor(runId, `&after_revision=${revision}`);
    await untilWaiting(2);
    await claim(runId);
    expect((await forNews).body).toMatchObject({ run_status: 'running', checkpoint_revision: revision + 1 });
    expect(fixture.changes.waiting).toBe(1);
    await finish(fixture, runId);
    expect((await forEnd).body.run_status).toBe('completed');
  });

  test('is answered at once when there is nothing to wait for', async () => {
    const runId = await accept();
    const older = await waitFor(runId, '&after_revision=0');
    expect(older.body).toMatchObject({ run_status: 'pending' });
    await finish(fixture, runId, { kind: 'failure', body: { code: 'chart_failed', message: 'it broke' } });
    const final = await waitFor(runId, '&after_revision=1000&include=envelope');
    expect(final.body).toMatchObject({ run_status: 'failed', failure: { code: 'chart_failed', message: 'it broke' } });
  });

  test('is answered with the run as it is when the time is over', async () => {
    const runId = await accept();
    const { body } = await fixture.ask(`/v1/runs/${runId}?wait_ms=${FRACTION_MS}&include=envelope`);
    expect(body).toMatchObject({ run_status: 'pending' });
    expect(body.envelope).toBeUndefined();
    expect(fixture.changes.waiting).toBe(0);
  });

  test('gives its place free when the caller goes away', async () => {
    const address = await fixture.listen();
    const runId = await accept();
    const left = new AbortController();
    const headers = { authorization: `Bearer ${fixture.keys.reader}` };
    const waiting = fetch(`${address}/v1/runs/${runId}?wait_ms=${LONG_MS}`, { headers, signal: left.signal });
    await untilWaiting(1);
    left.abort();
    await expect(waiting).rejects.toThrow();
    while (fixture.changes.waiting > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('is refused when as many wait as may, and taken again when one of them is done', async () => {
    const runId = await accept();
    const waiting = [waitFor(runId), waitFor(runId), waitFor(runId)];
    await untilWaiting(3);
    const refused = await waitFor(runId);
    expectProblem(refused, 429, 'too_many_waiters');
    expect(refused.headers['retry-after']).toBe('5');
    // Who does not wait needs no place.
    expect((await fixture.ask(`/v1/runs/${runId}`)).status).toBe(200);
    await finish(fixture, runId);
    for (const { body } of await Promise.all(waiting)) expect(body.run_status).toBe('completed');
    expect((await waitFor(await accept(), '&after_revision=0')).status).toBe(200);
  });

  test('is answered with what is known when this process ends', async () => {
    const runId = await accept();
    const waiting = waitFor(runId);
    await untilWaiting(1);
    await fixture.changes.close();
    expect((await waiting).body.run_status).toBe('pending');
  });

  test('is not found where another tenant asks', async () => {
    const runId = await accept();
    const foreign = await fixture.ask(`/v1/runs/${runId}?wait_ms=${LONG_MS}`, { key: fixture.keys.other });
    expectProblem(foreign, 404, 'run_not_found');
  });

  test.each([
    'wait_ms=30001',
    'wait_ms=-1',
    'wait_ms=x',
    'after_revision=-1',
    'after_revision=2147483648',
    'include=rows',
  ])('is refused with a wish that cannot be: %s', async (query) => {
    expectProblem(await fixture.ask(`/v1/runs/${await accept()}?${query}`), 400, 'invalid_request');
  });
});

describe('the listener', () => {
  /** The database, and every statement that is sent through it. */
  function counted(db: Database): { db: Database; statements: string[] } {
    const statements: string[] = [];
    return {
      statements,
      db: {
        ...db,
        query: (text, values) => {
          statements.push(text);
          return db.query(text, values);
        },
      },
    };
  }

  test('asks nothing while nothing changes, and one query for all who wait for one run', async () => {
    const { db, statements } = counted(fixture.db);
    const errors: unknown[] = [];
    const changes = new RunChanges(db, { maxWaiters: 1_000, onError: (error) => errors.push(error) });
    const run = await rowOf(await accept());
    const others = await Promise.all([accept(), accept()].map(async (id) => rowOf(await id)));
    const watches = Array.from({ length: 300 }, () => changes.watch(run));
    const bystanders = others.map((other) => changes.watch(other));
    // Once connected, everything that is watched is read for what was missed.
    while (statements.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const read = statements.length;
    const woken = Promise.all(watches.map((watch) => watch.next({ timeoutMs: LONG_MS })));
    const idle = bystanders.map((watch) => watch.next({ timeoutMs: LONG_MS }));
    await claim(run.id);
    expect(new Set(await woken)).toEqual(new Set(['changed']));
    expect(new Set(watches.map((watch) => watch.newest)).size).toBe(1);
    expect(watches[0]!.newest.status).toBe('running');
    expect(statements.length - read).toBe(1);
    expect(errors).toEqual([]);
    await changes.close();
    expect(await Promise.all(idle)).toEqual(['ended', 'ended']);
  });

  test('what changes while its connection is gone is seen when it is back', async () => {
    const errors: unknown[] = [];
    const changes = new RunChanges(fixture.db, { maxWaiters: 10, onError: (error) => errors.push(error) });
    const runs = await Promise.all([accept(), accept()].map(async (id) => rowOf(await id)));
    const watches = runs.map((run) => changes.watch(run));
    const first = watches[0]!.next({ timeoutMs: LONG_MS });
    await claim(runs[0]!.id);
    expect(await first).toBe('changed');
    const second = watches[1]!.next({ timeoutMs: LONG_MS });
    const { rowCount } = await fixture.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen%muster_run%'`,
    );
    expect(rowCount).toBeGreaterThan(0);
    await claim(runs[1]!.id);
    expect(await second).toBe('changed');
    expect(watches[1]!.newest.status).toBe('running');
    for (const watch of watches) watch.release();
    expect(changes.waiting).toBe(0);
    await changes.close();
  });
});

test('settlements wake nobody, and the counts that are shown are those of the moment', async () => {
  const runId = await accept('fleet_check');
  await assess(fixture, runId);
  const { body } = await fixture.ask(`/v1/runs/${runId}?wait_ms=${FRACTION_MS}`);
  expect(body.subjects).toMatchObject({ total: 6, settled: 6 });
});
