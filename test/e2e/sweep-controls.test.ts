/** What steers a sweep, from the command line to the answer: canary, dry run, rerun, quota; on real processes. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invariants } from '@muster/results';
import { demoPods } from '@muster/runbooks';
import { testQueueBackends } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { runbooks, tools } from './fleet-runbooks.ts';
import { comparable, NOW, type Reference, runHere, withoutWalk } from './in-process.ts';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const CLI = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));
const MACHINES = { machines: 250 };

let here: Reference;
beforeAll(async () => {
  here = await runHere(runbooks[0]!, tools, MACHINES);
});

interface Exit {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function muster(cluster: Cluster, ...args: string[]): Promise<Exit> {
  const env = { PATH: process.env.PATH, MUSTER_API_URL: cluster.address, MUSTER_API_KEY: cluster.key };
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], { env, maxBuffer: 1 << 26 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

describe.each(await testQueueBackends())('on $name', (queue) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(queue);
    await Promise.all([cluster.startWorker(), cluster.startWorker()]);
  });

  const canaryOf = async (runId: string) => {
    const { rows } = await cluster.db.query<{ target: string }>(
      `select distinct target from muster.subjects
        where chunk_id in (select id from muster.chunks where run_id = $1 and wave = 0)`,
      [runId],
    );
    return new Set(rows.map(({ target }) => target));
  };
  const chosenOf = (rows: readonly Body[], ends: readonly string[]): string[] =>
    rows.filter((row) => ends.includes(row.standing ?? row.outcome)).map((row) => row.subject);

  test('a fleet with a canary has the rows and the answer of one process', async () => {
    const runId = await cluster.startRun('every_outcome', MACHINES, { canary_percent: 30 });
    expect(await cluster.ended(runId)).toMatchObject({ run_status: 'completed' });
    const canary = await canaryOf(runId);
    expect(canary.has('rack 0')).toBe(true);
    expect((await cluster.rows(runId)).map(withoutWalk)).toEqual(here.rows);
    const answer = await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
    expect(comparable(answer, runId)).toEqual(here.answer);
  });

  test('a canary that fails too often keeps every other target from being asked', async () => {
    const runId = await cluster.startRun('cautious_check', MACHINES);
    const run = await cluster.ended(runId);
    expect(run).toMatchObject({ run_status: 'completed', subjects: { total: 245, settled: 245 } });
    expect(run.status_summary).toMatch(/^stopped \(error_budget\)/);
    const canary = await canaryOf(runId);
    // A large canary may use the budget up before its own end.
    const asked = (await cluster.rows(runId)).filter((row) => row.reason_code !== 'error_budget');
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((row) => !canary.has(row.target))).toEqual([]);
    const { af_coverage: ledger } = await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
    expect(JSON.stringify(ledger.not_checked)).toContain('too many of its subjects failed');
  });

  test('muster run --dry-run counts subjects and targets, and says that nothing was assessed', async () => {
    const page = await muster(cluster, 'run', 'every_outcome', '--input', 'machines=100', '--dry-run');
    expect([page.code, page.err]).toEqual([0, '']);
    expect(page.out).toMatch(/^dry run: 98 subjects on 7 targets counted, none assessed\n {2}14 {2}rack 0\n/);
    expect(page.out).toMatch(/98 subject\(s\) \(this was a dry run: .*none was assessed\)/);
    const json = await muster(cluster, 'run', 'every_outcome', '--input', 'machines=100', '--dry-run', '--json');
    const { run, envelope } = JSON.parse(json.out);
    expect(run).toMatchObject({ dry_run: true, run_status: 'completed' });
    expect(envelope.result.dry_run).toMatchObject({ subjects: 98, targets: { distinct: 7, without: 0 } });
    expect(envelope.result.subjects).toMatchObject({ total: 98, not_checked: 98, ok: 0 });
    expect(envelope.result).not.toHaveProperty('headline');
    expect(await cluster.rows(run.run_id)).toEqual([]);
  });

  test('muster rerun does the chosen subjects again, and nothing else', async () => {
    const source = await cluster.startRun('every_outcome', { machines: 100 });
    await cluster.ended(source);
    const before = await cluster.rows(source);
    const { code, out, err } = await muster(cluster, 'rerun', source, '--only', 'problem,not_checked', '--json');
    expect([code, err]).toEqual([0, '']);
    const { run, envelope } = JSON.parse(out);
    expect(run.rerun_of).toBe(source);
    expect(envelope.result.rerun).toEqual({
      of: source,
      only: ['problem', 'not_checked'],
      definition_changed: false,
    });
    const rows = await cluster.rows(run.run_id);
    expect(rows.map((row) => row.subject)).toEqual(chosenOf(before, ['problem', 'not_checked']));
    const verdicts = new Map(before.map((row) => [row.subject, row.verdict ?? row.reason_code]));
    for (const row of rows) expect(row.verdict ?? row.reason_code).toBe(verdicts.get(row.subject));
    const { subject } = rows.find((row) => row.standing === 'problem');
    const again = await muster(cluster, 'rerun', run.run_id, '--subject', subject, '--rows', '--fail-on', 'problem');
    expect(again.code).toBe(3);
    expect(JSON.parse(again.out)).toMatchObject({ subject, standing: 'problem' });
    expect((await muster(cluster, 'runs', '--limit', '1')).out).toContain(`again ${run.run_id}`);
  });

  test('muster rerun refuses in one line what cannot be done again', async () => {
    const source = await cluster.startRun('every_outcome', { machines: 3 });
    await cluster.ended(source);
    const list = await cluster.startRun('machine_list', { machines: 3 });
    await cluster.ended(list);
    for (const [args, code, said] of [
      [[source, '--subject', 'machine-0007'], 2, /no subject 'machine-0007' \[unknown_subject\]/],
      [[source, '--only', 'cannot_cover'], 1, /\[nothing_to_rerun\]/],
      [[list, '--only', 'ok'], 2, /\[not_a_fleet\]/],
      [['no-id', '--only', 'ok'], 2, /\[invalid_request\]/],
    ] as const) {
      const exit = await muster(cluster, 'rerun', ...args);
      expect(exit).toMatchObject({ code, out: '' });
      expect(exit.err).toMatch(said);
      expect(exit.err.trimEnd().split('\n')).toHaveLength(1);
    }
  });

  test('a run over files can be done again when they were kept, and is refused when they were not', async () => {
    const pods = demoPods(new Date(NOW))[0]!;
    const file = join(cluster.folder, pods.name);
    await writeFile(file, pods.text);
    const start = async (...more: string[]) => {
      const { out } = await muster(cluster, 'run', 'kubernetes_workloads', file, '--now', NOW, '--json', ...more);
      return JSON.parse(out);
    };
    const gone = await muster(cluster, 'rerun', (await start()).run.run_id, '--only', 'problem');
    expect(gone).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/deleted.*\[input_gone\]/) });
    const { run, envelope } = await start('--keep-input');
    const again = await muster(cluster, 'rerun', run.run_id, '--only', 'problem', '--now', NOW, '--json');
    expect(again.code).toBe(0);
    const { problem } = envelope.result.subjects;
    expect(JSON.parse(again.out).envelope.result.subjects).toMatchObject({ total: problem, problem });
  });

  test('muster quota shows and sets what the tenant may have, and it holds', async () => {
    const set = await muster(cluster, 'quota', '--max-subjects-per-run', '20', '--json');
    expect(JSON.parse(set.out)).toEqual({
      max_open_runs: null,
      max_subjects_per_run: 20,
      max_in_flight_chunks: null,
    });
    const over = await muster(cluster, 'run', 'every_outcome', '--input', 'machines=100');
    expect(over).toMatchObject({ code: 1, out: '' });
    expect(over.err).toMatch(/more than 20 subjects, the tenant's quota max_subjects_per_run \[quota_exceeded\]/);
    await muster(cluster, 'quota', '--max-open-runs', '0');
    const none = await muster(cluster, 'run', 'every_outcome', '--input', 'machines=3');
    expect(none.err).toMatch(/max_open_runs of 0 is used up \[quota_exceeded\]/);
    await muster(cluster, 'quota', '--max-open-runs', 'none', '--max-subjects-per-run', 'none');
    const { out } = await muster(cluster, 'quota');
    expect(out).toMatch(
      /^runs that are not over +no limit\nsubjects of one run +no limit\nchunks under way +no limit\n$/,
    );
  });

  test('after all of that, every invariant holds', async () => {
    const broken = await invariants(cluster.db);
    expect(broken).toEqual([]);
  });
});
