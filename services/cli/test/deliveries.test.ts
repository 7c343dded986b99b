/** Deliveries of webhooks on the command line: against the real API, with a real database. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApi } from '@muster/api';
import { folderArtifacts } from '@muster/artifacts';
import { defineRunbook, sealCredential } from '@muster/envelope';
import { defineHook } from '@muster/hooks';
import { createLogger, SecretBox } from '@muster/host';
import { claimDeliveries, createApiKey, type Database, finishDeliveries, migrate, openDatabase } from '@muster/results';
import { testDatabase } from '@muster/testkit';
import { flowChart } from 'footprintjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { linesOf, muster } from './muster-process.ts';

const runbook = defineRunbook({
  name: 'look',
  version: '1.0.0',
  description: 'Looks.',
  resultKind: 'verdict/look',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({}),
  procedure: () => flowChart('Start', () => undefined, 'start').build(),
});
const definition = { runbook, digest: 'digest-of-look' };
const hook = defineHook({
  name: 'disks',
  tenant: 'acme',
  format: 'alertmanager',
  runbook: 'look',
  scheme: 'bearer',
  secrets: [{ credential: 'disks' }],
  input: {},
});

let db: Database;
let address: string;
let env: Record<string, string>;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const database = await testDatabase();
  db = openDatabase({ url: database.url });
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  const artifacts = folderArtifacts({ directory: folder });
  await migrate(db);
  const { api } = buildApi({
    db,
    artifacts,
    catalog: {
      catalog: { runbooks: new Map([[runbook.name, runbook]]), tools: new Map() },
      byName: new Map([[runbook.name, definition]]),
      byDigest: new Map([[definition.digest, definition]]),
      hooks: new Map([[hook.name, hook]]),
    },
    logger: createLogger({ logLevel: 'silent', logFormat: 'json' }, 'api'),
    uploadMaxBytes: 1,
    box: new SecretBox(randomBytes(32)),
    resolveCredential: ({ credential }) => sealCredential(credential, 'token'),
  });
  const { key } = await createApiKey(db, { tenant: 'acme', name: 'admin', role: 'admin' });
  address = await api.listen({ host: '127.0.0.1', port: 0 });
  env = { MUSTER_API_URL: address, MUSTER_API_KEY: key };
  closing.push(
    () => api.close(),
    () => artifacts.close(),
    () => db.close(),
    () => database.drop(),
    () => rm(folder, { recursive: true, force: true }),
  );
});
afterAll(async () => {
  for (const close of closing) await close();
});

const run = (...args: string[]) => muster(args, { env });

async function deliver(host: string): Promise<string> {
  const body = JSON.stringify({ version: '4', alerts: [{ status: 'firing', labels: { host, token: 'not-shown' } }] });
  const headers = { authorization: 'Bearer token' };
  const response = await fetch(`${address}/v1/hooks/disks`, { method: 'POST', body, headers });
  return ((await response.json()) as { delivery_id: string }).delivery_id;
}

/** Ends all that wait as a worker would. */
async function work(): Promise<void> {
  const hooks = [{ tenant: 'acme', hook: 'disks' }];
  const claims = await claimDeliveries(db, { hooks, limitPerHook: 10, leaseMs: 1000 });
  const result = {
    kind: 'alerts',
    runs: [{ run_id: 'run-1', subject: 'db-7', alerts: 1 }],
    collapsed: [{ run_id: 'run-0', subject: 'db-6', alerts: 2 }],
    declined: [{ fingerprint: 'f-8', reason: 'no_data' }],
    skipped: [{ fingerprint: 'f-9\u001b[2J', code: 'fact_missing', reason: 'labels.x is missing' }],
    truncated: { missing: 3, why: 'the sender cut 3 alerts off this group' },
    doubts: ['odd'],
  };
  const ends = claims.map((claim) => ({ claim, state: 'done' as const, result }));
  await finishDeliveries(db, ends, new Date());
}

test('deliveries are listed, shown with what came of each alert, and replayed', async () => {
  const none = await run('deliveries', '--hook', 'nothing');
  expect(none).toMatchObject({ code: 0, out: '', err: 'there are no such deliveries\n' });
  const id = await deliver('db-7');
  await work();
  const later = await deliver('db-8');
  const listed = linesOf((await run('deliveries')).out);
  expect(listed.map((line) => line.slice(0, 36))).toEqual([later, id]);
  expect(listed[1]).toContain('done        1 run, 1 collapsed, 1 declined, 1 skipped, incomplete');
  expect(
    linesOf((await run('deliveries', '--state', 'received', '--json')).out).map((line) => JSON.parse(line)),
  ).toEqual([expect.objectContaining({ delivery_id: later, state: 'received' })]);
  const { code, out } = await run('delivery', 'show', id);
  expect(code).toBe(0);
  for (const said of [
    'run        run-1  db-7',
    'joined     run-0  db-6',
    'declined   f-8  no_data',
    'skipped    f-9 [2J  fact_missing: labels.x is missing',
    'incomplete the sender cut 3 alerts off this group',
    'doubt      odd',
    'authorization: [redacted]',
    '"host": "db-7"',
  ]) {
    expect(out).toContain(said);
  }
  expect(out).not.toMatch(/not-shown|\u001b/);
  const replayed = await run('delivery', 'replay', id);
  expect(replayed.code).toBe(0);
  expect(replayed.err).toContain(`delivery show ${replayed.out.trim()}`);
  const again = JSON.parse((await run('delivery', 'show', replayed.out.trim(), '--json')).out);
  expect(again).toMatchObject({ replay_of: id, state: 'received' });
  const waiting = await run('delivery', 'replay', later);
  expect(waiting.code).toBe(1);
  expect(waiting.err).toMatch(/^muster: .*\[delivery_waiting\]\n$/);
});
