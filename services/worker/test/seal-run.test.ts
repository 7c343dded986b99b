/** Runs that are stopped by their own limits: what was finished stays, the rest names the limit, the answer comes. */
import { waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import { benchTools, machineNames } from './bench-runbooks.ts';
import { openBench, signal, untilAborted } from './worker-bench.ts';

test('a deadline seals a sweep in the middle: verdicts stay, the rest is not checked for the deadline', async () => {
  const held = signal();
  const bench = await openBench({
    tools: benchTools({
      survey: () => machineNames(20),
      probe: (machine, aborted) => {
        if (machine !== 'machine-007') return 95;
        held.give();
        return untilAborted(aborted);
      },
    }),
  });
  const run = await bench.accept('machine_check', {}, { deadlineAt: new Date(Date.now() + 3_600_000) });
  await bench.work({ concurrency: 1 });
  await held.given;
  // The deadline passes while a subject is under way: the row is dated back instead of waited for.
  await bench.db.query(`update muster.runs set deadline_at = now() - interval '1 second' where id = $1`, [run.id]);
  const over = await bench.ended(run);
  expect(over).toMatchObject({ status: 'completed', stopReason: 'deadline', answerKind: 'envelope' });
  const rows = await bench.rows(run);
  expect(rows.slice(0, 7).map((row) => row.verdict)).toEqual(Array(7).fill('overloaded'));
  for (const row of rows.slice(7)) expect(row).toMatchObject({ outcome: 'not_checked', reasonCode: 'deadline' });
  const { body } = await bench.answer(run);
  expect(body.result.subjects).toMatchObject({ total: 20, problem: 7, not_checked: 13 });
  expect(JSON.stringify(body.af_coverage.not_checked)).toContain('the deadline of the run came');
});

test('a sweep that fails everywhere is stopped by its error budget before it has asked every target', async () => {
  const probed: string[] = [];
  const bench = await openBench({
    tools: benchTools({
      survey: () => machineNames(60),
      probe: (machine) => {
        probed.push(machine);
        throw new Error('no route to host');
      },
    }),
  });
  const run = await bench.accept('machine_check', {}, { errorBudget: { count: 7 } });
  await bench.work({ concurrency: 1 });
  const over = await bench.ended(run);
  expect(over).toMatchObject({ status: 'completed', stopReason: 'error_budget' });
  expect(probed.length).toBeLessThan(60);
  const rows = await bench.rows(run);
  expect(rows).toHaveLength(60);
  expect(new Set(rows.map((row) => row.reasonCode))).toEqual(new Set(['subject_failed', 'error_budget']));
  const { body } = await bench.answer(run);
  expect(body.result.subjects).toMatchObject({ total: 60, not_checked: 60 });
});

test('failures within the budget stop nothing', async () => {
  const bench = await openBench({
    tools: benchTools({
      survey: () => machineNames(20),
      probe: (machine) => {
        if (machine === 'machine-003') throw new Error('no route to host');
        return 1;
      },
    }),
  });
  const run = await bench.accept('machine_check', {}, { errorBudget: { count: 1 } });
  await bench.work();
  const over = await bench.ended(run);
  expect(over.stopReason).toBeNull();
  expect(
    await waitFor(
      () => bench.rows(run),
      (rows) => rows.length === 20,
      { what: 'the rows' },
    ),
  ).toHaveLength(20);
});
