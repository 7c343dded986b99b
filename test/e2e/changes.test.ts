/** What changed between sweeps, the whole way: real processes, the API, the command line, and a death at collect. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type SpawnedService, testQueueBackends, waitFor } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const RUNBOOKS = fileURLToPath(new URL('./door-runbooks.ts', import.meta.url));
const CLI = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));

type Doors = Readonly<Record<string, 'shut' | 'open' | 'dark'>>;

let cluster: Cluster;
let worker: SpawnedService;
let visits = 0;
beforeAll(async () => {
  const [backend] = await testQueueBackends();
  cluster = await startCluster(backend!, { MUSTER_RUNBOOKS: RUNBOOKS });
  worker = await cluster.startWorker();
});

const instant = (visit: number) => new Date(Date.UTC(2026, 4, visit)).toISOString();

async function started(doors: Doors, over: { input?: object; [field: string]: unknown } = {}): Promise<string> {
  const { input, ...fields } = over;
  const visit = ++visits;
  return await cluster.startRun(
    'door_check',
    { visit, doors, ...input },
    { now: instant(visit), scope: 'house', ...fields },
  );
}

async function visited(doors: Doors, over: Parameters<typeof started>[1] = {}): Promise<string> {
  const runId = await started(doors, over);
  await cluster.ended(runId);
  return runId;
}

const changesOf = (runId: string, query = ''): Promise<Body> => cluster.ask('GET', `/v1/runs/${runId}/changes${query}`);
const envelopeOf = (runId: string): Promise<Body> => cluster.ask('GET', `/v1/runs/${runId}/envelope`);

async function diff(...args: string[]): Promise<{ out: string[]; err: string }> {
  const env = { PATH: process.env.PATH, MUSTER_API_URL: cluster.address, MUSTER_API_KEY: cluster.key };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, 'diff', ...args], { env });
  return { out: stdout.split('\n').filter(Boolean), err: stderr.trim() };
}

describe('sweeps of one scope', () => {
  let first: string;
  let second: string;
  beforeAll(async () => {
    first = await visited({
      'north 1': 'shut',
      'north 2': 'open',
      'south 1': 'dark',
      'south 2': 'shut',
      'south 3': 'open',
    });
    second = await visited({
      'north 1': 'open',
      'north 2': 'shut',
      'south 1': 'shut',
      'south 3': 'dark',
      'south 4': 'shut',
    });
  });

  test('the first is what the next is compared with, and announces nothing', async () => {
    const { af_coverage, result } = await envelopeOf(first);
    expect(result.changes).toMatchObject({ scope: 'house', outcome: 'first', counts: { baseline: 5, new_subject: 0 } });
    expect(result.changes.against).toBeUndefined();
    expect(af_coverage.sentence).not.toContain('since');
    expect(await changesOf(first)).toMatchObject({ scope: 'house', why: 'first', changes: [] });
  });

  test('the answer of the next counts what changed, against which run, and says it in a sentence', async () => {
    const { af_coverage, result } = await envelopeOf(second);
    expect(result.changes).toEqual({
      scope: 'house',
      outcome: 'compared',
      against: { run_id: first, now: instant(1) },
      counts: {
        newly_problem: 1,
        fixed: 1,
        still_problem: 0,
        new_subject: 1,
        gone: 1,
        became_unknown: 1,
        known_again: 1,
        rule_changed: 0,
        still_ok: 0,
        still_unknown: 0,
        baseline: 0,
      },
    });
    expect(Object.keys(result).slice(-2)).toEqual(['changes', 'walk']);
    expect(af_coverage.sentence).toContain(
      `; since run ${first}: 1 newly a problem, 1 fixed, 1 unknown now, 1 known again, 1 new, 1 gone; `,
    );
  });

  test('the changes are listed, filtered and paged, each identity by its own name', async () => {
    const all = await changesOf(second);
    expect(all.against).toEqual({ run_id: first, now: instant(1) });
    expect(all.changes.map(({ change, identity }: Body) => [change, identity])).toEqual([
      ['newly_problem', 'north 1'],
      ['became_unknown', 'south 3'],
      ['known_again', 'south 1'],
      ['new_subject', 'south 4'],
      ['gone', 'south 2'],
      ['fixed', 'north 2'],
    ]);
    expect(all.changes[0]).toEqual({
      identity: 'north 1',
      subject: 'north 1 on visit 2',
      target: 'north',
      change: 'newly_problem',
      from_standing: 'ok',
      to_standing: 'problem',
      from_verdict: 'locked',
      to_verdict: 'unlocked',
      reason: 'it stands open',
      standing_since: instant(2),
      last_ok_at: instant(1),
      sweeps_in_standing: 1,
    });
    const north = await changesOf(second, '?target=north&change=fixed,newly_problem&limit=1');
    expect(north.changes).toHaveLength(1);
    const next = await changesOf(second, `?target=north&change=fixed,newly_problem&limit=1&after=${north.next_after}`);
    expect(next.changes.map(({ change }: Body) => change)).toEqual(['fixed']);
    expect(next.next_after).toBeUndefined();
  });

  test('rows carry since when they stand so, also those of a run that others came after', async () => {
    const third = await visited({
      'north 1': 'open',
      'north 2': 'shut',
      'south 1': 'shut',
      'south 3': 'dark',
      'south 4': 'shut',
    });
    const sinceOf = async (runId: string) => {
      const rows = await cluster.rows(runId);
      return Object.fromEntries(
        rows.map((row) => [row.identity, [row.standing_since, row.last_ok_at, row.sweeps_in_standing]]),
      );
    };
    expect(await sinceOf(third)).toEqual({
      'north 1': [instant(2), instant(1), 2],
      'north 2': [instant(2), instant(3), 2],
      'south 1': [instant(2), instant(3), 2],
      // Unknown now; it was never found ok.
      'south 3': [undefined, undefined, undefined],
      'south 4': [instant(2), instant(3), 2],
    });
    expect(await sinceOf(second)).toMatchObject({
      'north 1': [instant(2), instant(1), 1],
      'north 2': [instant(2), instant(2), 1],
    });
    const answer = await fetch(`${cluster.address}/v1/runs/${third}/rows?format=csv`, {
      headers: { authorization: `Bearer ${cluster.key}` },
    });
    const [header] = (await answer.text()).split('\n');
    expect(header).toContain('standing_since');
  });

  test('what is wrong now is listed with since when, and what is unknown with how it stood before', async () => {
    const { standings } = await cluster.ask('GET', '/v1/standings?runbook=door_check&scope=house&standing=problem');
    expect(standings.map(({ identity, standing_since }: Body) => [identity, standing_since])).toEqual([
      ['north 1', instant(2)],
      ['south 3', instant(1)],
    ]);
    const unknown = await cluster.ask('GET', '/v1/standings?standing=unknown');
    expect(unknown.standings).toMatchObject([
      { identity: 'south 3', standing: 'problem', unknown_since: instant(2), unknown_reason: 'it is too dark to tell' },
    ]);
    const page = await cluster.ask('GET', '/v1/standings?limit=1');
    const rest = await cluster.ask('GET', `/v1/standings?after=${page.next_after}`);
    expect([page.standings.length, rest.standings.length]).toEqual([1, 4]);
  });

  test('muster diff prints them, or why there are none', async () => {
    const { out, err } = await diff(second);
    expect(err).toBe(
      `since run ${first} of ${instant(1)}: 1 newly a problem, 1 fixed, 1 unknown now, 1 known again, 1 new, 1 gone`,
    );
    expect(out).toHaveLength(6);
    expect(out[0]).toBe(`newly_problem   ok > problem        north 1  north  since ${instant(2)}  it stands open`);
    const json = await diff(second, '--change', 'gone,fixed', '--json');
    expect(json.out.map((line) => JSON.parse(line).change)).toEqual(['gone', 'fixed']);
    expect((await diff(first)).err).toContain('it is the first of its scope');
    const dry = await visited({ 'north 1': 'shut' }, { dry_run: true });
    expect(await diff(dry)).toEqual({ out: [], err: expect.stringContaining('it was a dry run') });
    await expect(diff(second, '--change', 'newly_problm')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean newly_problem?'),
    });
  });

  test('a plan that left something out says that it tells nothing gone', async () => {
    const partial = await visited({ 'north 1': 'open' }, { input: { unvisited: 'the south wing' } });
    const { result } = await envelopeOf(partial);
    expect(result.changes.counts).toMatchObject({ still_problem: 1, gone: 0 });
    expect(result.changes.note).toContain('left something out');
    expect((await changesOf(partial)).gone_untold).toBe('plan_not_whole');
    expect((await diff(partial)).err).toContain('nothing is told gone');
  });

  test('a scope is a name of one line', async () => {
    await expect(started({}, { scope: 'a\nb' })).rejects.toThrow('invalid_request');
    await expect(started({}, { scope: '' })).rejects.toThrow('invalid_request');
  });
});

test('killed while it records what changed: nothing is recorded, and the heir records it once', async () => {
  await visited({ 'east 1': 'shut', 'east 2': 'open' }, { scope: 'barn' });
  let runId = '';
  await cluster.db.transaction(async (tx) => {
    await tx.query(`select from muster.sweep_scopes where scope_key = 'barn' for update`);
    runId = await started({ 'east 1': 'open', 'east 2': 'open' }, { scope: 'barn' });
    await waitFor(
      () =>
        cluster.db.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like '%sweep_scopes%'`,
        ),
      ({ rowCount }) => rowCount > 0,
      { what: 'the worker waits for the scope' },
    );
    await worker.kill('SIGKILL');
  });
  const recorded = async () => {
    const { rows } = await cluster.db.query<{ sweeps: number; changes: number; answers: number }>(
      `select (select count(*) from muster.sweeps where run_id = $1) as sweeps,
          (select count(*) from muster.changes where run_id = $1) as changes,
          (select count(*) from muster.answers where run_id = $1) as answers`,
      [runId],
    );
    return rows[0];
  };
  // The server may yet have to notice that nobody is there: whatever it still does for the dead is rolled back.
  await waitFor(
    () =>
      cluster.db.query(
        `select from pg_stat_activity where datname = current_database() and query like '%sweep_scopes%'
          and state <> 'idle' and pid <> pg_backend_pid()`,
      ),
    ({ rowCount }) => rowCount === 0,
    { what: 'the transaction of the dead worker is over' },
  );
  expect(await recorded()).toEqual({ sweeps: 0, changes: 0, answers: 0 });
  worker = await cluster.startWorker();
  await cluster.ended(runId);
  expect(await recorded()).toEqual({ sweeps: 1, changes: 2, answers: 1 });
  const { changes } = await changesOf(runId);
  expect(changes.map(({ change, sweeps_in_standing }: Body) => [change, sweeps_in_standing])).toEqual([
    ['newly_problem', 1],
    ['still_problem', 2],
  ]);
});
