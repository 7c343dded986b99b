import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOW, runOver, shipped, type TestFile } from './over-files.ts';

type Bag = Record<string, unknown>;

const runbook = shipped('backup_freshness');
const run = (given: unknown, input = {}, now = NOW) =>
  runOver(runbook, isFiles(given) ? given : [{ name: 'repo.json', content: textOf(given) }], input, now);
const isFiles = (given: unknown): given is readonly TestFile[] =>
  Array.isArray(given) && given[0]?.content !== undefined;
const textOf = (given: unknown) =>
  typeof given === 'string' || given instanceof Uint8Array ? given : JSON.stringify(given);

const hoursAgo = (hours: number) => new Date(Date.parse(NOW) - hours * 3_600_000).toISOString();
const snapshot = (hours: number, over: Bag = {}): Bag => ({
  time: hoursAgo(hours),
  hostname: 'db1',
  paths: ['/data'],
  id: 'a1',
  ...over,
});

const pgBackup = (hours: number, over: Bag = {}): Bag => ({
  label: '20261130-020000F',
  type: 'full',
  error: false,
  database: { id: 1, 'repo-key': 1 },
  timestamp: { start: 0, stop: Math.floor(Date.parse(hoursAgo(hours)) / 1000) },
  ...over,
});
const stanza = (backup: readonly Bag[] | undefined, over: Bag = {}): Bag => ({
  name: 'main',
  status: { code: 0, message: 'ok', lock: { backup: { held: false } } },
  repo: [{ key: 1, status: { code: 0 } }],
  ...(backup && { backup }),
  ...over,
});

const velero = (name: string, phase: string | undefined, hours: number, over: Bag = {}): Bag => ({
  kind: 'Backup',
  apiVersion: 'velero.io/v1',
  metadata: { name, labels: { 'velero.io/schedule-name': 'nightly' }, creationTimestamp: hoursAgo(hours) },
  ...(phase !== undefined && {
    status: { phase, startTimestamp: hoursAgo(hours), completionTimestamp: hoursAgo(hours), ...over },
  }),
});
const list = (...items: Bag[]) => ({ kind: 'List', items });

/** borg prints local times without a zone. */
const archive = (hours: number, over: Bag = {}): Bag => ({ archive: 'a', time: hoursAgo(hours).slice(0, 19), ...over });
const borg = (...archives: Bag[]) => ({
  archives,
  repository: { location: 'ssh://backup/./shop', id: 'r1' },
  encryption: { mode: 'none' },
});

