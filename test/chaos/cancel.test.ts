/** A run is cancelled at each of its steps, and while what a dead worker held is being recovered: the answer still comes. */
import { expect } from 'vitest';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { CHUNK, machineName } from './fleet.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded, untilSettled } from './runs.ts';

const RUNBOOKS = ['computing', 'waiting'];
const MACHINES = 6 * CHUNK;
const CANCELLED = { outcome: 'not_checked', verdict: null, reason_code: 'cancelled' };

async function cancel(cluster: ChaosCluster, runId: string): Promise<void> {
  await cluster.door.ask('POST', `/v1/runs/${runId}/cancel`, { reason: 'enough' });
}

/** It ends as cancelled with an answer; what was assessed stays and is right, the rest says why it was not checked. */
async function expectCancelled({ db }: ChaosCluster, runId: string, planned = MACHINES): Promise<number> {
  expect(await untilEnded(db, runId)).toMatchObject({ status: 'cancelled', answer_kind: 'envelope' });
  const outcomes = await outcomesOf(db, runId);
  expect(Object.keys(outcomes)).toHaveLength(planned);
  const checked = Object.entries(outcomes).filter(([, { reason_code }]) => reason_code !== 'cancelled');
  const right = rightOutcomes(MACHINES);
  for (const [name, outcome] of checked) expect({ name, ...outcome }).toEqual({ name, ...right[name] });
  for (const outcome of Object.values(outcomes)) {
    if (outcome.reason_code === 'cancelled') expect(outcome).toEqual(CANCELLED);
  }
  return checked.length;
}

describeFaults('cancels', (fault) => {
  fault('before anybody has begun', async ({ cluster }) => {
    const runs = [await startSweep(cluster, MACHINES), await cluster.startRun('list', { machines: 3 })];
    for (const runId of runs) await cancel(cluster, runId);
    await cluster.startWorker();
    for (const runId of runs) expect(await expectCancelled(cluster, runId, 0)).toBe(0);
  });

  fault('in the middle of the plan', async ({ cluster }) => {
    const runId = await startSweep(cluster, MACHINES);
    await cluster.startWorker({ hold: ['plan'] });
    await cluster.held('plan');
    await cancel(cluster, runId);
    expect(await expectCancelled(cluster, runId, 0)).toBe(0);
  });

  fault('in the middle of the assessment', async ({ cluster, chance }) => {
    const place = machineName(chance.int(0, MACHINES - 1));
    const runId = await startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS), pauseMs: 5 });
    await cluster.startWorker({ hold: [place] });
    await cluster.held(place);
    await cancel(cluster, runId);
    expect(await expectCancelled(cluster, runId)).toBeLessThan(MACHINES);
  });

  fault('while the answer is being made', async ({ cluster }) => {
    const runId = await startSweep(cluster, MACHINES);
    await cluster.startWorker({ hold: ['collect'] });
    await cluster.held('collect');
    await cancel(cluster, runId);
    cluster.letGo('collect');
    expect(await expectCancelled(cluster, runId)).toBe(MACHINES);
  });

  fault('in the middle of a bounded run', async ({ cluster }) => {
    const runId = await cluster.startRun('list', { machines: 3 });
    await cluster.startWorker({ hold: ['procedure'] });
    await cluster.held('procedure');
    await cancel(cluster, runId);
    expect(await expectCancelled(cluster, runId, 0)).toBe(0);
  });

  for (const place of ['plan', 'a machine', 'collect']) {
    fault(`during a stall recovery, its worker dead in ${place}`, async ({ cluster, chance }) => {
      const at = place === 'a machine' ? machineName(chance.int(0, MACHINES - 1)) : place;
      const runId = await startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS) });
      const doomed = await cluster.startWorker({ hold: [at] });
      await cluster.held(at);
      await cluster.startWorker();
      await doomed.kill('SIGKILL');
      await cancel(cluster, runId);
      const checked = await expectCancelled(cluster, runId, place === 'plan' ? 0 : MACHINES);
      if (place === 'collect') expect(checked).toBe(MACHINES);
    });
  }

  fault('many at any moment, under load', async ({ cluster, chance }) => {
    const { db } = cluster;
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => startSweep(cluster, MACHINES, { runbook: chance.pick(RUNBOOKS), pauseMs: 3 })),
    );
    await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    const kept = runs.splice(chance.int(0, 5), 1)[0]!;
    for (const runId of chance.shuffle(runs)) {
      await untilSettled(db, kept, chance.int(1, MACHINES - 1));
      await cluster.door.ask('POST', `/v1/runs/${runId}/cancel`, {}).catch((error: Error) => {
        // It was over before.
        if (!error.message.includes('run_final')) throw error;
      });
    }
    expect(await untilEnded(db, kept)).toMatchObject({ status: 'completed' });
    expect(await outcomesOf(db, kept)).toEqual(rightOutcomes(MACHINES));
    for (const runId of runs) await untilEnded(db, runId);
  });
});
