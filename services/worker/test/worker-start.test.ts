/** A worker that cannot start says why in one line, without credentials, and its exit code says whose fault it is. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnService, type TestDatabase, testDatabase } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const NOWHERE = '127.0.0.1:1';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  [database, folder] = await Promise.all([testDatabase(), mkdtemp(join(tmpdir(), 'muster-start-'))]);
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

function start(env: Readonly<Record<string, string | undefined>>) {
  return spawnService(MAIN, {
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: undefined,
      S3_BUCKET: undefined,
      MUSTER_DATA_DIR: folder,
      MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
      MUSTER_LOG_FORMAT: 'json',
      ...env,
    },
  });
}

/** Starts a worker that does not come up; gives its exit code and its one line. */
async function failedStart(env: Readonly<Record<string, string | undefined>>) {
  const worker = start(env);
  const { code } = await worker.exited;
  expect(worker.stdout).toEqual([]);
  expect(worker.stderr).toHaveLength(1);
  expect(worker.stderr[0]).not.toMatch(/geheim/);
  return { code, line: JSON.parse(worker.stderr[0] as string) };
}

const s3 = (over: Record<string, string> = {}) => ({
  S3_BUCKET: 'somewhere',
  S3_ENDPOINT: `http://${NOWHERE}`,
  S3_ACCESS_KEY_ID: 'geheim',
  S3_SECRET_ACCESS_KEY: 'geheim',
  ...over,
});

describe.concurrent('a wrong configuration ends with 2', () => {
  test.for([
    ['a value that is none', { MUSTER_LOCK_MS: 'soon' }, /^MUSTER_LOCK_MS: must be a whole number .*; it was "soon"$/],
    ['a secret that is none', { MUSTER_SECRET_KEY: 'geheim' }, /^MUSTER_SECRET_KEY: must be 32 bytes .* not shown$/],
    ['no database', { DATABASE_URL: '' }, /^DATABASE_URL: is not set, and this process needs it$/],
    ['no secret key', { MUSTER_SECRET_KEY: '' }, /^MUSTER_SECRET_KEY: is not set/],
    ['a name that is none', { MUSTER_LOCKMS: '1' }, /^MUSTER_LOCKMS: .* did you mean MUSTER_LOCK_MS\?$/],
    [
      'runbooks that are not there',
      { MUSTER_RUNBOOKS: '/nowhere/runbooks.ts' },
      /^MUSTER_RUNBOOKS: the module could not be/,
    ],
  ] as const)('%s', async ([_what, env, expected]) => {
    const { code, line } = await failedStart(env);
    expect(line).toMatchObject({ level: 'fatal', service: 'worker', msg: expect.stringMatching(expected) });
    expect(code).toBe(2);
  });
});

describe.concurrent('a store that is not there ends with 1', () => {
  test.for([
    ['the database', { DATABASE_URL: `postgres://ann:geheim@${NOWHERE}/muster` }, 'results_unavailable'],
    ['Redis', { REDIS_URL: `redis://:geheim@${NOWHERE}` }, 'queue_unavailable'],
    ['S3', s3(), 'artifact_store_unavailable'],
  ] as const)('%s', async ([_what, env, expected]) => {
    const { code, line } = await failedStart(env);
    expect(line).toMatchObject({ level: 'fatal', code: expected, msg: expect.stringContaining(NOWHERE) });
    expect(code).toBe(1);
  });
});

test('runbooks that do not fit together end with 2', async () => {
  const module = join(folder, 'runbooks.mjs');
  const tool = `{ name: 'sum', description: 'Adds.', execute() {}, composedOf: ['count'] }`;
  await writeFile(module, `export const runbooks = []; export const tools = [${tool}];`);
  const { code, line } = await failedStart({ MUSTER_RUNBOOKS: module });
  expect(line).toMatchObject({ code: 'catalog_invalid', msg: expect.stringMatching(/'sum' .*count/) });
  expect(code).toBe(2);
});

test('a worker that came up ends with 0 when it is told to', async () => {
  const worker = start({});
  await worker.ready((message) => (message as { type?: string }).type === 'ready');
  expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(worker.stderr.map((line) => JSON.parse(line).msg)).toContain('worker stopped');
});