const CASES: [what: string, output: unknown, verdict: string, reason?: string][] = [
  // restic
  ['restic, a fresh snapshot', [snapshot(3)], 'fresh', '3h old'],
  ['restic, an old one', [snapshot(50)], 'stale', '2d 2h old'],
  ['restic, the newest anywhere in the list', [snapshot(90), snapshot(3), snapshot(60)], 'fresh'],
  ['restic, an empty list', [], 'no_backup', 'or the query was for something else'],
  ['restic, a time with an offset', [snapshot(0, { time: '2026-11-30T10:00:00.123456789+05:30' })], 'fresh', '7h'],
  ['restic, a time without a zone', [snapshot(0, { time: '2026-11-30T02:00:00' })], 'declined', 'no time zone'],
  ['restic, a time in the future beside a sane one', [snapshot(3), snapshot(-48)], 'declined', 'future'],
  ['restic, a date alone', [snapshot(0, { time: '2026-11-30' })], 'declined', 'cannot be read'],
  ['restic, a number', [snapshot(0, { time: 1_700_000_000 })], 'declined', 'cannot be read'],
  ['restic, no time', [snapshot(0, { time: null })], 'declined', 'has no time'],
  ['restic, a time of five digits', [snapshot(0, { time: '+10000-01-01T00:00:00Z' })], 'declined', 'cannot be read'],
  ['restic, the epoch', [snapshot(0, { time: '1970-01-01T00:00:00Z' })], 'stale', 'epoch'],
  [
    'restic, a run that failed',
    '{"message_type":"status","percent_done":0.5}\n{"message_type":"exit_error","code":1,"message":"x"}\n',
    'failed',
  ],
  [
    'restic, a run that ended well',
    `{"message_type":"status"}\n${JSON.stringify({ message_type: 'summary', backup_end: hoursAgo(1) })}\n`,
    'fresh',
  ],
  ['restic, text behind the list', `${JSON.stringify([snapshot(3)])} Fatal: cancelled\n`, 'declined', 'other text'],
  ['restic, the result of a policy', { keep: null }, 'declined', 'not a list of backups'],
  // pgBackRest
  ['pgBackRest, a fresh backup', [stanza([pgBackup(40), pgBackup(4)])], 'fresh', '4h old'],
  ['pgBackRest, an old one', [stanza([pgBackup(40)])], 'stale'],
  [
    'pgBackRest, the newest has errors',
    [stanza([pgBackup(40), pgBackup(4, { error: true, 'error-list': ['base/1', 'base/2'] })])],
    'damaged',
    '2 errors',
  ],
  ['pgBackRest, an older one has errors', [stanza([pgBackup(40, { error: true }), pgBackup(4)])], 'fresh'],
  [
    'pgBackRest, a stanza that is not there',
    [stanza([], { status: { code: 1, message: 'missing stanza path' }, repo: [{ key: 1, status: { code: 1 } }] })],
    'no_backup',
  ],
  [
    'pgBackRest, no valid backup',
    [stanza([], { status: { code: 2, message: 'no valid backups' }, repo: [{ key: 1, status: { code: 2 } }] })],
    'no_backup',
  ],
  ['pgBackRest, ok and no list at all', [stanza(undefined, { repo: undefined })], 'declined', 'no list of backups'],
  [
    'pgBackRest, no list, and it is missing',
    [stanza(undefined, { status: { code: 1 }, repo: undefined })],
    'no_backup',
  ],
  [
    'pgBackRest, a repository that cannot be read',
    [stanza([], { status: { code: 99 }, repo: [{ key: 1, status: { code: 99 } }] })],
    'declined',
    'could not be read',
  ],
  [
    'pgBackRest, a backup is running',
    [stanza([pgBackup(4)], { status: { code: 0, lock: { backup: { held: true } } } })],
    'fresh',
    'a backup is running',
  ],
  // Velero
  ['Velero, completed', list(velero('n-1', 'Completed', 5, { warnings: 2 })), 'fresh', '2 warnings'],
  [
    'Velero, the newest incomplete, an older one fresh',
    list(velero('n-1', 'Completed', 20), velero('n-2', 'PartiallyFailed', 2)),
    'fresh',
    'the newest attempt is incomplete',
  ],
  [
    'Velero, the newest incomplete, the usable one old',
    list(velero('n-1', 'Completed', 60), velero('n-2', 'PartiallyFailed', 2)),
    'stale',
    'the newest attempt is incomplete',
  ],
  ['Velero, only incomplete ones', list(velero('n-1', 'PartiallyFailed', 5, { errors: 76 })), 'partial', '76 errors'],
  ['Velero, failed', list(velero('n-1', 'Failed', 5)), 'failed'],
  ['Velero, refused', list(velero('n-1', 'FailedValidation', 5)), 'failed'],
  ['Velero, running', list(velero('n-1', 'InProgress', 1)), 'no_backup', 'still running'],
  ['Velero, running for too long', list(velero('n-1', 'InProgress', 40)), 'stuck', 'running for 1d 16h'],
  ['Velero, finalizing and incomplete', list(velero('n-1', 'FinalizingPartiallyFailed', 400)), 'partial'],
  ['Velero, without a status', list(velero('n-1', undefined, 5)), 'declined', 'does not say how it ended'],
  ['Velero, a phase that nobody knows', list(velero('n-1', 'Pondering', 5)), 'declined'],
  ['Velero, old failures, then a good one', list(velero('n-1', 'Failed', 50), velero('n-2', 'Completed', 2)), 'fresh'],
  // borg
  ['borg, young in every zone', borg(archive(9)), 'fresh', 'its time has no zone'],
  ['borg, old in every zone', borg(archive(90)), 'stale'],
  ['borg, old or not as its zone is', borg(archive(20)), 'declined', 'no zone'],
  ['borg, no archive', borg(), 'no_backup'],
  [
    'borg, a clean check',
    '{"type":"log_message","levelname":"INFO","message":"Archive consistency check complete, no problems found."}\n',
    'check_clean',
  ],
  [
    'borg, a check that found something',
    '{"type":"log_message","levelname":"ERROR","message":"Archive consistency check complete, problems found."}\n',
    'damaged',
  ],
  [
    'borg, no repository',
    '{"type":"log_message","levelname":"ERROR","message":"gone","msgid":"Repository.DoesNotExist"}\n',
    'declined',
    'could not be read',
  ],
  [
    'borg, a log that decides nothing',
    '{"type":"log_message","levelname":"DEBUG","message":"hello"}\n',
    'declined',
    'a log',
  ],
  // What is none.
  ['nothing at all', '', 'no_output'],
  ['text', 'ERROR: [093]: command not allowed as root\n', 'declined'],
  ['another thing', { cpu: 4 }, 'declined', 'nothing that restic'],
];

describe('a subject of backups is judged by what its tool lists', () => {
  test.each(CASES)('%s', async (_, output, verdict, reason) => {
    const { subjects } = await run(output);
    expect(subjects.map((subject) => subject.verdict)).toEqual([verdict]);
    if (reason !== undefined) expect(subjects[0]?.reason).toContain(reason);
  });
});

