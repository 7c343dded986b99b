/** The same run through the queue gives the same rows and the same answer as in one process, on any number of workers. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readArtifactRange } from '@muster/artifacts';
import { openArtifactStore, readConfig, scopeOf } from '@muster/host';
import { demoPods, shippedRunbooks } from '@muster/runbooks';
import { testQueueBackends } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { runbooks, tools } from './fleet-runbooks.ts';
import { comparable, NOW, type Reference, runHere, withoutWalk } from './in-process.ts';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const MACHINES = { machines: 250 };
const PODS = demoPods(new Date(NOW));
const CLI = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));
const [everyOutcome, machineList] = runbooks;

let fleetHere: Reference;
let podsHere: Reference;
let listHere: Reference;

beforeAll(async () => {
  const files = new Map(PODS.map((file, index) => [`ref-${index}`, file]));
  const input = { files: PODS.map(({ name, target }, index) => ({ ref: `ref-${index}`, name, target })) };
  [fleetHere, podsHere, listHere] = await Promise.all([
    runHere(everyOutcome!, tools, MACHINES),
    runHere(shippedRunbooks[0]!, [], input, files),
    runHere(machineList!, tools, { machines: 30 }),
  ]);
});

test('the fleet that is compared has every outcome', () => {
  const seen = new Set(fleetHere.rows.map((row) => row.reason_code ?? row.verdict));
  expect(seen).toEqual(
    new Set([
      'fine',
      'overloaded',
      'declined',
      'timeout',
      'subject_failed',
      'tool_needs_unresolved',
      'nothing_found',
      'row_failed',
    ]),
  );
  expect(fleetHere.answer.result.subjects.total).toBe(245);
  expect(JSON.stringify(fleetHere.answer.af_coverage.not_checked)).toMatch(/5 further subject\(s\) with a key/);
});

describe.each(await testQueueBackends())('on $name', (queue) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(queue);
    await cluster.startWorker();
  });

  async function answerOf(runId: string): Promise<Body> {
    const run = await cluster.ended(runId);
    expect(run).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    return await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
  }

  async function expectSame(runId: string, here: Reference): Promise<void> {
    const answer = await answerOf(runId);
    expect((await cluster.rows(runId)).map(withoutWalk)).toEqual(here.rows);
    expect(comparable(answer, runId)).toEqual(here.answer);
  }

  async function startPods(): Promise<string> {
    const files = await Promise.all(
      PODS.map(async ({ name, text, target }) => ({ ref: await cluster.upload(name, text), name, target })),
    );
    return await cluster.startRun('kubernetes_workloads', { files });
  }

  test.each([1, 3])('a fleet, the shipped runbook and a procedure, with %i worker(s)', async (workers) => {
    await Promise.all(Array.from({ length: workers - 1 }, () => cluster.startWorker()));
    const [fleet, pods, list] = await Promise.all([
      cluster.startRun('every_outcome', MACHINES),
      startPods(),
      cluster.startRun('machine_list', { machines: 30 }),
    ]);
    await expectSame(fleet, fleetHere);
    await expectSame(pods, podsHere);
    expect(comparable(await answerOf(list), list)).toEqual(listHere.answer);
    const rows = await cluster.rows(list);
    expect(rows.map(({ subject, verdict, reason }) => ({ subject, verdict, reason }))).toEqual(
      listHere.rows.map(({ verdict, reason }, index) => ({ subject: rows[index].subject, verdict, reason })),
    );
  });

  test('the walk of each subject is where its row says, and is what its hash says', async () => {
    const runId = await cluster.startRun('every_outcome', { machines: 20 });
    await answerOf(runId);
    const store = openArtifactStore(readConfig({ MUSTER_DATA_DIR: cluster.folder }));
    const rows = await cluster.rows(runId);
    // A subject that ran out of time has left no steps.
    const walked = rows.filter((row) => row.walk !== undefined);
    expect(walked.length).toBeGreaterThan(15);
    for (const { ordinal, walk } of walked) {
      const scope = scopeOf({ tenant: 'default' });
      const part = { start: walk.offset, end: walk.offset + walk.length };
      const bytes = Buffer.from((await readArtifactRange(store, scope, walk.ref, part))!.data);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(walk.sha256);
      const steps = bytes
        .toString('utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(new Set(steps.map((step) => step.subflow.split('/')[0]))).toEqual(new Set([`subject~${ordinal}`]));
    }
    await store.close();
  });
});

test('`muster try` prints the same answer and the same rows', async () => {
  const pods = PODS[0]!;
  const [backend] = await testQueueBackends();
  const cluster = await startCluster(backend!);
  await cluster.startWorker();
  const file = join(cluster.folder, pods.name);
  await writeFile(file, pods.text);
  const env = { PATH: process.env.PATH, MUSTER_RUNBOOKS: cluster.env.MUSTER_RUNBOOKS };
  const asked = [CLI, 'try', 'kubernetes_workloads', file, '--input', `target=${pods.target}`, '--now', NOW];
  const run = promisify(execFile);
  const [json, lines] = await Promise.all(
    ['--json', '--rows'].map((option) => run(process.execPath, [...asked, option], { env, maxBuffer: 1 << 26 })),
  );
  const tried = JSON.parse(json!.stdout);
  const ref = await cluster.upload(pods.name, pods.text);
  const runId = await cluster.startRun('kubernetes_workloads', {
    files: [{ ref, name: pods.name }],
    target: pods.target,
  });
  await cluster.ended(runId);
  const envelope = await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
  expect(comparable(envelope, runId)).toEqual(comparable(tried.envelope, tried.run.run_id));
  const rows = (await cluster.rows(runId)).map(({ subject, verdict, standing, reason, columns }) => ({
    subject,
    verdict,
    standing,
    reason,
    ...columns,
  }));
  expect(
    lines!.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(rows);
});
