/** Workers end without a word, or stop for a while and come back: others go on where they were, and nothing happens twice. */
import { waitFor } from '@muster/testkit';
import { expect } from 'vitest';
import type { Chance } from './chance.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { CHUNK, machineName } from './fleet.ts';
import { noteMeasurement } from './note-measurement.ts';
import {
  chunkOf,
  maxStarts,
  outcomesOf,
  rightOutcomes,
  settledOf,
  startSweep,
  untilEnded,
  untilReclaimed,
  untilSettled,
} from './runs.ts';

const RUNBOOKS = ['computing', 'waiting'];
const SHIPPED = { MUSTER_LOCK_MS: undefined, MUSTER_STALL_CHECK_MS: undefined };
const ONE_AT_A_TIME = { MUSTER_WORKER_CONCURRENCY: '1' };

/** Kills one of two workers in mid-chunk, and measures how long its chunk stays with the dead. */
async function reclaim(
  { db, backend, ...cluster }: ChaosCluster,
  chance: Chance,
  times: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const machines = 5 * CHUNK;
  const place = chance.int(0, machines - 1);
  const runId = await cluster.startRun('computing', { machines });
  const doomed = await cluster.startWorker({ hold: [machineName(place)], env });
  await cluster.held(machineName(place));
  await cluster.startWorker({ env });
  const chunk = await chunkOf(db, runId, place);
  const killedAt = performance.now();
  await doomed.kill('SIGKILL');
  await untilReclaimed(db, chunk);
  const ms = Math.round(performance.now() - killedAt);
  noteMeasurement({ what: `reclaim after kill -9 (${times}), ms`, backend, value: ms });
  expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
  expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
}

describeFaults('workers die', (fault) => {
  fault('kill -9 of a worker in mid-chunk, ten times in one run', async ({ cluster, chance }) => {
    const { db } = cluster;
    const chunks = 30;
    const hit = chance.shuffle(Array.from({ length: chunks }, (_, index) => index)).slice(0, 10);
    const places = hit.sort((a, b) => a - b).map((chunk) => chunk * CHUNK + chance.int(0, CHUNK - 1));
    const runId = await startSweep(cluster, chunks * CHUNK, { runbook: chance.pick(RUNBOOKS) });
    for (const place of places) {
      // One chunk at a time, so that it does not run past the places of those that come after it.
      const doomed = await cluster.startWorker({ hold: [machineName(place)], env: ONE_AT_A_TIME });
      await cluster.held(machineName(place));
      await doomed.kill('SIGKILL');
    }
    await cluster.startWorker();
    expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
    expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(chunks * CHUNK));
  });

  fault('kill -9 of a worker while another one lives', async ({ cluster, chance }) => {
    await reclaim(cluster, chance, 'lock 2 s, checked each 0.5 s', {});
  });

  fault('kill -9 of a worker with the times as they are shipped', async ({ cluster, chance, first }) => {
    if (first) await reclaim(cluster, chance, 'as shipped: lock 10 s, checked each 2 s', SHIPPED);
  });

  fault('kill -9 of all workers at once', async ({ cluster, chance }) => {
    const { db } = cluster;
    const machines = 600;
    const runs = await Promise.all(RUNBOOKS.map((runbook) => startSweep(cluster, machines, { runbook, pauseMs: 2 })));
    await Promise.all([cluster.startWorker(), cluster.startWorker(), cluster.startWorker()]);
    await untilSettled(db, chance.pick(runs), chance.int(1, 200));
    await Promise.all(cluster.workers.map((worker) => worker.kill('SIGKILL')));
    await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    for (const runId of runs) {
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
      expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
    }
  });

  fault('SIGSTOP of a worker past its lock, then SIGCONT', async ({ cluster, chance }) => {
    const { db } = cluster;
    const machines = 6 * CHUNK;
    const place = chance.int(0, machines - 1);
    const runId = await startSweep(cluster, machines, { runbook: chance.pick(RUNBOOKS) });
    const stopped = await cluster.startWorker({ hold: [machineName(place)] });
    await cluster.held(machineName(place));
    const chunk = await chunkOf(db, runId, place);
    process.kill(stopped.pid, 'SIGSTOP');
    const other = await cluster.startWorker();
    await untilReclaimed(db, chunk);
    expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
    const before = await outcomesOf(db, runId);
    process.kill(stopped.pid, 'SIGCONT');
    cluster.letGo(machineName(place));
    await stopped.ready(/assess discarded/);
    expect(await outcomesOf(db, runId)).toEqual(before);
    expect(before).toEqual(rightOutcomes(machines));
    // It has lost its claim, not its use.
    await other.kill('SIGKILL');
    const next = await startSweep(cluster, 2 * CHUNK);
    expect(await untilEnded(db, next)).toMatchObject({ status: 'completed' });
  });

  fault('SIGSTOP of every worker at different times, under load', async ({ cluster, chance }) => {
    const { db } = cluster;
    const machines = 800;
    const runId = await startSweep(cluster, machines, { runbook: chance.pick(RUNBOOKS), pauseMs: 3 });
    const workers = await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    for (const worker of chance.shuffle(workers)) {
      const settled = await settledOf(db, runId);
      if (settled === machines) break;
      process.kill(worker.pid, 'SIGSTOP');
      const { rows } = await db.query<{ id: string; fence: number }>(
        `select id, fence from muster.chunks where run_id = $1 and state = 'open' and fence > 0`,
        [runId],
      );
      // Until what it held has all been taken over, or nobody holds anything any more.
      await waitFor(
        async () =>
          (
            await db.query(
              `select from muster.chunks join unnest($1::uuid[], $2::int[]) as held (id, fence) using (id)
                where chunks.state = 'open' and chunks.fence = held.fence`,
              [rows.map(({ id }) => id), rows.map(({ fence }) => fence)],
            )
          ).rowCount,
        (left) => left === 0,
        { what: 'others with what the stopped worker held' },
      );
      process.kill(worker.pid, 'SIGCONT');
    }
    expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
    expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
  });

  fault('SIGTERM in mid-chunk: nothing is charged, and nothing is done twice', async ({ cluster, chance }) => {
    const { db } = cluster;
    const machines = 6 * CHUNK;
    const place = chance.int(0, machines - 1);
    const runId = await startSweep(cluster, machines, { runbook: chance.pick(RUNBOOKS) });
    const leaving = await cluster.startWorker({ hold: [machineName(place)], env: { MUSTER_SHUTDOWN_MS: '5000' } });
    await cluster.held(machineName(place));
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await cluster.startWorker();
    expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
    expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
    expect(await maxStarts(db, runId)).toBe(1);
  });
});
