/** Calls that wait for a limit: they end with what they belong to, and wait on the main thread as on any other. */
import type { Tool, ToolLimits } from '@muster/envelope';
import { requestCancel } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import { benchTools, type Hooks, machineNames } from './bench-runbooks.ts';
import { openBench, signal, TENANT } from './worker-bench.ts';

function limited(name: string, limits: ToolLimits, hooks: Hooks): Tool[] {
  return benchTools(hooks).map((tool) => (tool.name === name ? { ...tool, limits } : tool));
}

test('a cancel ends the wait: what was not asked is not checked, and what was stays', async () => {
  const asked = signal();
  const probe = () => {
    asked.give();
    return 10;
  };
  // The first call goes, and the next one would a quarter of an hour later.
  const bench = await openBench({ tools: limited('probe', { perSecond: 0.001 }, { probe }) });
  await bench.work();
  const run = await bench.accept('machine_check');
  await asked.given;
  await requestCancel(bench.db, { tenant: TENANT, runId: run.id });
  expect(await bench.ended(run)).toMatchObject({ status: 'cancelled' });
  const rows = await bench.rows(run);
  expect(rows.map((row) => row.verdict ?? row.reasonCode).sort()).toEqual([
    ...Array.from({ length: 11 }, () => 'cancelled'),
    'fine',
  ]);
});

test('a worker that stops gives its waiting subjects and its permits back, and another goes on', async () => {
  const answer = signal();
  const asked = signal();
  let calls = 0;
  const probe = async () => {
    calls++;
    asked.give();
    await answer.given;
    return 10;
  };
  const bench = await openBench({ tools: limited('probe', { concurrency: 1 }, { probe }) });
  const first = await bench.work();
  const run = await bench.accept('machine_check');
  await asked.given;
  await waitFor(
    () => bench.count('tool_permits'),
    (count) => count > 0,
    { what: 'a lease' },
  );
  await first.stop(1000);
  expect(await bench.count('tool_permits')).toBe(0);
  answer.give();
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  const rows = await bench.rows(run);
  expect(rows.map((row) => row.verdict)).toEqual(Array(12).fill('fine'));
  expect(calls).toBeGreaterThanOrEqual(12);
});

test('plans and bounded runs of several workers hold the same limits', async () => {
  let [underWay, most] = [0, 0];
  const survey = async () => {
    most = Math.max(most, ++underWay);
    await new Promise(setImmediate);
    underWay--;
    return machineNames(3);
  };
  const bench = await openBench({ tools: limited('survey', { concurrency: 1 }, { survey }) });
  await Promise.all([bench.work(), bench.work()]);
  const names = ['machine_check', 'machine_report', 'machine_check', 'machine_report', 'machine_check'];
  const runs = await Promise.all(names.map((name) => bench.accept(name)));
  for (const run of runs) expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  expect(most).toBe(1);
});