describe('subjects', () => {
  test('of restic are hosts with their paths, each by its own newest', async () => {
    const { verdicts } = await run([snapshot(3), snapshot(60, { hostname: 'web1' }), snapshot(2, { paths: ['/etc'] })]);
    expect(verdicts).toEqual({ 'db1:/data': 'fresh', 'web1:/data': 'stale', 'db1:/etc': 'fresh' });
  });

  test('of pgBackRest are stanzas, and their repositories where there are several', async () => {
    const two = stanza([pgBackup(3), pgBackup(90, { database: { 'repo-key': 2 } })], {
      repo: [
        { key: 1, status: { code: 0 } },
        { key: 2, status: { code: 0 } },
      ],
    });
    expect((await run([two])).verdicts).toEqual({ 'main repo1': 'fresh', 'main repo2': 'stale' });
  });

  test('of Velero are schedules; one that never had a backup has none, and a paused one says so', async () => {
    const schedule = (name: string, paused = false) => ({ kind: 'Schedule', metadata: { name }, spec: { paused } });
    const { subjects } = await run(list(velero('n-1', 'Completed', 2), schedule('nightly', true), schedule('weekly')));
    expect(subjects.map(({ key, verdict }) => [key, verdict])).toEqual([
      ['nightly', 'fresh'],
      ['weekly', 'no_backup'],
    ]);
    expect(subjects[0]?.reason).toContain('paused');
  });

  test('of Velero without a label are told by the name before its time, and the others are one', async () => {
    const bare = (name: string, phase: string, hours: number) => ({
      ...velero(name, phase, hours),
      metadata: { name },
    });
    const { verdicts } = await run(
      list(bare('daily-20261130020000', 'Completed', 9), bare('by-hand', 'Failed', 3), bare('again', 'Completed', 2)),
    );
    expect(verdicts).toEqual({ daily: 'fresh', 'backups without a schedule': 'fresh' });
  });

  test('one bad entry hides none of the others', async () => {
    const { verdicts } = await run([snapshot(3), { cpu: 4 }, 7, snapshot(2, { hostname: 'web1' })]);
    expect(verdicts).toEqual({
      'db1:/data': 'fresh',
      'web1:/data': 'fresh',
      'repo.json item 2': 'declined',
      'repo.json item 3': 'declined',
    });
  });

  test('bytes that are not UTF-8 are declined, not judged', async () => {
    const content = Buffer.from(JSON.stringify([snapshot(3, { hostname: 'caf?' })]));
    content[content.indexOf('?')] = 0xe9;
    expect(Object.values((await run([{ name: 'a.json', content }])).verdicts)).toEqual(['declined']);
  });
});

test('what was expected and is not told of is a problem, by its name', async () => {
  const { subjects } = await run([snapshot(3)], { expected: ['db1', 'db2', 'repo'] });
  expect(subjects.map(({ key, verdict, standing }) => [key, verdict, standing])).toEqual([
    ['db1:/data', 'fresh', 'ok'],
    ['db2', 'missing', 'problem'],
  ]);
});

test('a listing that is too old is not checked, however fresh its backups look', async () => {
  const files = [{ name: 'repo.json', content: JSON.stringify([snapshot(3)]), taken_at: hoursAgo(60) }];
  const { subjects } = await run(files, { max_evidence_age: 86_400 });
  expect(subjects[0]).toMatchObject({ outcome: 'not_checked', reasonCode: 'evidence_too_old' });
});

test('what a run sets is what its rules compare with', async () => {
  expect(Object.values((await run([snapshot(50)], { max_age_seconds: 60 * 3600 })).verdicts)).toEqual(['fresh']);
  const running = list(velero('n-1', 'InProgress', 3));
  expect(Object.values((await run(running, { stuck_after_seconds: 3600 })).verdicts)).toEqual(['stuck']);
});

test('whether a backup can be restored is never covered', async () => {
  expect(JSON.stringify((await run([snapshot(3)])).coverage.cannot_cover)).toContain('can be restored');
});

test("the page's example is what the rules give", async () => {
  const page = await readFile(new URL('../../../docs/runbooks/backup_freshness.md', import.meta.url), 'utf8');
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { subjects } = await run(list(velero('n-1', 'Completed', 60), velero('n-2', 'PartiallyFailed', 2)));
  const { key, verdict, standing, reason, columns } = subjects[0]!;
  expect({ subject: key, verdict, standing, reason, ...columns }).toEqual(example);
});

test('whatever it is given ends in an answer, and what has no usable backup is never ok', async () => {
  const any = fc.jsonValue({ maxDepth: 3 });
  const shapes = fc.oneof(
    any,
    fc.array(fc.record({ time: any, hostname: any, paths: any }, { requiredKeys: ['time'] })),
    fc.array(fc.record({ name: fc.string(), status: fc.record({ code: any }), backup: any, repo: any })),
    fc.record({ items: fc.array(fc.record({ kind: fc.constant('Backup'), metadata: any, status: any })) }),
    fc.record({ archives: fc.array(any), repository: any }),
  );
  await fc.assert(
    fc.asyncProperty(shapes, async (given) => {
      for (const { columns, reason, standing, verdict } of (await run(textOf(given))).subjects) {
        expect(reason).toMatch(/\S/);
        if (standing === 'ok' && verdict !== 'check_clean') expect(columns.newest_usable).not.toBeNull();
      }
    }),
    { seed: 20_261_130, numRuns: 500 },
  );
});
