/**
 * Workers die and stop in the middle of a sweep: every subject is settled once, the answer is posted once, and only what
 * ended a process is blamed for it.
 */
import { testQueueBackends } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { machineName, runbooks, tools } from './fleet-runbooks.ts';
import { comparable, type Reference, runHere, withoutWalk } from './in-process.ts';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const MACHINES = { machines: 90 };

let here: Reference;
beforeAll(async () => {
  here = await runHere(runbooks[0]!, tools, MACHINES);
});

describe.each(await testQueueBackends())('on $name', (queue) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(queue);
  });

  async function count(what: string, runId: string): Promise<number> {
    const { rows } = await cluster.db.query<{ count: number }>(`select count(*) from muster.${what}`, [runId]);
    return Number(rows[0]?.count);
  }

  const maxStarts = async (runId: string): Promise<number> => {
    const { rows } = await cluster.db.query<{ starts: number }>(
      'select max(starts) as starts from muster.chunks where run_id = $1',
      [runId],
    );
    return rows[0]!.starts;
  };

  /** Every subject once, one answer, one end, and all of it as it would have been without any death. */
  async function expectWhole(runId: string): Promise<void> {
    expect(await cluster.ended(runId)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    const rows = await cluster.rows(runId);
    expect(rows.map(withoutWalk)).toEqual(here.rows);
    const envelope = await cluster.ask('GET', `/v1/runs/${runId}/envelope`);
    expect(comparable(envelope, runId)).toEqual(here.answer);
    expect(await count('answers where run_id = $1', runId)).toBe(1);
    expect(await count(`chunks where run_id = $1 and state = 'open'`, runId)).toBe(0);
    expect(await count(`run_events where run_id = $1 and kind in ('run_completed', 'run_started')`, runId)).toBe(2);
    expect(await count('subjects where run_id = $1', runId)).toBe(here.rows.length);
  }

  test.each([
    ['assess', machineName(40)],
    ['plan', 'plan'],
    ['collect', 'collect'],
  ])('killed in the middle of %s: another worker brings the run to the same end', async (_phase, place) => {
    const doomed = await cluster.startWorker({ MUSTER_TEST_HOLD: place });
    const runId = await cluster.startRun('every_outcome', MACHINES);
    await cluster.told(place);
    expect(await doomed.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    const heir = await cluster.startWorker();
    await expectWhole(runId);
    expect(await maxStarts(runId)).toBeLessThanOrEqual(2);
    await heir.kill('SIGKILL');
  });

  test('told to stop in the middle of a chunk: it ends in order, and what it had assessed is not done again', async () => {
    const place = machineName(41);
    const leaving = await cluster.startWorker({ MUSTER_TEST_HOLD: place, MUSTER_SHUTDOWN_MS: '5000' });
    const runId = await cluster.startRun('every_outcome', MACHINES);
    await cluster.told(place);
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const settled = await count('subjects where run_id = $1', runId);
    expect(settled).toBeGreaterThan(0);
    expect(await maxStarts(runId)).toBeLessThanOrEqual(1);
    const heir = await cluster.startWorker();
    await expectWhole(runId);
    expect(await maxStarts(runId)).toBe(1);
    await heir.kill('SIGKILL');
  });

  test('a subject that ends every process that assesses it is not checked, and it alone', async () => {
    const poison = machineName(30);
    const run = await cluster.startRun('every_outcome', MACHINES);
    let deaths = 0;
    let over = false;
    const supervised = (async () => {
      while (!over) {
        const worker = await cluster.startWorker({ MUSTER_TEST_POISON: poison });
        const { signal } = await Promise.race([worker.exited, cluster.ended(run).then(() => ({ signal: null }))]);
        if (signal === 'SIGKILL') deaths++;
        else await worker.kill('SIGTERM');
      }
    })();
    expect(await cluster.ended(run)).toMatchObject({ run_status: 'completed' });
    over = true;
    await supervised;
    const expected = here.rows.map((row): Body => (row.subject === poison ? undefined : row)).filter(Boolean);
    const rows = (await cluster.rows(run)).map(withoutWalk);
    expect(rows.filter((row) => row.subject !== poison)).toEqual(expected);
    expect(rows.find((row) => row.subject === poison)).toMatchObject({
      outcome: 'not_checked',
      reason_code: 'worker_died',
    });
    // Twice among others, twice alone.
    expect(deaths).toBe(4);
  });
});
