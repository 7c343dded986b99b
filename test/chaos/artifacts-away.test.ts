/** The artifact store refuses, does not answer, loses its answers, or is slow: that costs walks, never a verdict or an answer. */
import { waitFor } from '@muster/testkit';
import { expect } from 'vitest';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded } from './runs.ts';
import type { Mood } from './stores/faulty-s3.ts';

const MACHINES = 240;

/** A sweep during which the store is in a mood; it is well again when the run is over. */
async function sweepIn(cluster: ChaosCluster, mood: Mood): Promise<void> {
  const { db } = cluster;
  const s3 = cluster.s3!;
  await Promise.all([cluster.startWorker(), cluster.startWorker()]);
  const failedBefore = s3.failed;
  s3.setMood(mood);
  try {
    const runs = [await startSweep(cluster, MACHINES), await cluster.startRun('list', { machines: 5 })];
    for (const runId of runs) {
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
    }
    expect(await outcomesOf(db, runs[0]!)).toEqual(rightOutcomes(MACHINES));
  } finally {
    s3.setMood({ kind: 'well' });
  }
  if (mood.kind !== 'slow') expect(s3.failed).toBeGreaterThan(failedBefore);
}

describeFaults(
  'the artifact store is ill',
  (fault, { long }) => {
    fault('it refuses everything with 5xx', async ({ cluster, chance }) => {
      await sweepIn(cluster, { kind: 'refusing', status: chance.pick([500, 502, 503]), percent: 100 });
    });

    fault('it refuses a part of what it is asked', async ({ cluster, chance }) => {
      await sweepIn(cluster, { kind: 'refusing', status: chance.pick([500, 503]), percent: chance.int(20, 60) });
    });

    fault('it does what it is asked, and its answers get lost', async ({ cluster, chance }) => {
      await sweepIn(cluster, { kind: 'breaking', percent: chance.int(20, 100) });
    });

    fault('it is slow', async ({ cluster, chance }) => {
      await sweepIn(cluster, { kind: 'slow', ms: chance.int(100, 400) });
    });

    fault('it does not answer for a while', async ({ cluster }) => {
      const { db } = cluster;
      const s3 = cluster.s3!;
      await cluster.startWorker();
      s3.setMood({ kind: 'silent' });
      const runId = await startSweep(cluster, MACHINES);
      await waitFor(
        () => s3.failed,
        (failed) => failed > 0,
      );
      const silent = s3.failed;
      // Time-outs as they are shipped take half a minute each.
      await waitFor(
        () => s3.failed,
        (failed) => !long || failed > silent + 3,
        { what: 'a second try of what timed out', timeoutMs: 120_000 },
      );
      s3.setMood({ kind: 'well' });
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
      expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(MACHINES));
    });

    fault('kill -9 of a worker while it puts a walk', async ({ cluster }) => {
      const { db } = cluster;
      const s3 = cluster.s3!;
      const doomed = await cluster.startWorker();
      const before = s3.failed;
      s3.setMood({ kind: 'silent' });
      const runId = await startSweep(cluster, MACHINES);
      await waitFor(
        () => s3.failed,
        (failed) => failed > before,
      );
      await doomed.kill('SIGKILL');
      s3.setMood({ kind: 'well' });
      await cluster.startWorker();
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
      expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(MACHINES));
    });
  },
  { s3: true },
);
