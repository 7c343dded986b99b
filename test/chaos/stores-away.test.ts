/** The queue's store and the results database die, stop, or lose what they had: runs wait, and go on when they are back. */
import { expect } from 'vitest';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded, untilSettled } from './runs.ts';
import { away, deaf } from './stores/breakable-store.ts';

const MACHINES = 600;
const RUNBOOKS = ['computing', 'waiting'];
const LOCK_MS = 2000;

async function expectRight({ db }: ChaosCluster, runs: readonly string[]): Promise<void> {
  for (const runId of runs) {
    expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
    expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(MACHINES));
  }
}

async function twoWorkers(cluster: ChaosCluster): Promise<void> {
  await Promise.all([cluster.startWorker(), cluster.startWorker()]);
}

describeFaults('stores go away', (fault, { long }) => {
  for (const seconds of [3, 20, ...(long ? [120] : [])]) {
    fault(`the queue's store killed for ${seconds} s`, async ({ cluster, chance }) => {
      const runs = [await startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS), pauseMs: 4 })];
      await twoWorkers(cluster);
      await untilSettled(cluster.db, runs[0]!, chance.int(1, 200));
      const gone = away(cluster.queueStore, seconds * 1000);
      // With a queue of its own, the results store takes runs as ever.
      if (cluster.backend === 'redis') runs.push(await startSweep(cluster, MACHINES));
      await gone;
      await expectRight(cluster, runs);
    });
  }

  fault("the queue's store stopped past every lock", async ({ cluster, chance }) => {
    const runId = await startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS), pauseMs: 4 });
    await twoWorkers(cluster);
    await untilSettled(cluster.db, runId, chance.int(1, 200));
    await deaf(cluster.queueStore, LOCK_MS + chance.int(500, 2500));
    await expectRight(cluster, [runId]);
  });

  fault('the queue flushed', async ({ cluster, chance }) => {
    const runs = await Promise.all(RUNBOOKS.map((runbook) => startSweep(cluster, MACHINES, { runbook, pauseMs: 4 })));
    await twoWorkers(cluster);
    for (const least of [chance.int(1, 100), chance.int(200, 500)]) {
      await untilSettled(cluster.db, runs[0]!, least);
      await cluster.queueStore.flush();
    }
    await expectRight(cluster, runs);
  });

  fault('the queue flushed while no worker lives', async ({ cluster, chance }) => {
    const runId = await startSweep(cluster, MACHINES, { pauseMs: 4 });
    const doomed = await cluster.startWorker();
    await untilSettled(cluster.db, runId, chance.int(1, 200));
    await doomed.kill('SIGKILL');
    await cluster.queueStore.flush();
    await twoWorkers(cluster);
    await expectRight(cluster, [runId]);
  });

  fault('the results database restarted, twice', async ({ cluster, chance }) => {
    const runs = await Promise.all(RUNBOOKS.map((runbook) => startSweep(cluster, MACHINES, { runbook, pauseMs: 4 })));
    await twoWorkers(cluster);
    for (const least of [chance.int(1, 150), chance.int(200, 450)]) {
      await untilSettled(cluster.db, runs[0]!, least);
      await away(cluster.postgres, chance.pick([0, 500, 3000]));
    }
    await expectRight(cluster, runs);
  });

  fault('the results database stopped past every lock', async ({ cluster, chance }) => {
    const runId = await startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS), pauseMs: 4 });
    await twoWorkers(cluster);
    await untilSettled(cluster.db, runId, chance.int(1, 200));
    await deaf(cluster.postgres, LOCK_MS + chance.int(500, 2500));
    await expectRight(cluster, [runId]);
  });
});
