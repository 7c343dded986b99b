/** The queue may lose, repeat and reorder: the rows decide what takes effect, and it takes effect once. */
import type { QueueBackend } from '@muster/queue';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { benchTools, machineNames } from './bench-runbooks.ts';
import { type Bench, openBench, signal } from './worker-bench.ts';

type Bulk = Parameters<ReturnType<QueueBackend['openQueue']>['addBulk']>[0];

/** The same backend, but each job goes out twice, under two ids. */
function twice(backend: QueueBackend): QueueBackend {
  return {
    ...backend,
    openQueue(name) {
      const queue = backend.openQueue(name);
      const addBulk = queue.addBulk.bind(queue);
      const again = (job: Bulk[number]) => ({ ...job, opts: { ...job.opts, jobId: `${job.opts?.jobId}_again` } });
      queue.addBulk = ((jobs: Bulk) => addBulk(jobs.flatMap((job) => [job, again(job)]))) as typeof queue.addBulk;
      return queue;
    },
  };
}

/** Makes everything that was sent look old enough to be looked for. */
async function age(bench: Bench): Promise<void> {
  for (const table of ['runs', 'chunks']) {
    await bench.db.query(
      `update muster.${table} set dispatched_at = dispatched_at - interval '1 minute' where dispatched_at is not null
        and ${table === 'runs' ? `phase <> 'done'` : `state = 'open'`}`,
    );
  }
}

describe.each(await testQueueBackends())('on $name', (queue) => {
  test('every job delivered twice at once has one effect', async () => {
    const reports: unknown[] = [];
    const tools = benchTools({ survey: () => machineNames(40), report: (counts) => reports.push(counts) });
    const bench = await openBench({ queue, tools });
    const run = await bench.accept('machine_check');
    await Promise.all([1, 2].map(() => bench.work({ backend: twice(bench.backend), concurrency: 4 })));
    const ended = await bench.ended(run);
    expect(ended).toMatchObject({ status: 'completed', subjectsTotal: 40 });
    expect((await bench.rows(run)).map((row) => row.key)).toEqual(machineNames(40));
    expect((await bench.answer(run)).body.result.subjects).toMatchObject({ total: 40, ok: 40 });
    expect(await bench.count('answers')).toBe(1);
    expect(await bench.count('run_events', `kind like 'run_%'`)).toBe(2);
    expect(await bench.count('artifacts', `state = 'committed' and chunk_id is not null`)).toBe(8);
  });

  test('a queue that was emptied in the middle of a run is filled again, and the run ends right', async () => {
    const begun = signal();
    const goOn = signal();
    let lost = false;
    const tools = benchTools({
      survey: () => machineNames(30),
      async probe() {
        if (!lost) begun.give();
        await goOn.given;
        return 10;
      },
    });
    const bench = await openBench({ queue, tools });
    const run = await bench.accept('machine_check');
    await bench.work({ concurrency: 1 });
    await begun.given;
    const { chunks } = bench.queues;
    await waitFor(
      async () => (await chunks.getJobCounts('waiting', 'prioritized')).prioritized,
      (waiting) => waiting === 5,
    );
    // Everything is gone, also the job that is being worked on and the queue's own keys.
    for (const queue of Object.values(bench.queues)) await queue.obliterate({ force: true });
    expect(await chunks.getJobCounts()).toMatchObject({ active: 0, prioritized: 0 });
    lost = true;
    goOn.give();
    await waitFor(
      () => bench.count('chunks', `state = 'settled'`),
      (settled) => settled === 1,
    );
    await age(bench);
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.rows(run)).map((row) => row.verdict)).toEqual(Array(30).fill('fine'));
    expect(await bench.count('chunks', 'dispatch_no >= 2')).toBe(5);
  });

  test('a run whose last settler died before it could move it on is moved on', async () => {
    const bench = await openBench({ queue, tools: benchTools() });
    const run = await bench.accept('machine_check');
    await bench.db.query(`
      create function hold_assess() returns trigger language plpgsql as $$ begin
        if new.phase = 'collect' and old.phase = 'assess' and current_setting('muster.held', true) is null
          and exists (select from held) then raise exception using errcode = '57P01'; end if;
        return new; end $$;
      create table held (); `);
    await bench.db.query(
      'create trigger hold before update on muster.runs for each row execute function hold_assess()',
    );
    await bench.db.query('insert into held default values');
    await bench.work();
    await waitFor(
      () => bench.count('chunks', `state = 'settled'`),
      (settled) => settled === 3,
    );
    expect(await bench.read(run)).toMatchObject({ phase: 'assess' });
    await bench.db.query('delete from held');
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  });
});

test('a chunk whose workers died of something else is assessed one subject at a time, and nobody is blamed', async () => {
  const held = signal();
  const probe = async (machine: string) => {
    if (machine === machineNames(1)[0]) await held.given;
    return 10;
  };
  const bench = await openBench({ tools: benchTools({ probe }) });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await waitFor(
    () => bench.chunks(run),
    (chunks) => chunks.some(({ fence }) => fence > 0),
    { what: 'the first chunk to be begun' },
  );
  await bench.db.query('update muster.chunks set starts = 8 where run_id = $1 and fence = 0', [run.id]);
  held.give();
  await bench.ended(run);
  expect((await bench.rows(run)).map(({ verdict }) => verdict)).toEqual(Array(12).fill('fine'));
  // Five subjects at once, and the other seven each by itself.
  expect((await bench.chunks(run)).map(({ size }) => size)).toEqual([5, 1, 1, 1, 1, 1, 1, 1]);
});
