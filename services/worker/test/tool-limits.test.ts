/** Limits of tools over several worker processes and their threads: a target never gets more than it can bear. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalJson } from '@muster/envelope';
import {
  acceptRun,
  createApiKey,
  type Database,
  ensureSession,
  getRun,
  isFinal,
  migrate,
  openDatabase,
  pageSubjects,
  type SubjectRecord,
} from '@muster/results';
import { type SpawnedService, spawnService, testDatabase, waitFor } from '@muster/testkit';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ChartThreads } from '../src/index.ts';
import { type BusyTarget, openBusyTarget } from './busy-target.ts';
import { LIMITS } from './limited-runbooks.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const RUNBOOKS = fileURLToPath(new URL('./limited-runbooks.ts', import.meta.url));
const BUILD = { MUSTER_RUNBOOKS: RUNBOOKS, MUSTER_BUILD_ID: 'limits-test' };
const TENANT = 'acme';

let folder: string;
let db: Database;
let sessionId: string;
let definitions: ReadonlyMap<string, string>;
let startWorker: () => Promise<SpawnedService>;
let workers: SpawnedService[];
let target: BusyTarget;

beforeAll(async () => {
  const database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'muster-limits-'));
  db = openDatabase({ url: database.url, maxConnections: 4 });
  await migrate(db);
  const { id: keyId } = await createApiKey(db, { tenant: TENANT, name: 'tests', role: 'runner' });
  sessionId = (await ensureSession(db, { tenant: TENANT, keyId, name: 'default' })).id;
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: undefined,
    S3_BUCKET: undefined,
    MUSTER_DATA_DIR: join(folder, 'data'),
    MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
    MUSTER_CHART_THREADS: '2',
    MUSTER_LOCK_MS: '3000',
    MUSTER_STALL_CHECK_MS: '1000',
    ...BUILD,
  };
  startWorker = async () => {
    const worker = spawnService(MAIN, { env });
    await worker.ready((message) => (message as { type?: string }).type === 'ready');
    return worker;
  };
  workers = await Promise.all([startWorker(), startWorker()]);
  // The test runner rewrites what it loads, and digests with it: a thread loads the runbooks as the worker does.
  const data = { runbooksModule: RUNBOOKS, buildId: BUILD.MUSTER_BUILD_ID };
  const loader = new ChartThreads({ count: 1, heapMb: 64, data, log: pino({ level: 'silent' }) });
  await loader.start();
  await loader.close();
  definitions = loader.definitions;
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await db.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  target = await openBusyTarget();
});
afterEach(() => target.close());

async function start(name: string, sites: readonly string[], hosts: number): Promise<string> {
  const accepted = await acceptRun(db, {
    tenant: TENANT,
    session: { id: sessionId },
    definition: { digest: definitions.get(name)!, name, version: '1.0.0', declaration: { name } },
    input: { digest: randomUUID(), canonical: canonicalJson({ url: target.url, sites, hosts }) },
    form: 'fleet',
    now: new Date('2026-05-05T05:05:05Z'),
    uploads: [],
  });
  if (accepted.outcome !== 'accepted') throw new Error(`the run was not accepted: ${accepted.outcome}`);
  return accepted.run.id;
}

async function ended(runId: string): Promise<readonly SubjectRecord[]> {
  const scope = { tenant: TENANT, runId };
  const run = await waitFor(
    () => getRun(db, scope),
    (seen) => seen !== undefined && isFinal(seen.status),
    { what: 'the end of the run', timeoutMs: 60_000 },
  );
  expect(run).toMatchObject({ status: 'completed' });
  return (await pageSubjects(db, { ...scope, limit: 1000 }))?.rows ?? [];
}

const outcomes = (rows: readonly SubjectRecord[]) => [...new Set(rows.map((row) => row.verdict ?? row.reasonCode))];

test('over two processes of two threads, neither a tool nor a target has more calls at once than declared', async () => {
  const rows = await ended(await start('limited_hosts', ['north', 'south', 'west'], 200));
  expect([rows.length, outcomes(rows)]).toEqual([200, ['answered']]);
  expect(target.most.all).toBeLessThanOrEqual(LIMITS.concurrency);
  expect(target.most.site).toBeLessThanOrEqual(LIMITS.perTarget.concurrency);
  // And more is used of what is allowed than one call after the other.
  expect(target.most.all).toBeGreaterThan(1);
  expect([...target.requests.values()].reduce((sum, count) => sum + count, 0)).toBe(200);
});

test('a target that says it is busy is asked again after the time it named, and no subject is lost', async () => {
  target.refuse('north', 4, '1');
  target.refuse('south', 2);
  for (const name of ['limited_hosts', 'unlimited_hosts']) {
    const rows = await ended(await start(name, ['north', 'south'], 60));
    expect([rows.length, outcomes(rows)]).toEqual([60, ['answered']]);
    target.refuse('north', 4, '1');
  }
});

test('a target that stays busy costs its own subjects, by its name, and is hardly asked', async () => {
  target.refuse('north', Number.POSITIVE_INFINITY, '3600');
  const rows = await ended(await start('limited_hosts', ['north', 'south'], 80));
  for (const row of rows) {
    if (row.target === 'south') expect(row).toMatchObject({ outcome: 'verdict', verdict: 'answered' });
    else expect(row).toMatchObject({ outcome: 'not_checked', reasonCode: 'target_busy' });
  }
  const busy = rows.filter((row) => row.target === 'north');
  expect(busy).toHaveLength(40);
  for (const { reason } of busy) expect(reason).toMatch(/^the tool 'ask_limited' found its target 'north' busy, /);
  // What was under way on each worker when it heard.
  expect(target.requests.get('north')).toBeLessThanOrEqual(2 * LIMITS.perTarget.concurrency);
});

test('a worker that is killed in the middle of its calls gives its slots back, and the run ends', async () => {
  const runId = await start('limited_hosts', ['east'], 120);
  await target.reached(LIMITS.perTarget.concurrency);
  await workers.pop()!.kill('SIGKILL');
  const rows = await ended(runId);
  expect([rows.length, outcomes(rows)]).toEqual([120, ['answered']]);
  expect(target.most.site).toBeLessThanOrEqual(LIMITS.perTarget.concurrency);
});
