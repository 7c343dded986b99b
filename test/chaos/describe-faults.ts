/**
 * The frame of a chaos test: each runs on every backend that is there and under every seed, and after each, whatever it did,
 * all that was ever accepted must come to rest with every invariant whole.
 */
import { invariants } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Chance, chanceOf } from './chance.ts';
import { type ChaosCluster, startChaosCluster } from './chaos-cluster.ts';
import { type ChaosPlan, readPlan } from './plan.ts';
import { hasRedisServer } from './stores/own-redis.ts';
import { miscountingAnswers, orphanedObjects } from './told-and-stored.ts';

export interface Chaos {
  readonly cluster: ChaosCluster;
  readonly chance: Chance;
  /** The first seed of this run: for what is measured once. */
  readonly first: boolean;
}

/** Declares a test that hurts a cluster and says what must have come of it. */
export type DeclareFault = (name: string, hurt: (chaos: Chaos) => Promise<void>) => void;

const plan = readPlan(process.env);
const REST_MS = 60_000;

/** Declares the tests of one kind of fault. */
export function describeFaults(
  kind: string,
  declare: (fault: DeclareFault, plan: ChaosPlan) => void,
  options: { readonly s3?: boolean } = {},
): void {
  const backends = plan.backends.filter((name) => name !== 'redis' || hasRedisServer());
  if (backends.length < plan.backends.length) {
    console.error('chaos: NO REDIS HERE (no redis-server in the PATH): the faults run on PostgreSQL only');
  }
  describe.each(backends)(`${kind}, on %s`, (backend) => {
    let cluster: ChaosCluster | undefined;
    const discard = async () => {
      await cluster?.stop();
      cluster = undefined;
    };
    afterAll(discard);

    describe.each(plan.seeds)('seed %i', (seed) => {
      // A cluster that was hurt past repair would fail the tests behind it, too.
      afterEach(async ({ task }) => {
        if (task.result?.state !== 'fail') return;
        console.error(`again: npm run test:chaos -- --seed ${seed} --backend ${backend} --fault '${task.name}'`);
        tellLastLines(cluster);
        await discard();
      });

      declare((name, hurt) => {
        test(name, async () => {
          cluster ??= await startChaosCluster(backend, options);
          await hurt({ cluster, chance: chanceOf(seed, name), first: seed === plan.seeds[0] });
          await expectRest(cluster);
          await cluster.endProcesses();
        });
      }, plan);
    });
  });
}

/**
 * Waits until nothing is under way, and looks at every row. There must be a worker that lives: what the dead left behind is
 * somebody's to find.
 */
async function expectRest(cluster: ChaosCluster): Promise<void> {
  const { db } = cluster;
  const patience = { timeoutMs: REST_MS };
  const count = async (what: string) =>
    (await db.query<{ count: number }>(`select count(*) from muster.${what}`)).rows[0]!.count;
  await waitFor(
    () => count(`runs where phase <> 'done'`),
    (open) => open === 0,
    { what: 'the end of every run', ...patience },
  );
  // What attempts left behind is swept when it is a minute old: it is made so, what the last of them stage meanwhile too.
  const age = `update muster.artifacts set created_at = created_at - interval '5 minutes' where state = 'staged'`;
  await waitFor(
    async () => {
      await db.query(age);
      return await count(`artifacts where state in ('staged', 'deleting')`);
    },
    (left) => left === 0,
    { what: 'the sweeping of what attempts left behind', ...patience },
  );
  await waitFor(
    () => cluster.jobsLeft(),
    (left) => left === 0,
    { what: 'an empty queue', ...patience },
  );
  expect(await invariants(db)).toEqual([]);
  expect(await miscountingAnswers(db)).toEqual([]);
  expect(await orphanedObjects(db, cluster.store)).toEqual([]);
}

function tellLastLines(cluster: ChaosCluster | undefined): void {
  for (const worker of cluster?.workers ?? []) {
    const lines = worker.stderr.filter((line) => !line.includes('"msg":"upkeep"'));
    console.error([`worker ${worker.pid}:`, ...lines.slice(-15)].join('\n  '));
  }
}
