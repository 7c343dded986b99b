import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findApiKey, listApiKeys, migrate, openDatabase, revokeApiKey } from '@muster/results';
import { type SpawnedService, spawnService, type TestDatabase, testDatabase } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bootstrapKey } from '../src/bootstrap-key.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'muster-api-process-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const run = (env: Record<string, string> = {}): SpawnedService =>
  spawnService(MAIN, {
    cwd: folder,
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: undefined,
      S3_BUCKET: undefined,
      MUSTER_DATA_DIR: join(folder, 'data'),
      MUSTER_PORT: '0',
      MUSTER_LOG_FORMAT: 'json',
      ...env,
    },
  });
const addressOf = async (service: SpawnedService) =>
  ((await service.ready((message) => (message as { type?: string }).type === 'ready')) as { address: string }).address;
const lines = (service: SpawnedService) => service.stderr.map((text) => JSON.parse(text));

describe('the process', () => {
  test('it tells its parent where it listens, logs JSON alone, and ends with 0 on each signal', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const service = run();
      const address = await addressOf(service);
      expect(await (await fetch(`${address}/readyz`)).json()).toMatchObject({ status: 'ready' });
      expect(await service.kill(signal)).toEqual({ code: 0, signal: null });
      expect(service.stdout).toEqual([]);
      expect(lines(service).at(-1)).toMatchObject({ service: 'api', msg: 'ended' });
    }
  });

  test('an open connection that is idle does not hold up the end', async () => {
    const service = run();
    const { hostname, port } = new URL(await addressOf(service));
    const socket = connect(Number(port), hostname);
    await new Promise((resolve) => socket.once('connect', resolve));
    expect(await service.kill()).toEqual({ code: 0, signal: null });
    socket.destroy();
  });

  test('a request that is under way when the end is asked for is answered before it', async () => {
    const file = join(folder, 'keys', 'admin.key');
    const service = run({ MUSTER_BOOTSTRAP_KEY_FILE: file });
    const address = await addressOf(service);
    const key = (await readFile(file, 'utf8')).trim();
    const outgoing = request(`${address}/v1/uploads?name=slow`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, expect: '100-continue' },
    });
    const answered = new Promise<number>((resolve, reject) => {
      outgoing.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
    });
    const begun = new Promise((resolve) => outgoing.once('continue', resolve));
    outgoing.flushHeaders();
    await begun;
    outgoing.write('one half, ');
    const ended = service.kill();
    await service.ready(/"msg":"ending"/);
    outgoing.end('and the other');
    expect(await answered).toBe(201);
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  test('a request that never ends is cut off within the stated time', async () => {
    const file = join(folder, 'keys', 'admin.key');
    const service = run({ MUSTER_BOOTSTRAP_KEY_FILE: file, MUSTER_SHUTDOWN_MS: '1000' });
    const { hostname, port } = new URL(await addressOf(service));
    const key = (await readFile(file, 'utf8')).trim();
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const begun = new Promise((resolve) => socket.once('data', resolve));
    const head = `host: x\r\nauthorization: Bearer ${key}\r\nexpect: 100-continue\r\ncontent-length: 9000`;
    socket.write(`POST /v1/uploads?name=stuck HTTP/1.1\r\n${head}\r\n\r\n`);
    await begun;
    expect(await service.kill()).toEqual({ code: 0, signal: null });
    socket.destroy();
  });

  test('the first key is made once, readable by its owner alone, and never logged', async () => {
    const file = join(folder, 'keys', 'admin.key');
    const first = run({ MUSTER_BOOTSTRAP_KEY_FILE: file });
    const address = await addressOf(first);
    const key = (await readFile(file, 'utf8')).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const answer = await fetch(`${address}/v1/runbooks`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    await first.kill();
    const second = run({ MUSTER_BOOTSTRAP_KEY_FILE: file });
    await addressOf(second);
    await second.kill();
    expect((await readFile(file, 'utf8')).trim()).toBe(key);
    for (const text of [...first.stderr, ...second.stderr]) expect(text).not.toContain(key);
    expect(first.stderr.join()).toContain(file);
  });
});

