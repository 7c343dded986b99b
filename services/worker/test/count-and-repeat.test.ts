/** Dry runs, reruns and quotas: what a plan counts, what it keeps, and where it ends. */
import { invariants, type RunRecord, setTenantQuota } from '@muster/results';
import { describe, expect, test } from 'vitest';
import type { Hooks } from './bench-runbooks.ts';
import { laterRackCheck, looseCheck, type RackMachine, rackCheck, racked, rackTools } from './rack-runbook.ts';
import { type Bench, catalogOf, openBench, TENANT } from './worker-bench.ts';

async function openRacks(hooks: Hooks = {}): Promise<Bench> {
  return await openBench({ tools: rackTools(hooks), runbooks: [rackCheck, looseCheck] });
}

const NO_QUOTA = { tenant: TENANT, maxOpenRuns: null, maxSubjectsPerRun: null, maxInFlightChunks: null };

describe('a dry run', () => {
  test('counts subjects and targets, asks no subject, and says so', async () => {
    const probed: string[] = [];
    const machines: RackMachine[][] = [
      ...racked(40, 8),
      [{ name: 'stray' }, { name: 'machine-040', rack: 'rack 3' }, { name: 'stray' }],
    ];
    const bench = await openRacks({ survey: () => machines, probe: (machine) => probed.push(machine) });
    const run = await bench.accept('rack_check', {}, { dryRun: true });
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({
      status: 'completed',
      answerKind: 'envelope',
      subjectsTotal: 42,
      statusSummary: 'dry run: 42 subjects counted, none assessed',
    });
    expect(probed).toEqual([]);
    expect(await bench.rows(run)).toEqual([]);
    const { body } = await bench.answer(run);
    const none = { ok: 0, problem: 0, declined: 0, cannot_cover: 0 };
    expect(body.result.subjects).toEqual({ total: 42, ...none, not_checked: 42 });
    expect(body.result.dry_run).toMatchObject({ subjects: 42, targets: { distinct: 8, without: 1 } });
    expect(body.result.dry_run.targets.top[0]).toEqual({ target: 'rack 3', subjects: 6 });
    expect(body.result).toMatchObject({ verdicts: [], rows_total: 0 });
    const { checked, not_checked, sentence } = body.af_coverage;
    expect(JSON.stringify(checked)).toMatch(/no rule was applied/);
    expect(not_checked).toMatchObject([
      { what: '42 subject(s)', why: expect.stringMatching(/dry run.*none was assessed/) },
      { what: expect.stringMatching(/^1 further subject\(s\) with a key that was taken: stray/) },
    ]);
    expect(sentence).toMatch(/^Dry run of 'rack_check': .*42 subject\(s\) counted, none assessed/);
    expect(await invariants(bench.db)).toEqual([]);
  });

  test('names the largest targets only, and counts the others', async () => {
    const survey = () => [Array.from({ length: 60 }, (_, number) => ({ name: `m${number}`, rack: `rack ${number}` }))];
    const bench = await openRacks({ survey });
    const run = await bench.accept('rack_check', {}, { dryRun: true });
    await bench.work();
    await bench.ended(run);
    const { targets } = (await bench.answer(run)).body.result.dry_run;
    expect(targets.distinct).toBe(60);
    expect(targets.top).toHaveLength(20);
  });

  test('of a runbook without targets counts subjects alone', async () => {
    const bench = await openRacks();
    const run = await bench.accept('loose_check', {}, { dryRun: true });
    await bench.work();
    await bench.ended(run);
    expect((await bench.answer(run)).body.result.dry_run).toEqual({ subjects: 40 });
  });
});

describe('a quota on subjects', () => {
  test('ends the plan with the page that passes it, by name and limit', async () => {
    let pages = 0;
    const bench = await openRacks({ report: () => ++pages });
    await setTenantQuota(bench.db, { ...NO_QUOTA, maxSubjectsPerRun: 20 });
    const run = await bench.accept('rack_check');
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'failed', subjectsTotal: null });
    const { body } = await bench.answer(run);
    expect(body).toMatchObject({ code: 'quota_exceeded', phase: 'plan' });
    expect(body.message).toBe("the plan found more than 20 subjects, the tenant's quota max_subjects_per_run");
    // Pages of seven: the third would be the twenty-first subject.
    expect(pages).toBe(2);
    expect(await bench.count('chunks')).toBe(0);
  });

  test('that is lowered while the plan goes on ends it when it is frozen', async () => {
    const bench = await openRacks({
      report: () => setTenantQuota(bench.db, { ...NO_QUOTA, maxSubjectsPerRun: 39 }),
    });
    const run = await bench.accept('rack_check');
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'failed', subjectsTotal: null });
    expect((await bench.answer(run)).body).toMatchObject({ code: 'quota_exceeded', phase: 'plan' });
    expect(await bench.count('chunks')).toBe(0);
  });

  test('that is just reached is no obstacle', async () => {
    const bench = await openRacks();
    await setTenantQuota(bench.db, { ...NO_QUOTA, maxSubjectsPerRun: 40 });
    const run = await bench.accept('rack_check');
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: 40 });
  });
});

