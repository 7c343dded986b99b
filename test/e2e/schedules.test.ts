/** Schedules across processes: a worker that dies in the middle of a tick costs nothing and repeats nothing. */
import { testQueueBackends, waitFor } from '@muster/testkit';
import { beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from './muster-cluster.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster((await testQueueBackends())[0]!);
});

async function schedule(name: string): Promise<void> {
  // Due in an hour, and not while a test is under way.
  const timing = { every_seconds: 86_400, anchor: new Date(Date.now() + 3_600_000).toISOString() };
  const body = { name, runbook: 'every_outcome', input: { machines: 6 }, timing, catch_up_seconds: 86_400 };
  await cluster.ask('POST', '/v1/schedules', body);
}

/** Makes a schedule's next slot the one before: it is due. */
async function makeDue(name: string): Promise<void> {
  await cluster.db.query(
    `update muster.schedules set next_slot = next_slot - interval '1 day', next_due_at = next_due_at - interval '1 day'
      where name = $1`,
    [name],
  );
}

async function ledger(name: string) {
  return (await cluster.ask('GET', `/v1/schedules/${name}/ticks`)).ticks as {
    state: string;
    run_id: string;
    run_status?: string;
  }[];
}

async function countRuns(name: string): Promise<number> {
  const { rowCount } = await cluster.db.query('select from muster.runs where scope_key = $1', [`schedule:${name}`]);
  return rowCount;
}

test('killed between the run and its row in the ledger: another worker starts one run, and it is told once', async () => {
  const { db } = cluster;
  await schedule('torn');
  // Whoever writes into the ledger waits here, with the run inserted and nothing committed.
  await db.query(
    `create function muster.hold_tick() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(4711); return new; end $$;
    create trigger hold_tick before insert on muster.ticks for each row execute function muster.hold_tick()`,
  );
  await db.session(async (holder) => {
    await holder.query('select pg_advisory_lock(4711)');
    const doomed = await cluster.startWorker();
    const bystander = await cluster.startWorker();
    await makeDue('torn');
    const holding = () =>
      db.query(
        `select pid from pg_stat_activity where wait_event = 'advisory' and query like 'insert into muster.ticks%'
          and datname = current_database()`,
      );
    await waitFor(holding, ({ rowCount }) => rowCount === 1, { what: 'a tick in the middle' });
    // Whichever has it dies.
    await Promise.all([doomed.kill('SIGKILL'), bystander.kill('SIGKILL')]);
    expect(await countRuns('torn')).toBe(0);
    await holder.query('select pg_advisory_unlock(4711)');
  });
  const heir = await cluster.startWorker();
  const told = await waitFor(
    () => ledger('torn'),
    (ticks) => ticks.some(({ run_status }) => run_status !== undefined),
    { what: 'the end of the run in the ledger' },
  );
  expect(told).toMatchObject([{ state: 'started', run_status: 'completed' }]);
  expect(await countRuns('torn')).toBe(1);
  await heir.kill('SIGKILL');
});

test('killed after a tick: the run and its row are there, and nobody starts a second one', async () => {
  await schedule('whole');
  const doomed = await cluster.startWorker({ MUSTER_TEST_HOLD: 'collect' });
  await makeDue('whole');
  await cluster.told('collect');
  await doomed.kill('SIGKILL');
  const [tick] = await ledger('whole');
  expect(tick).toMatchObject({ state: 'started' });
  const heirs = await Promise.all([cluster.startWorker(), cluster.startWorker()]);
  expect(await cluster.ended(tick!.run_id)).toMatchObject({ run_status: 'completed' });
  expect(await ledger('whole')).toMatchObject([{ state: 'started', run_id: tick!.run_id }]);
  expect(await countRuns('whole')).toBe(1);
  await Promise.all(heirs.map((heir) => heir.kill('SIGKILL')));
});
