/** `muster try` with runbooks of the user's own: what is found, what is not judged, and what fails. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { linesOf, muster } from './muster-process.ts';

const env = { MUSTER_RUNBOOKS: fileURLToPath(new URL('own-runbooks.ts', import.meta.url)) };

test('a runbook of a module is tried by its name', async () => {
  const { code, out, err } = await muster(['try', 'doors', '--rows'], { env });
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(linesOf(out).map((line) => JSON.parse(line))).toMatchObject([
    { subject: 'front', verdict: 'shut', standing: 'ok', reason: 'it is shut' },
    { subject: 'back', verdict: 'open', standing: 'problem', reason: 'somebody left it open' },
  ]);
});

test('rows of subjects without a verdict are not made up, and standard error says how many there are', async () => {
  const { code, out, err } = await muster(['try', 'doors', '--rows', '--input', 'stuck=true'], { env });
  expect(code).toBe(0);
  expect(linesOf(out)).toHaveLength(2);
  expect(err).toMatch(/^muster: 1 subject\(s\) have no verdict and no row: 1 not checked/);
});

test('a run that failed exits 1 with one line, and --json still prints the run', async () => {
  const { code, out, err } = await muster(['try', 'doors', '--json', '--input', 'broken=true'], { env });
  expect(code).toBe(1);
  expect(linesOf(err)).toHaveLength(1);
  expect(err).toMatch(/^muster: the run failed: /);
  expect(err).not.toContain('the house is gone');
  expect(JSON.parse(out)).toMatchObject({
    run: { run_status: 'failed' },
    envelope: null,
    failure: { code: expect.any(String) },
  });
});

test('a trial asks nobody: it says what a run would have asked, and goes on', async () => {
  const { code, out, err } = await muster(['try', 'doors', '--rows', '--input', 'ask=true'], { env });
  expect(err).toBe('muster: a run would wait for an approval here, a trial does not: Look at 2 doors?\n');
  expect(code).toBe(0);
  expect(linesOf(out)).toHaveLength(2);
});

test('a procedure that asks in its middle cannot be tried to its end, and one line says so', async () => {
  const { code, out, err } = await muster(['try', 'bell'], { env });
  expect(err).toBe("muster: the runbook asks 'Ring?', and a trial waits for nobody: run it with `muster run`\n");
  expect(code).toBe(1);
  expect(out).toBe('');
});

test('files are refused where a runbook takes none', async () => {
  const { code, err } = await muster(['try', 'doors', fileURLToPath(import.meta.url)], { env });
  expect(err).toBe('muster: doors takes no files; give its input with --input FIELD=VALUE\n');
  expect(code).toBe(2);
});

test('files are asked for where a runbook needs them', async () => {
  const { code, err } = await muster(['try', 'kubernetes_workloads'], { env });
  expect(err).toBe(
    'muster: kubernetes_workloads needs files: name at least one after the runbook; - is standard input\n',
  );
  expect(code).toBe(2);
});

test('a module that cannot be loaded is one line that names the setting', async () => {
  const { code, err } = await muster(['try', 'doors'], { env: { MUSTER_RUNBOOKS: './not-there.ts' } });
  expect(linesOf(err)).toHaveLength(1);
  expect(err).toMatch(/^muster: MUSTER_RUNBOOKS: /);
  expect(code).toBe(2);
});
