/** Schedules on the command line: against the real API, with a real database. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApi } from '@muster/api';
import { folderArtifacts } from '@muster/artifacts';
import { defineRunbook } from '@muster/envelope';
import { createLogger, type LoadedCatalog } from '@muster/host';
import { createApiKey, type Database, migrate, openDatabase } from '@muster/results';
import { testDatabase } from '@muster/testkit';
import { flowChart } from 'footprintjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { linesOf, type MusterExit, muster } from './muster-process.ts';

const runbook = defineRunbook({
  name: 'look_around',
  version: '1.0.0',
  description: 'Looks around.',
  resultKind: 'verdict/look-around',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({ depth: z.int().optional() }),
  procedure: () => flowChart('Start', () => undefined, 'start').build(),
});
const definition = { runbook, digest: 'digest-of-look-around' };
const catalog: LoadedCatalog = {
  catalog: { runbooks: new Map([[runbook.name, runbook]]), tools: new Map() },
  byName: new Map([[runbook.name, definition]]),
  byDigest: new Map([[definition.digest, definition]]),
};

let db: Database;
let folder: string;
let env: Record<string, string>;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const database = await testDatabase();
  db = openDatabase({ url: database.url });
  folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  const artifacts = folderArtifacts({ directory: folder });
  await migrate(db);
  const logger = createLogger({ logLevel: 'silent', logFormat: 'json' }, 'api');
  const { api } = buildApi({ db, artifacts, catalog, logger, uploadMaxBytes: 1 });
  const { key } = await createApiKey(db, { tenant: 'acme', name: 'admin', role: 'admin' });
  env = { MUSTER_API_URL: await api.listen({ host: '127.0.0.1', port: 0 }), MUSTER_API_KEY: key };
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

const run = (...args: string[]): Promise<MusterExit> => muster(args, { env, cwd: folder });
const apply = async (text: string) => {
  await writeFile(join(folder, 'nightly.yaml'), text);
  return await run('schedule', 'apply', 'nightly.yaml');
};
const NIGHTLY = `name: nightly
runbook: look_around
input: { depth: 2 }
timing: { cron: "30 2 * * *", time_zone: Europe/Berlin }
`;

test('a schedule is made from a file, changed by it, listed, shown, steered and deleted', async () => {
  expect((await run('schedules')).err).toBe('there are no schedules\n');
  const made = await apply(NIGHTLY);
  expect(made).toMatchObject({ code: 0, out: '' });
  expect(made.err).toMatch(/^made nightly: 30 2 \* \* \* \(Europe\/Berlin\), next \d{4}-.*Z\n$/);
  const changed = await apply(`${NIGHTLY}overlap: queue_one\n`);
  expect(changed.err).toMatch(/^changed nightly: /);
  const listed = await run('schedules');
  expect(linesOf(listed.out)).toEqual([
    expect.stringMatching(/^nightly {2}next \S+ {2}30 2 \* \* \* \(Europe\/Berlin\) {2}look_around$/),
  ]);
  const shown = await run('schedule', 'show', 'nightly');
  expect(shown.out).toMatch(/^overlap +queue_one$/m);
  expect(shown.out).toMatch(/^input +\{"depth":2\}$/m);
  expect(
    linesOf(shown.out)
      .slice(-5)
      .every((line) => /\d{4}-\d\d-\d\dT/.test(line)),
  ).toBe(true);
  const paused = await run('schedule', 'pause', 'nightly', '--reason', 'the cluster moves');
  expect(paused.err).toBe('nightly: paused (the cluster moves)\n');
  expect(JSON.parse((await run('schedules', '--json')).out)).toMatchObject({ name: 'nightly', state: 'paused' });
  expect((await run('schedule', 'resume', 'nightly')).err).toMatch(/^nightly: next /);
  // What the file leaves out is at its default again.
  await apply(NIGHTLY);
  expect(JSON.parse((await run('schedule', 'show', 'nightly', '--json')).out)).toMatchObject({ overlap: 'skip' });
  expect((await run('schedule', 'delete', 'nightly')).err).toBe('nightly is deleted; its runs stay\n');
  const gone = await run('schedule', 'show', 'nightly');
  expect(gone).toMatchObject({ code: 1, err: 'muster: there is no such schedule [schedule_not_found]\n' });
});

test('a trigger prints the id of its run; when none comes of it, the reason and exit code 1', async () => {
  await apply(`schedules:\n  - { name: now-and-then, runbook: look_around, timing: { every_seconds: 3600 } }\n`);
  expect((await run('schedule', 'ticks', 'now-and-then')).err).toBe('no slot was due yet\n');
  const started = await run('schedule', 'trigger', 'now-and-then');
  expect(started).toMatchObject({ code: 0, err: '' });
  expect(started.out).toMatch(/^[0-9a-f-]{36}\n$/);
  const again = await run('schedule', 'trigger', 'now-and-then');
  expect(again).toMatchObject({ code: 1, out: '' });
  expect(again.err).toBe('no run was started: a run of this schedule is not over\n');
  const ticks = await run('schedule', 'ticks', 'now-and-then');
  expect(linesOf(ticks.out)).toEqual([
    expect.stringMatching(/Z {2}skipped {3}a run of this schedule is not over {2}by hand$/),
    expect.stringMatching(new RegExp(`Z {2}started {3}${started.out.trim()} {2}open {2}by hand$`)),
  ]);
});

describe('wrong usage is one line and exit code 2', () => {
  test.each<[string, string[], RegExp]>([
    ['an action that there is not', ['schedule', 'stop', 'x'], /Allowed choices are show, apply/],
    ['a file that is not there', ['schedule', 'apply', 'none.yaml'], /none\.yaml: there is no such file/],
    ['a reason for another action', ['schedule', 'resume', 'x', '--reason', 'y'], /--reason goes with pause/],
  ])('%s', async (_what, args, said) => {
    const { code, err } = await run(...args);
    expect(code).toBe(2);
    expect(linesOf(err)).toEqual([expect.stringMatching(said)]);
  });

  test.each<[string, string, RegExp]>([
    ['a file that is no YAML', 'name: [', /nightly\.yaml: it is neither YAML nor JSON in line/],
    ['a field that nobody reads', `${NIGHTLY}cron: x\n`, /body\/cron: expected no such field/],
    [
      'a zone that is none',
      NIGHTLY.replace('Berlin', 'Berln'),
      /time_zone: expected an IANA time zone, such as Europe\/Berlin/,
    ],
    ['an input that does not fit', NIGHTLY.replace('2 }', 'x }'), /input\/depth: expected .*\[input_invalid\]/],
  ])('%s', async (_what, text, said) => {
    const { code, err } = await apply(text);
    expect(code).toBe(2);
    expect(linesOf(err)).toEqual([expect.stringMatching(said)]);
  });
});
