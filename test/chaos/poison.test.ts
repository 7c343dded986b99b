/** Subjects that hurt whoever assesses them: each costs itself, by name, and nobody beside it. */
import { waitFor } from '@muster/testkit';
import { expect } from 'vitest';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import { CHUNK, machineName, POISON_CODES, type Poison } from './fleet.ts';
import { outcomesOf, readRun, rightOutcomes, untilEnded } from './runs.ts';

const RUNBOOKS = ['short_computing', 'short_waiting'];
const MACHINES = 6 * CHUNK;
/** A heap that is full before the patience with a busy thread ends. */
const SMALL_HEAP = { MUSTER_THREAD_HEAP_MB: '64' };

/** Runs a sweep with some poisonous machines; whoever dies of one is followed by another. */
async function sweepWith(
  cluster: ChaosCluster,
  runbook: string,
  poison: Readonly<Record<number, Poison>>,
): Promise<number> {
  const { db } = cluster;
  const runId = await cluster.startRun(runbook, { machines: MACHINES, poison });
  let deaths = 0;
  let worker = await cluster.startWorker({ env: SMALL_HEAP });
  const ended = async () => (await readRun(db, runId)).phase === 'done';
  while (!(await ended())) {
    const died = worker.exited.then(() => true);
    let isDead = false;
    void died.then(() => {
      isDead = true;
    });
    await waitFor(async () => isDead || (await ended()), Boolean, { what: 'an end', timeoutMs: 90_000 });
    if (!isDead) break;
    deaths++;
    worker = await cluster.startWorker({ env: SMALL_HEAP });
  }
  expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
  const expected = { ...rightOutcomes(MACHINES) };
  for (const [number, kind] of Object.entries(poison)) {
    expected[machineName(Number(number))] = {
      outcome: 'not_checked',
      verdict: null,
      reason_code: POISON_CODES[kind],
    };
  }
  expect(await outcomesOf(db, runId)).toEqual(expected);
  return deaths;
}

describeFaults('poisonous subjects', (fault) => {
  fault('one of each sort that a thread survives or dies of', async ({ cluster, chance }) => {
    const sorts: Poison[] = ['loop', 'fill_heap', 'exit', 'throw', 'throw_late'];
    const places = chance.shuffle(Array.from({ length: MACHINES }, (_, number) => number));
    const poison = Object.fromEntries(sorts.map((sort, index) => [places[index]!, sort]));
    expect(await sweepWith(cluster, chance.pick(RUNBOOKS), poison)).toBe(0);
  });

  fault('two sorts in one chunk', async ({ cluster, chance }) => {
    const sorts = chance.shuffle<Poison>(['loop', 'exit', 'throw', 'throw_late']);
    const first = chance.int(0, 5) * CHUNK;
    const poison = { [first + chance.int(0, 9)]: sorts[0]!, [first + chance.int(10, 19)]: sorts[1]! };
    expect(await sweepWith(cluster, chance.pick(RUNBOOKS), poison)).toBe(0);
  });

  fault('one that ends the process that assesses it', async ({ cluster, chance }) => {
    const deaths = await sweepWith(cluster, chance.pick(RUNBOOKS), { [chance.int(0, MACHINES - 1)]: 'sigkill' });
    // Twice among others, twice alone.
    expect(deaths).toBe(4);
  });
});
