/** The queue gives out every job twice, at once: the rows let one of the two take effect. */
import { expect } from 'vitest';
import { describeFaults } from './describe-faults.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded } from './runs.ts';

describeFaults('jobs are delivered twice', (fault) => {
  fault('every job twice at once, to three workers', async ({ cluster, chance }) => {
    const { db } = cluster;
    const machines = chance.int(300, 600);
    const runs = await Promise.all(
      ['computing', 'waiting'].map((runbook) => startSweep(cluster, machines, { runbook })),
    );
    const listed = await cluster.startRun('list', { machines: 30 });
    await Promise.all(
      [1, 2, 3].map(() => cluster.startWorker({ twice: true, env: { MUSTER_WORKER_CONCURRENCY: '4' } })),
    );
    for (const runId of [...runs, listed]) {
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
    }
    for (const runId of runs) expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
    expect(Object.keys(await outcomesOf(db, listed))).toHaveLength(30);
    const { rows } = await db.query<{ ends: number }>(
      `select count(*) filter (where kind = 'run_completed') as ends from muster.run_events
        where run_id = any($1::uuid[]) group by run_id`,
      [[...runs, listed]],
    );
    expect(rows.map(({ ends }) => ends)).toEqual([1, 1, 1]);
  });
});
