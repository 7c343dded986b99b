/** Ctrl-C in the middle of the demo sweep: soon over, nothing left, nothing broken. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnService, waitFor } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { muster } from './muster-process.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-interrupted-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Processes that were started for this data folder; each of them has it in its environment or its arguments. */
function processesOfFolder(): string[] {
  const listed = execFileSync('ps', ['axeww', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return listed.split('\n').filter((line) => line.includes(`MUSTER_DATA_DIR=${folder}`));
}

// Waiting for an API that is gone would last a minute: more than this test has.
test('it ends with 130, and the next demo in that folder comes out right', async () => {
  const foreign = Object.keys(process.env).filter((name) => /^(MUSTER|DATABASE|REDIS|S3)_/.test(name));
  const none = Object.fromEntries(foreign.map((name) => [name, undefined]));
  const demo = spawnService(MAIN, { args: ['demo'], env: { ...none, MUSTER_DATA_DIR: folder } });
  await waitFor(
    () => readFile(join(folder, 'logs', 'api.log'), 'utf8').catch(() => ''),
    (log) => /"method":"POST","route":"\/v1\/runs"/.test(log),
    { what: 'the start of the sweep' },
  );
  expect(await demo.kill('SIGINT')).toEqual({ code: 130, signal: null });
  await waitFor(processesOfFolder, (left) => left.length === 0, { what: 'the end of all that was started' });
  const { code, out } = await muster(['demo', '--json'], { env: { MUSTER_DATA_DIR: folder } });
  expect(code).toBe(0);
  expect(JSON.parse(out).run.run_status).toBe('completed');
  expect(processesOfFolder()).toEqual([]);
}, 50_000);
