/** How a run ends when a step of it does not go well: it always has one answer, and the answer says what it is. */
import { absent } from '@muster/envelope';
import { heartbeatWorker } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { benchTools, type Hooks, machineCheck, machineNames, machineReport } from './bench-runbooks.ts';
import { type Bench, catalogOf, openBench } from './worker-bench.ts';

const NOTHING = absent({ what: 'machines in rack 7', checked: ['the inventory'], tryInstead: 'rack 8' });

async function endOf(runbook: string, hooks: Hooks) {
  const bench = await openBench({ tools: benchTools(hooks) });
  const run = await bench.accept(runbook);
  await bench.work();
  return { bench, run: await bench.ended(run), answer: await bench.answer(run) };
}

describe.each(['machine_check', 'machine_report'])('%s', (runbook) => {
  test('an absence is the answer, word for word', async () => {
    const { run, answer, bench } = await endOf(runbook, { survey: () => NOTHING });
    expect(run).toMatchObject({ status: 'completed', answerKind: 'absence', statusSummary: 'nothing found' });
    expect(answer.body).toEqual(NOTHING);
    expect(await bench.count('subjects')).toBe(0);
  });

  test('a chart that fails makes the run fail, by name and code, without the words of the error', async () => {
    const { run, answer } = await endOf(runbook, {
      survey: () => {
        throw Object.assign(new RangeError('token=geheim'), { code: 'ERR_INVENTORY' });
      },
    });
    expect(run).toMatchObject({ status: 'failed', answerKind: 'failure' });
    expect(answer.body).toMatchObject({
      code: 'chart_failed',
      phase: runbook === 'machine_check' ? 'plan' : 'procedure',
    });
    expect(answer.body.message).toMatch(/RangeError.*ERR_INVENTORY/);
    expect(JSON.stringify([run, answer])).not.toMatch(/geheim/);
  });
});

test('an absence for one subject is that subject’s alone', async () => {
  const { run, bench } = await endOf('machine_check', {
    probe: (machine) => (machine === 'machine-003' ? NOTHING : 10),
  });
  expect(run.status).toBe('completed');
  const rows = await bench.rows(run);
  expect(rows.filter((row) => row.outcome !== 'verdict')).toMatchObject([
    { key: 'machine-003', outcome: 'not_checked', reasonCode: 'nothing_found' },
  ]);
});

test('more subjects than may be: the plan fails and says the limit, and no chunk is left', async () => {
  const { run, answer, bench } = await endOf('machine_check', { survey: () => machineNames(61) });
  expect(run).toMatchObject({ status: 'failed', subjectsTotal: null });
  expect(answer.body).toMatchObject({ code: 'too_many_subjects', phase: 'plan' });
  expect(answer.body.message).toMatch(/60/);
  expect(await bench.count('chunks')).toBe(0);
});

test('exactly as many subjects as may be are all judged', async () => {
  const { run, bench } = await endOf('machine_check', { survey: () => machineNames(60) });
  expect(run).toMatchObject({ status: 'completed', subjectsTotal: 60 });
  expect(await bench.count('subjects', `outcome = 'verdict'`)).toBe(60);
});

test('no subjects at all: an envelope without rows, straight from the plan', async () => {
  const { run, answer, bench } = await endOf('machine_check', { survey: () => [] });
  expect(run).toMatchObject({ status: 'completed', answerKind: 'envelope', subjectsTotal: 0 });
  expect(answer.body.result.subjects).toEqual({
    total: 0,
    ok: 0,
    problem: 0,
    declined: 0,
    not_checked: 0,
    cannot_cover: 0,
  });
  expect(await bench.count('chunks')).toBe(0);
});

test('a collect chart that fails fails the run, and the rows stay readable', async () => {
  const { run, answer, bench } = await endOf('machine_check', {
    report: () => {
      throw new TypeError('geheim');
    },
  });
  expect(run).toMatchObject({ status: 'failed', answerKind: 'failure', subjectsTotal: 12 });
  expect(answer.body).toMatchObject({ code: 'chart_failed', phase: 'collect' });
  expect(answer.body.message).not.toMatch(/geheim/);
  expect(await bench.rows(run)).toHaveLength(12);
});

test('rows that do not add up to the plan fail the run as a mismatch', async () => {
  const bench = await openBench({ tools: benchTools() });
  await bench.db.query(`
    create function lose_one() returns trigger language plpgsql as $$ begin
      if new.key = 'machine-004' then return null; end if; return new; end $$`);
  await bench.db.query('create trigger lose before insert on muster.subjects for each row execute function lose_one()');
  const run = await bench.accept('machine_check');
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'failed', subjectsTotal: 12 });
  expect((await bench.answer(run)).body).toMatchObject({ code: 'ledger_mismatch', phase: 'collect' });
  expect(await bench.rows(run)).toHaveLength(11);
});

describe('a worker that has not got the definition of a run', () => {
  const without = catalogOf([machineReport], benchTools());
  const snoozed = (bench: Bench) => bench.logs.some((line) => line.msg === 'plan snoozed');

  test('leaves it to one that has, and takes no fence', async () => {
    const bench = await openBench({ tools: benchTools() });
    await heartbeatWorker(bench.db, { id: 'another', digests: ['digest-of-machine_check'] });
    const run = await bench.accept('machine_check');
    const other = await bench.work({ catalog: without });
    await waitFor(() => snoozed(bench));
    expect(await bench.read(run)).toMatchObject({ status: 'pending', fence: 0, starts: 0 });
    await other.stop(1000);
    await bench.work({ catalog: catalogOf([machineCheck], benchTools()) });
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.rows(run)).map((row) => row.verdict)).toEqual(Array(12).fill('fine'));
  });

  test('is not even asked while nobody has it, and the runs it can work on go past', async () => {
    const bench = await openBench({ tools: benchTools() });
    const run = await bench.accept('machine_check', {}, { priority: 0 });
    const other = await bench.work({ catalog: without });
    const own = await bench.accept('machine_report', {}, { priority: 2 });
    expect(await bench.ended(own)).toMatchObject({ status: 'completed' });
    expect(await bench.read(run)).toMatchObject({ status: 'pending', dispatchNo: 0 });
    expect(snoozed(bench)).toBe(false);
    await other.stop(1000);
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  });
});
