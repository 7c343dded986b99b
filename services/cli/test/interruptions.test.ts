/** Runs that ask, on the command line: against the real API, with a real database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApi, type RunChanges } from '@muster/api';
import { folderArtifacts } from '@muster/artifacts';
import { defineRunbook } from '@muster/envelope';
import { createLogger, type LoadedCatalog } from '@muster/host';
import {
  claimRun,
  createApiKey,
  type Database,
  finishRun,
  heartbeatWorker,
  interruptRun,
  migrate,
  openDatabase,
} from '@muster/results';
import { testDatabase } from '@muster/testkit';
import { flowChart } from 'footprintjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { linesOf, type MusterExit, muster } from './muster-process.ts';

const DIGEST = 'digest-of-asking';
const runbook = defineRunbook({
  name: 'asking',
  version: '1.0.0',
  description: 'Asks before it goes on.',
  resultKind: 'verdict/asking',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({}),
  procedure: () => flowChart('Start', () => undefined, 'start').build(),
});
const definition = { runbook, digest: DIGEST };
const catalog: LoadedCatalog = {
  catalog: { runbooks: new Map([[runbook.name, runbook]]), tools: new Map() },
  byName: new Map([[runbook.name, definition]]),
  byDigest: new Map([[DIGEST, definition]]),
};
const resumeSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
  additionalProperties: false,
};

let db: Database;
let changes: RunChanges;
let env: Record<string, string>;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const database = await testDatabase();
  db = openDatabase({ url: database.url });
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  const artifacts = folderArtifacts({ directory: folder });
  await migrate(db);
  const logger = createLogger({ logLevel: 'silent', logFormat: 'json' }, 'api');
  const { api, changes: waits } = buildApi({
    db,
    artifacts,
    catalog,
    logger,
    uploadMaxBytes: 1,
    selfApproval: 'allow',
  });
  changes = waits;
  const { key } = await createApiKey(db, { tenant: 'acme', name: 'admin', role: 'admin' });
  const address = await api.listen({ host: '127.0.0.1', port: 0 });
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

const run = (...args: string[]): Promise<MusterExit> => muster(args, { env });

/** A run that asks. */
async function asking(): Promise<string> {
  const runId = (await run('run', 'asking', '--detach')).out.trim();
  const { fence } = (await claimRun(db, { runId, phase: 'procedure', dispatchNo: 1 }))!;
  const policy = { role: 'approver', self: false, withinMs: 60 * 60_000 } as const;
  const question = { question: 'Restart 3 hosts?', resumeSchema, policy };
  await interruptRun(db, { runId, fence, checkpoint: Buffer.from('sealed'), ...question });
  await heartbeatWorker(db, { id: 'worker', digests: [DIGEST] });
  return runId;
}

async function statusOf(runId: string): Promise<string> {
  const { rows } = await db.query<{ status: string }>('select status from muster.runs where id = $1', [runId]);
  return rows[0]!.status;
}

describe('a run that asks', () => {
  test('ends the waiting with exit code 4, its question and the command that answers it', async () => {
    const runId = await asking();
    const watched = await run('watch', runId);
    expect(watched).toMatchObject({ code: 4, out: '' });
    expect(linesOf(watched.err)).toEqual([
      'muster: the run asks: Restart 3 hosts?',
      expect.stringContaining(`npm run muster -- resume ${runId} --approve`),
    ]);
    expect(watched.err).toContain('a key of the role approver');
    const json = await run('get', runId, '--json');
    expect(json.code).toBe(4);
    expect(JSON.parse(json.out)).toMatchObject({
      run: { run_id: runId, run_status: 'interrupted', interruption: { question: 'Restart 3 hosts?' } },
      envelope: null,
    });
  });

  test('is listed until somebody answers, and goes on with the answer', async () => {
    const runId = await asking();
    const listed = await run('interruptions');
    expect(listed.code).toBe(0);
    expect(linesOf(listed.out).filter((line) => line.startsWith(runId))).toEqual([
      expect.stringMatching(/ {2}until \S+ {2}approver {2}Restart 3 hosts\?$/),
    ]);
    const answered = await run('resume', runId, '--approve', '--reason', 'it is night');
    expect(answered).toMatchObject({ code: 0, out: '' });
    expect(answered.err).toContain('answered "Restart 3 hosts?": the run goes on');
    expect(await statusOf(runId)).toBe('running');
    const { rows } = await db.query('select answer from muster.interruptions where run_id = $1', [runId]);
    expect(rows).toEqual([{ answer: { approved: true, reason: 'it is night' } }]);
    const open = linesOf((await run('interruptions', '--json')).out).map((line) => JSON.parse(line).run_id);
    expect(open).not.toContain(runId);
    const again = await run('resume', runId, '--refuse');
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/^muster: .*\[not_interrupted\]\n$/);
  });

  test('is waited for by a watch, which the end of the run wakes', async () => {
    const runId = (await run('run', 'asking', '--detach')).out.trim();
    const watching = run('watch', runId);
    while (changes.waiting < 1) await new Promise((resolve) => setImmediate(resolve));
    const { fence } = (await claimRun(db, { runId, phase: 'procedure', dispatchNo: 1 }))!;
    const answer = { kind: 'absence', body: { looked_for: 'hosts', note: 'none' } } as const;
    await finishRun(db, { runId, fence, status: 'completed', answer });
    const { code, out } = await watching;
    expect(code).toBe(0);
    expect(out).toContain('Nothing was found: hosts');
  });
});

describe('wrong usage', () => {
  test.each<[string, string[], RegExp]>([
    ['no answer', [], /give one answer: --approve, --refuse, or --answer/],
    ['two answers', ['--approve', '--refuse'], /cannot be used with/],
    ['an answer that is no object', ['--answer', '[1]'], /--answer takes one JSON object/],
    ['an answer that is no JSON', ['--answer', '{approved}'], /--answer takes one JSON object/],
    ['a reason beside a whole answer', ['--answer', '{"approved":true}', '--reason', 'x'], /--reason goes with/],
  ])('%s is one line and exit code 2', async (_what, args, said) => {
    const { code, err } = await run('resume', '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11', ...args);
    expect(code).toBe(2);
    expect(linesOf(err)).toEqual([expect.stringMatching(said)]);
  });

  test('an answer that the question does not take is refused by its place', async () => {
    const runId = await asking();
    const { code, err } = await run('resume', runId, '--answer', '{"approved":"yes"}');
    expect(code).toBe(2);
    expect(err).toMatch(/resume\/approved: expected .*\[resume_invalid\]/);
    expect(await statusOf(runId)).toBe('interrupted');
  });
});