describe('a rerun', () => {
  /** Machines that end in 3 are overloaded, those that end in 5 fail; the second time all of them are fine. */
  async function twice(selection: object, second: readonly RackMachine[][] = racked(40, 8)) {
    let again = false;
    const probed: string[] = [];
    const tools = rackTools({
      survey: () => (again ? second : racked(40, 8)),
      probe: (machine) => {
        if (again) return probed.push(machine) && 10;
        if (machine.endsWith('5')) throw new Error('no route to host');
        return machine.endsWith('3') ? 95 : 10;
      },
    });
    const bench = await openBench({ tools, runbooks: [rackCheck] });
    const source = await bench.accept('rack_check');
    await bench.work();
    await bench.ended(source);
    again = true;
    const run = await bench.accept('rack_check', {}, { rerun: { of: source.id, selection } });
    await bench.ended(run);
    return { bench, source, run, probed, body: (await bench.answer(run)).body };
  }
  const keysOf = async (bench: Bench, run: RunRecord) => (await bench.rows(run)).map(({ key }) => key);

  test('does the subjects again that ended so, and names its source', async () => {
    const { bench, source, run, probed, body } = await twice({ only: ['problem', 'not_checked'] });
    const chosen = [3, 5, 13, 15, 23, 25, 33, 35].map((number) => `machine-${String(number).padStart(3, '0')}`);
    expect(await keysOf(bench, run)).toEqual(chosen);
    expect(probed.toSorted()).toEqual(chosen);
    expect((await bench.rows(run)).map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(body.result.subjects).toMatchObject({ total: 8, ok: 8 });
    expect(body.result.rerun).toEqual({
      of: source.id,
      only: ['problem', 'not_checked'],
      definition_changed: false,
    });
    expect(body.af_coverage.sentence).toContain(`a part of run ${source.id} again`);
    expect(body.af_coverage.not_checked).toBeUndefined();
    expect(await invariants(bench.db)).toEqual([]);
  });

  test('says of chosen subjects that the plan does not find any more that they were not checked', async () => {
    const without = racked(40, 8).map((page) => page.filter(({ name }) => !/[12]3$/.test(name)));
    const { bench, run, body } = await twice({ only: ['problem'] }, without);
    expect(await keysOf(bench, run)).toEqual(['machine-003', 'machine-033']);
    expect(body.af_coverage.not_checked).toEqual([
      { what: '2 chosen subject(s): machine-013, machine-023', why: expect.stringMatching(/^no longer planned/) },
    ]);
    expect(body.result.subjects).toMatchObject({ total: 2, ok: 2 });
  });

  test('of which nothing is planned any more has no rows and names them all', async () => {
    const { bench, run, body } = await twice({ subjects: ['machine-001'] }, []);
    expect(await keysOf(bench, run)).toEqual([]);
    expect(body.result).toMatchObject({ rerun: { subjects: 1 }, subjects: { total: 0 } });
    expect(body.af_coverage.not_checked).toMatchObject([{ what: '1 chosen subject(s): machine-001' }]);
  });

  test('takes subjects by name', async () => {
    const { bench, run, body } = await twice({ subjects: ['machine-007', 'machine-003'] });
    expect(await keysOf(bench, run)).toEqual(['machine-003', 'machine-007']);
    expect(body.result.rerun).toMatchObject({ subjects: 2 });
  });

  test('under another definition says that it changed', async () => {
    const bench = await openRacks({ probe: () => 95 });
    const source = await bench.accept('rack_check');
    const first = await bench.work();
    await bench.ended(source);
    await first.stop(1000);
    const later = catalogOf([laterRackCheck], rackTools());
    const definition = { digest: 'digest-of-later', name: 'rack_check', version: '2.0.0', declaration: {} };
    const run = await bench.accept(
      'rack_check',
      {},
      {
        definition,
        rerun: { of: source.id, selection: { only: ['problem'] } },
      },
    );
    const known = { ...later.byName.get('rack_check')!, digest: definition.digest };
    await bench.work({
      catalog: { ...later, byName: new Map([['rack_check', known]]), byDigest: new Map([[known.digest, known]]) },
    });
    await bench.ended(run);
    const { body } = await bench.answer(run);
    expect(body.result.subjects).toMatchObject({ total: 40, ok: 40 });
    expect(body.result.rerun.definition_changed).toBe(true);
  });

  test('may be a dry run, which counts what it would do', async () => {
    const bench = await openRacks({ probe: (machine) => (machine.endsWith('3') ? 95 : 10) });
    const source = await bench.accept('rack_check');
    await bench.work();
    await bench.ended(source);
    const rerun = { of: source.id, selection: { only: ['problem'] } };
    const run = await bench.accept('rack_check', {}, { dryRun: true, rerun });
    expect(await bench.ended(run)).toMatchObject({ subjectsTotal: 4 });
    const { body } = await bench.answer(run);
    expect(body.result).toMatchObject({ dry_run: { subjects: 4 }, rerun: { of: source.id } });
  });
});
