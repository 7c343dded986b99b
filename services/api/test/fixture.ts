/** What the tests of this room start from: the API on a real PostgreSQL and a real folder, with keys of two tenants. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArtifactStore, folderArtifacts } from '@muster/artifacts';
import { type ApiRole, createApiKey, type Database, migrate, openDatabase } from '@muster/results';
import { testDatabase } from '@muster/testkit';
import pino from 'pino';
import { expect } from 'vitest';
import type { Api } from '../src/api.ts';
import type { ApiOptions } from '../src/api-deps.ts';
import { buildApi } from '../src/build-api.ts';
import type { RouteTable } from '../src/route-table.ts';
import type { RunChanges } from '../src/run-changes.ts';
import { testCatalog } from './test-runbooks.ts';

export const TENANT = 'acme';
export const OTHER_TENANT = 'umbrella';
export const UPLOAD_LIMIT = 200_000;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes are looked into by tests
  readonly body: any;
}

export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the tenant's admin. */
  readonly key?: string | undefined;
}

export interface Fixture {
  readonly api: Api;
  readonly table: RouteTable;
  readonly changes: RunChanges;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly artifacts: ArtifactStore;
  readonly logger: ApiOptions['logger'];
  readonly folder: string;
  readonly keys: Readonly<Record<ApiRole | 'other', string>>;
  /** Everything that was logged, at the finest level. */
  readonly logs: string[];
  ask(url: string, options?: Ask): Promise<Answer>;
  /** Listens on a free port and gives the address. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

export async function openFixture(over: Partial<ApiOptions> = {}): Promise<Fixture> {
  const database = await testDatabase();
  const db = openDatabase({ url: database.url, maxConnections: 20 });
  await migrate(db);
  const folder = await mkdtemp(join(tmpdir(), 'muster-api-'));
  const artifacts = folderArtifacts({ directory: folder });
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (text: string) => void logs.push(text) });
  const options: ApiOptions = { db, artifacts, catalog: testCatalog, logger, uploadMaxBytes: UPLOAD_LIMIT, ...over };
  const { api, table, changes } = buildApi(options);
  await api.ready();
  const makeKey = async (tenant: string, role: ApiRole) =>
    (await createApiKey(db, { tenant, name: `${role} of ${tenant}`, role })).key;
  const keys = {
    reader: await makeKey(TENANT, 'reader'),
    runner: await makeKey(TENANT, 'runner'),
    approver: await makeKey(TENANT, 'approver'),
    admin: await makeKey(TENANT, 'admin'),
    other: await makeKey(OTHER_TENANT, 'admin'),
  };
  return {
    api,
    table,
    changes,
    db,
    databaseUrl: database.url,
    artifacts,
    logger,
    folder,
    keys,
    logs,
    ask: (url, options = {}) => ask(api, url, { key: keys.admin, ...options }),
    listen: () => api.listen({ host: '127.0.0.1', port: 0 }),
    async close() {
      await api.close();
      await artifacts.close();
      await db.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ask(api: Api, url: string, options: Ask): Promise<Answer> {
  const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await api.inject({
    method: (options.method ?? 'GET') as 'GET',
    url,
    headers: {
      ...(options.key !== undefined && { authorization: `Bearer ${options.key}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(payload !== undefined && { payload }),
  });
  const isJson =
    /^application\/(problem\+)?json\b/.test(String(response.headers['content-type'])) && response.body !== '';
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    body: isJson ? JSON.parse(response.body) : undefined,
  };
}

/** The one way in which everything is refused. */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body?.code }).toEqual({ status, code });
  expect(String(answer.headers['content-type'])).toMatch(/^application\/problem\+json/);
  expect(answer.body).toMatchObject({ type: `urn:muster:problem:${code}`, status });
  for (const member of ['title', 'detail', 'instance']) expect(answer.body[member]).toEqual(expect.any(String));
  expect(answer.body.detail).not.toMatch(/\n/);
  expect(answer.text).not.toMatch(/\bat \S+ \(|node_modules|\.ts:/);
}