describe('a start that cannot be is one line and an exit code', () => {
  test.each<[string, () => Record<string, string>, number, RegExp]>([
    ['a wrong port', () => ({ MUSTER_PORT: 'many' }), 2, /MUSTER_PORT: must be a whole number/],
    ['a misspelt setting', () => ({ MUSTER_PROT: '1' }), 2, /MUSTER_PROT: is no setting/],
    ['no database', () => ({ DATABASE_URL: '' }), 2, /DATABASE_URL: is not set/],
    [
      'a database that is away',
      () => ({ DATABASE_URL: 'postgres://someone:hidden@127.0.0.1:1/none' }),
      1,
      /results store at 127\.0\.0\.1:1 is unavailable/,
    ],
    [
      'a bucket that is away',
      () => ({
        S3_BUCKET: 'none',
        S3_ENDPOINT: 'http://127.0.0.1:1',
        S3_ACCESS_KEY_ID: 'id',
        S3_SECRET_ACCESS_KEY: 'hidden',
      }),
      1,
      /artifact store unavailable/,
    ],
    [
      'a file of schedules that is not there',
      () => ({ MUSTER_SCHEDULES: join(folder, 'none.yaml') }),
      2,
      /none\.yaml cannot be read/,
    ],
    ['runbooks that cannot be loaded', () => ({ MUSTER_RUNBOOKS: join(folder, 'none.ts') }), 2, /MUSTER_RUNBOOKS/],
  ])('%s', async (_what, env, code, line) => {
    const service = run(env());
    expect((await service.exited).code).toBe(code);
    const [only, ...more] = lines(service);
    expect(more).toEqual([]);
    expect(only).toMatchObject({ level: 'fatal', msg: expect.stringMatching(line) });
    expect(service.stderr.join()).not.toContain('hidden');
    expect(service.stdout).toEqual([]);
  });

  test('a port in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const service = run({ MUSTER_PORT: String(port) });
    expect((await service.exited).code).toBe(1);
    expect(lines(service)).toMatchObject([
      { level: 'fatal', msg: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`) },
    ]);
    await new Promise((resolve) => server.close(resolve));
  });

  test('a bootstrap key file that holds something else', async () => {
    const file = join(folder, 'nonsense.key');
    await writeFile(file, 'not a key');
    const service = run({ MUSTER_BOOTSTRAP_KEY_FILE: file });
    expect((await service.exited).code).toBe(1);
    expect(lines(service)).toMatchObject([
      { msg: expect.stringContaining(`bootstrap key file ${file} must hold one key`) },
    ]);
  });
});

describe('the bootstrap key', () => {
  test('a kept file opens an empty database again, and a revoked key stays revoked', async () => {
    const fresh = await testDatabase();
    const db = openDatabase({ url: fresh.url });
    try {
      await migrate(db);
      const file = join(folder, 'kept.key');
      const key = `mk_${'A1'.repeat(22)}`;
      await writeFile(file, `${key}\n`);
      expect(await bootstrapKey(db, file)).toBe('registered');
      expect(await bootstrapKey(db, file)).toBe('known');
      expect(await findApiKey(db, key)).toMatchObject({ tenant: 'default', role: 'admin' });
      const [{ id }] = (await listApiKeys(db, { tenant: 'default', limit: 1 })) as unknown as [{ id: string }];
      await revokeApiKey(db, { tenant: 'default', id });
      expect(await bootstrapKey(db, file)).toBe('made');
      expect(await findApiKey(db, key)).toBeUndefined();
      const made = (await readFile(file, 'utf8')).trim();
      expect(await findApiKey(db, made)).toMatchObject({ role: 'admin' });
      expect(await bootstrapKey(db, join(folder, 'another.key')), 'a lost file locks nobody out').toBe('made');
    } finally {
      await db.close();
      await fresh.drop();
    }
  });
});
