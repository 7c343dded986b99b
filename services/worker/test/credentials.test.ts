/**
 * Credentials through a real worker: the tools get them, on the worker's own thread and on those of its charts, and nothing
 * that is written holds one.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalJson } from '@muster/envelope';
import {
  acceptRun,
  createApiKey,
  type Database,
  ensureSession,
  getAnswer,
  getRun,
  isFinal,
  migrate,
  openDatabase,
  pageSubjects,
  type RunRecord,
  type SubjectRecord,
} from '@muster/results';
import {
  canarySecret,
  findCanary,
  findCanaryInFolder,
  type SpawnedService,
  spawnService,
  testDatabase,
  waitFor,
} from '@muster/testkit';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChartThreads } from '../src/index.ts';
import { fingerprint } from './credential-runbooks.ts';
import type { AnswerBody } from './worker-bench.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const RUNBOOKS = fileURLToPath(new URL('./credential-runbooks.ts', import.meta.url));
const TENANT = 'acme';

const inVariable = canarySecret();
const inCommand = canarySecret();
const inFiles = { north: canarySecret(), south: canarySecret() };
const secrets = [inVariable, inCommand, ...Object.values(inFiles)];

interface Ended {
  readonly run: RunRecord;
  readonly answer: AnswerBody;
  readonly rows: readonly SubjectRecord[];
}

let folder: string;
let db: Database;
let worker: SpawnedService;
let fleet: Ended;
let bounded: Ended;
let boundedGone: Ended;
let locked: Ended;

beforeAll(async () => {
  const database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'muster-credentials-'));
  db = openDatabase({ url: database.url, maxConnections: 4 });
  await migrate(db);
  const credentials = join(folder, 'outside', 'credentials');
  await mkdir(join(credentials, 'hosts'), { recursive: true });
  for (const [site, secret] of Object.entries(inFiles))
    await writeFile(join(credentials, 'hosts', site), `${secret}\n`);
  // What a site named ../north would reach if its name were taken for a path.
  await writeFile(join(credentials, 'north'), canarySecret());
  const runbooks = { MUSTER_RUNBOOKS: RUNBOOKS, MUSTER_BUILD_ID: 'credentials-test' };
  worker = spawnService(MAIN, {
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: undefined,
      S3_BUCKET: undefined,
      MUSTER_DATA_DIR: join(folder, 'data'),
      MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
      MUSTER_LOG_LEVEL: 'trace',
      MUSTER_LOG_FORMAT: 'json',
      MUSTER_CREDENTIALS_DIR: credentials,
      MUSTER_CREDENTIALS_COMMANDS: 'printenv',
      MUSTER_CREDENTIAL_INVENTORY: inVariable,
      MUSTER_CREDENTIAL_SIGNATURE: inCommand,
      ...runbooks,
    },
  });
  await worker.ready((message) => (message as { type?: string }).type === 'ready');
  // The test runner rewrites what it loads, and digests with it: a thread loads the runbooks as the worker does.
  const data = { runbooksModule: RUNBOOKS, buildId: runbooks.MUSTER_BUILD_ID };
  const loader = new ChartThreads({ count: 1, heapMb: 64, data, log: pino({ level: 'silent' }) });
  await loader.start();
  await loader.close();
  const { id: keyId } = await createApiKey(db, { tenant: TENANT, name: 'tests', role: 'runner' });
  const session = await ensureSession(db, { tenant: TENANT, keyId, name: 'default' });

  const carryOut = async (name: string, input: object = {}): Promise<Ended> => {
    const accepted = await acceptRun(db, {
      tenant: TENANT,
      session: { id: session.id },
      definition: { digest: loader.definitions.get(name)!, name, version: '1.0.0', declaration: { name } },
      input: { digest: randomUUID(), canonical: canonicalJson(input) },
      form: name === 'guarded_list' ? 'procedure' : 'fleet',
      now: new Date('2026-05-05T05:05:05Z'),
      uploads: [],
    });
    if (accepted.outcome !== 'accepted') throw new Error(`the run was not accepted: ${accepted.outcome}`);
    const scope = { tenant: TENANT, runId: accepted.run.id };
    const look = async () => (await getRun(db, scope))!;
    const run = await waitFor(look, ({ status }) => isFinal(status), { what: `the end of ${name}` });
    const rows = (await pageSubjects(db, { ...scope, limit: 100 }))?.rows ?? [];
    return { run, answer: (await getAnswer(db, scope))?.body, rows };
  };
  fleet = await carryOut('guarded_hosts');
  bounded = await carryOut('guarded_list', { sites: ['north'] });
  boundedGone = await carryOut('guarded_list', { sites: ['north', 'gone'] });
  locked = await carryOut('locked_plan');
});
afterAll(async () => {
  await worker.kill();
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

const proofs = (rows: readonly SubjectRecord[]) => rows.map((row) => (row.columns as { proof?: string } | null)?.proof);

test('each subject is asked with the credential of its own target', () => {
  expect(fleet.run).toMatchObject({ status: 'completed', subjectsTotal: 8 });
  const [north, south] = Object.values(inFiles).map((secret) => `${fingerprint(secret)} ${fingerprint(inCommand)}`);
  expect(proofs(fleet.rows).slice(0, 3)).toEqual([north, north, south]);
  expect(fleet.rows[0]?.columns).toMatchObject({
    shown:
      '{"host-token":"[credential host-token]","signature":"[credential signature]","text":"[credential signature]"}',
  });
});

test('a target without its credential cannot be covered, and the name of what is missing stands in row and answer', () => {
  for (const row of fleet.rows.slice(4, 6)) {
    expect(row).toMatchObject({
      outcome: 'cannot_cover',
      reasonCode: 'tool_needs_unresolved',
      reason:
        "the tool 'ask_host' needs the credential 'host-token' (a file), which is not there for the target 'gone'",
    });
  }
  expect(JSON.stringify(fleet.answer.af_coverage.cannot_cover)).toMatch(/'host-token' \(a file\).*'gone'/);
  expect(fleet.answer.result.subjects).toMatchObject({ ok: 3, not_checked: 1, cannot_cover: 4 });
});

test('a target whose name is a path leads nowhere', () => {
  for (const row of fleet.rows.slice(6)) {
    expect(row).toMatchObject({ outcome: 'cannot_cover', reasonCode: 'tool_needs_unresolved' });
    expect(row.reason).toMatch(/'host-token' \(a file\), .*credential_target_unfit/);
  }
});

test('a bounded run asks each target with its own, and without one it fails by the name of what is missing', () => {
  expect(bounded.run).toMatchObject({ status: 'completed' });
  expect(proofs(bounded.rows)).toEqual(Array(2).fill(`${fingerprint(inFiles.north)} ${fingerprint(inCommand)}`));
  expect(boundedGone.run).toMatchObject({ status: 'failed' });
  expect(boundedGone.answer).toEqual({
    code: 'tool_needs_unresolved',
    message: "the tool 'ask_host' needs the credential 'host-token' (a file), which is not there for the target 'gone'",
    phase: 'procedure',
  });
});

test('a plan that lacks its credential fails closed by the name of it', () => {
  expect(locked.run).toMatchObject({ status: 'failed', subjectsTotal: null });
  expect(locked.answer).toEqual({
    code: 'tool_needs_unresolved',
    message:
      "the tool 'list_locked_hosts' needs the credential 'master-key' (environment variable MUSTER_CREDENTIAL_MASTER_KEY), which is not there",
    phase: 'plan',
  });
});

describe('a tool that lets its credentials out', () => {
  test('is told by its name', () => {
    expect(fleet.rows[3]).toMatchObject({ outcome: 'not_checked', reasonCode: 'subject_failed' });
    expect(fleet.rows[3]?.reason).toBe('its chart failed: ToolFailedError (tool_failed)');
  });

  test('leaves them in no row of any table', async () => {
    const { rows: tables } = await db.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.map(({ name }) => name)).toContain('muster.subjects');
    for (const { name } of tables) {
      const { rows } = await db.query<{ row: string }>(`select t::text as row from ${name} t`);
      for (const secret of secrets) expect(rows.flatMap(({ row }) => findCanary(secret, row))).toEqual([]);
    }
  });

  test('leaves them in no artifact', async () => {
    const { rows } = await db.query(`select 1 from muster.artifacts where kind = 'recording/run'`);
    expect(rows.length).toBeGreaterThan(0);
    for (const secret of secrets) expect(await findCanaryInFolder(secret, join(folder, 'data'))).toEqual([]);
  });

  test('leaves them in no line of the log, at the finest level', () => {
    const lines = [...worker.stdout, ...worker.stderr];
    expect(lines.length).toBeGreaterThan(10);
    for (const secret of secrets) expect(lines.flatMap((line) => findCanary(secret, line))).toEqual([]);
  });
});
