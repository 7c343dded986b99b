/** A rolling redeploy under load: old and new definitions side by side, each run ends on the code that it was accepted for. */
import { expect } from 'vitest';
import { describeFaults } from './describe-faults.ts';
import { maxStarts, outcomesOf, rightOutcomes, untilEnded, untilSettled } from './runs.ts';

const MACHINES = 400;
const OLD = { MUSTER_BUILD_ID: 'old' };
const NEW = { MUSTER_BUILD_ID: 'new' };
const LEAVING = { MUSTER_SHUTDOWN_MS: '8000' };

describeFaults('redeploys', (fault) => {
  fault('old workers are replaced by new ones while runs of both are under way', async ({ cluster, chance }) => {
    const { db } = cluster;
    const sweep = { runbook: chance.pick(['computing', 'waiting']), pauseMs: 4 };
    const input = { machines: MACHINES, pause_ms: sweep.pauseMs };
    const [oldDoor, newDoor] = await Promise.all([cluster.startDoor({ env: OLD }), cluster.startDoor({ env: NEW })]);
    const before = await cluster.startRun(sweep.runbook, input, oldDoor);
    const [first, last] = await Promise.all([
      cluster.startWorker({ env: { ...OLD, ...LEAVING } }),
      cluster.startWorker({ env: { ...OLD, ...LEAVING } }),
    ]);
    await untilSettled(db, before, chance.int(1, 100));
    const during = await cluster.startRun(sweep.runbook, input, oldDoor);
    const after = await cluster.startRun(sweep.runbook, input, newDoor);
    await cluster.startWorker({ env: NEW });
    await untilSettled(db, after, 1);
    expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await cluster.startWorker({ env: NEW });
    for (const runId of [before, during, after]) {
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
      expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(MACHINES));
      expect(await maxStarts(db, runId)).toBeLessThanOrEqual(1);
    }
    expect(await last.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const { rows } = await db.query<{ run_id: string; builds: string[] }>(
      `select run_id, array_agg(distinct columns->>'build') as builds from muster.subjects
        where run_id = any($1::uuid[]) group by run_id`,
      [[before, during, after]],
    );
    const builds = new Map(rows.map(({ run_id, builds: seen }) => [run_id, seen]));
    expect([before, during, after].map((runId) => builds.get(runId))).toEqual([['old'], ['old'], ['new']]);
  });
});
