/** One tenant's big sweep, and a hundred tenants' tens: told by what was settled when, never by how long it took. */
import { createApiKey } from '@muster/results';
import { expect } from 'vitest';
import { describeFaults } from './describe-faults.ts';
import { CHUNK } from './fleet.ts';
import { noteMeasurement } from './note-measurement.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded, untilSettled } from './runs.ts';

const TENANTS = 100;
const TENS = 10;
const BIG = 150 * CHUNK;
const WINDOW = 16;

describeFaults('a noisy tenant', (fault) => {
  fault('a hundred tenants’ tens are through before half of one tenant’s thousands', async ({ cluster, chance }) => {
    const { db, backend } = cluster;
    const big = await startSweep(cluster, BIG, { pauseMs: 2 });
    const env = { MUSTER_DISPATCH_WINDOW: String(WINDOW) };
    await Promise.all([cluster.startWorker({ env }), cluster.startWorker({ env })]);
    await untilSettled(db, big, chance.int(1, 5 * CHUNK));
    const small = await Promise.all(
      Array.from({ length: TENANTS }, async (_, number) => {
        const tenant = `tenant-${number}`;
        const { key } = await createApiKey(db, { tenant, name: 'sweeps', role: 'runner' });
        const asked = { runbook: 'computing', input: { machines: TENS } };
        return (await cluster.door.ask('POST', '/v1/runs', asked, { authorization: `Bearer ${key}` })).run_id as string;
      }),
    );
    for (const runId of small) {
      expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed' });
      expect(Object.keys(await outcomesOf(db, runId))).toHaveLength(TENS);
    }
    expect(await untilEnded(db, big)).toMatchObject({ status: 'completed' });
    expect(await outcomesOf(db, big)).toEqual(rightOutcomes(BIG));
    const { rows } = await db.query<{ before: number; between: number }>(
      `select count(*) filter (where settled_at < small.first) as before,
          count(*) filter (where settled_at between small.first and small.last) as between
        from muster.subjects cross join (
          select min(created_at) as first, max(finished_at) as last from muster.runs where id = any($2::uuid[])
        ) small where run_id = $1`,
      [big, small],
    );
    const { before, between } = rows[0]!;
    noteMeasurement({
      what: `subjects of the big sweep settled while ${TENANTS * TENS} of small ones were`,
      backend,
      value: between,
    });
    expect(between).toBeLessThan((BIG - before) / 2);
  });
});
