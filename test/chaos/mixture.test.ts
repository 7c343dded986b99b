/** Faults of all sorts, one after another and on top of each other, in an order that the seed makes. */
import { type SpawnedService, waitFor } from '@muster/testkit';
import { expect } from 'vitest';
import type { Chance } from './chance.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { outcomesOf, rightOutcomes, settledOf, startSweep, untilEnded } from './runs.ts';
import { away, deaf } from './stores/breakable-store.ts';

const MACHINES = 300;
const RUNS = 4;
const STEPS = 8;
const START_ATTEMPTS = 20;
const MOODS = [
  { kind: 'refusing', status: 503, percent: 50 },
  { kind: 'breaking', percent: 30 },
  { kind: 'slow', ms: 50 },
  { kind: 'well' },
] as const;

type Fault = (cluster: ChaosCluster, chance: Chance) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  async 'kill a worker'(cluster, chance) {
    await chance.pick(cluster.workers).kill('SIGKILL');
    await startAnother(cluster);
  },
  async 'tell a worker to stop'(cluster, chance) {
    await chance.pick(cluster.workers).kill('SIGTERM');
    await startAnother(cluster);
  },
  async 'stop a worker where it is'(cluster, chance) {
    const { pid } = await startAnother(cluster);
    process.kill(pid, 'SIGSTOP');
    await deaf(cluster.queueStore, chance.int(0, 1000));
    process.kill(pid, 'SIGCONT');
  },
  'kill the queue’s store': (cluster, chance) => away(cluster.queueStore, chance.int(0, 2000)),
  'stop the queue’s store': (cluster, chance) => deaf(cluster.queueStore, chance.int(0, 3000)),
  'flush the queue': (cluster) => cluster.queueStore.flush(),
  'kill the database': (cluster, chance) => away(cluster.postgres, chance.int(0, 2000)),
  'stop the database': (cluster, chance) => deaf(cluster.postgres, chance.int(0, 3000)),
  async 'change the artifact store’s mood'(cluster, chance) {
    cluster.s3!.setMood(chance.pick(MOODS));
  },
};

describeFaults(
  'a mixture',
  (fault) => {
    fault('of faults, one after another, under load', async ({ cluster, chance }) => {
      const { db } = cluster;
      const start = () =>
        startSweep(cluster, MACHINES, { runbook: chance.pick(['computing', 'waiting']), pauseMs: chance.int(2, 6) });
      const runs: string[] = [];
      for (let count = 0; count < RUNS; count++) runs.push(await start());
      await Promise.all([cluster.startWorker(), cluster.startWorker({ twice: true })]);
      const names = Object.keys(FAULTS);
      const done: string[] = [];
      try {
        for (let step = 0; step < STEPS; step++) {
          const settled = await settledInAll(cluster, runs);
          const name = chance.pick(names);
          done.push(name);
          await FAULTS[name]!(cluster, chance);
          // Something must come through before the next one, or nothing would ever be in its way.
          if (settled < runs.length * MACHINES) {
            await waitFor(
              () => settledInAll(cluster, runs),
              (now) => now > settled,
              { what: 'some progress', timeoutMs: 60_000 },
            );
          } else {
            runs.push(await start());
          }
        }
        cluster.s3!.setMood({ kind: 'well' });
        for (const runId of runs) {
          expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
          expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(MACHINES));
        }
      } catch (error) {
        throw new Error(`after: ${done.join(', ')}`, { cause: error });
      }
    });
  },
  { s3: true },
);

/** A worker refuses to start while a store is ill, and whoever supervises it tries again. */
async function startAnother(cluster: ChaosCluster): Promise<SpawnedService> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await cluster.startWorker();
    } catch (error) {
      if (attempt === START_ATTEMPTS || !String(error).includes('ended (code 1')) throw error;
    }
  }
}

async function settledInAll({ db }: ChaosCluster, runs: readonly string[]): Promise<number> {
  let sum = 0;
  for (const runId of runs) sum += await settledOf(db, runId);
  return sum;
}
