/** A store that is away: what cannot be done without it is tried again and counts as no start; what can, is done. */
import { type ArtifactStore, ArtifactStoreUnavailableError } from '@muster/artifacts';
import { openDatabase } from '@muster/results';
import { demoPods, shippedRunbooks } from '@muster/runbooks';
import { severableLink, waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import { benchTools, machineNames } from './bench-runbooks.ts';
import { type Bench, openBench, signal } from './worker-bench.ts';

type Operation = 'put' | 'head' | 'getStream' | 'body';

/** A real store of which some operations fail as an endpoint that is down makes them fail. */
function unreliable(store: ArtifactStore) {
  const away = new Set<Operation>();
  const gone = (operation: Operation) =>
    new ArtifactStoreUnavailableError(operation, 'the test store', { code: 'ECONNREFUSED' });
  const guarded: ArtifactStore = Object.create(store, {
    put: {
      value: async (...args: Parameters<ArtifactStore['put']>) => {
        if (away.has('put')) throw gone('put');
        return await store.put(...args);
      },
    },
    head: {
      value: async (...args: Parameters<ArtifactStore['head']>) => {
        if (away.has('head')) throw gone('head');
        return await store.head(...args);
      },
    },
    getStream: {
      value: async (...args: Parameters<ArtifactStore['getStream']>) => {
        if (away.has('getStream')) throw gone('getStream');
        const record = await store.getStream(...args);
        if (record === null || !away.has('body')) return record;
        return { ...record, body: record.body.pipeThrough(breaking(gone('body'))) };
      },
    },
  });
  return { guarded, away };
}

/** Lets a little through and breaks. */
function breaking(error: Error): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, 100));
      controller.error(error);
    },
  });
}

async function podRun(bench: Bench) {
  const files = await Promise.all(
    demoPods(new Date('2026-05-05T05:05:05Z')).map(async ({ name, text, target }) => ({
      ref: await bench.upload(name, text),
      name,
      target,
    })),
  );
  return await bench.accept('kubernetes_workloads', { files }, { uploads: files.map((file) => file.ref) });
}

const logged = (bench: Bench, msg: string) =>
  waitFor(
    () => bench.logs.filter((line) => line.msg === msg),
    (lines) => lines.length > 0,
    { what: msg },
  );

test.each<Operation>(['head', 'getStream', 'body'])(
  'away while inputs are read (%s): the plan is tried again and counts as no start, and then every pod has its row',
  async (operation) => {
    const bench = await openBench({ runbooks: shippedRunbooks });
    const { guarded, away } = unreliable(bench.store);
    away.add(operation);
    const run = await podRun(bench);
    await bench.work({ store: guarded });
    await logged(bench, 'plan retry');
    await waitFor(
      () => bench.read(run),
      ({ starts }) => starts === 0,
    );
    away.clear();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: 60 });
    const rows = await bench.rows(run);
    expect(rows.filter((row) => row.reason?.includes('could not be opened'))).toEqual([]);
    expect(await bench.count('subjects')).toBe(60);
    expect(await bench.count('chunks', `state = 'open'`)).toBe(0);
  },
);

test('no walk can be stored: every verdict and the answer come, and the answer says why there is no ticket', async () => {
  const bench = await openBench({ tools: benchTools() });
  const { guarded, away } = unreliable(bench.store);
  away.add('put');
  const run = await bench.accept('machine_check');
  await bench.work({ store: guarded });
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  const rows = await bench.rows(run);
  expect(rows.map(({ verdict, walkRef }) => [verdict, walkRef])).toEqual(Array(12).fill(['fine', null]));
  const { walk } = (await bench.answer(run)).body.result;
  expect(walk.ref).toBeUndefined();
  expect(walk.manifest_ref).toBeUndefined();
  expect(walk.note).toMatch(/^There is no ticket: .*artifact_store_unavailable/);
  expect(await bench.count('artifacts', `state <> 'staged'`)).toBe(0);
});

test('no walk of a procedure can be stored: its rows and its answer come', async () => {
  const bench = await openBench({ tools: benchTools() });
  const { guarded, away } = unreliable(bench.store);
  away.add('put');
  const run = await bench.accept('machine_report');
  await bench.work({ store: guarded });
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  expect(await bench.rows(run)).toHaveLength(12);
  expect((await bench.answer(run)).body.result.walk.note).toMatch(/^There is no ticket/);
});

test('walks that were stored cannot be read when the answer is made: the answer comes without them', async () => {
  const bench = await openBench({ tools: benchTools({ probe: loseTheStore }) });
  const { guarded, away } = unreliable(bench.store);
  // A walk is put after its subjects, so the last one's chunk is where reading ends.
  function loseTheStore() {
    away.add('getStream');
    return 10;
  }
  const run = await bench.accept('machine_check');
  await bench.work({ store: guarded });
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  const { walk, subjects } = (await bench.answer(run)).body.result;
  expect(subjects).toMatchObject({ total: 12, ok: 12 });
  expect(walk.complete).toBe(false);
  expect(walk.shown).toBeLessThan(walk.total);
  expect((await bench.rows(run)).every((row) => row.walkRef !== null)).toBe(true);
});

test('a database that fails once while the plan is written: it is planned again from the start, and nothing counts twice', async () => {
  const bench = await openBench({ tools: benchTools({ survey: () => machineNames(23) }) });
  // A sequence counts on when its transaction is undone, so the second write fails, and only that one.
  await bench.db.query(`create sequence writes`);
  await bench.db.query(`
    create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('writes') = 2 then raise exception using errcode = '57P01'; end if; return null; end $$`);
  await bench.db.query(
    'create trigger fail after insert on muster.chunks for each statement execute function fail_once()',
  );
  const run = await bench.accept('machine_check');
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: 23 });
  expect((await bench.rows(run)).map((row) => row.key)).toEqual(machineNames(23));
  expect(bench.logs.some((line) => line.msg === 'plan retry')).toBe(true);
});

test('the database goes away in the middle of a chunk and comes back: the run ends right', async () => {
  const begun = signal();
  const goOn = signal();
  const hooks = {
    survey: () => machineNames(10),
    async probe(machine: string) {
      if (machine === 'machine-002') {
        begun.give();
        await goOn.given;
      }
      return 10;
    },
  };
  const bench = await openBench({ tools: benchTools(hooks) });
  const run = await bench.accept('machine_check');
  const link = await severableLink(bench.databaseUrl);
  const db = openDatabase({ url: link.url, maxConnections: 10 });
  const worker = await bench.work({ db });
  await begun.given;
  await link.cut();
  goOn.give();
  await logged(bench, 'assess retry');
  await link.mend();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: 10 });
  expect((await bench.rows(run)).map((row) => row.verdict)).toEqual(Array(10).fill('fine'));
  await worker.stop(1000);
  await db.close();
});
