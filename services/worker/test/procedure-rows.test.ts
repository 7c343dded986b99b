/** The rows of a bounded run carry what they were decided by, where that can be told. */
import { expect, test } from 'vitest';
import { benchTools, machineNames } from './bench-runbooks.ts';
import { openBench } from './worker-bench.ts';

async function evidenceOf(machines: number): Promise<unknown[]> {
  const bench = await openBench({ tools: benchTools({ survey: () => machineNames(machines) }) });
  const run = await bench.accept('machine_report');
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  return (await bench.rows(run)).map((row) => row.evidence);
}

test('a row that was decided by name keeps the rule, its key, threshold and value', async () => {
  expect(await evidenceOf(1)).toMatchObject([
    {
      branch: 'overloaded',
      rules: [
        { matched: false },
        {
          matched: true,
          label: 'its load is over 90',
          conditions: [{ key: 'load', op: 'gt', threshold: 90, actual: '99', matched: true }],
        },
      ],
    },
  ]);
});

test('rows that share one decision keep none: nobody could tell whose it was', async () => {
  expect(await evidenceOf(3)).toEqual([null, null, null]);
});
