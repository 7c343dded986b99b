/** The images and compose.yaml, from the outside: what a person who deploys Muster counts on. */
import { createHash } from 'node:crypto';
import { demoPods } from '@muster/runbooks';
import { waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import { ask, askJson, containersOf, docker, postJson } from './stack-client.ts';

interface Run {
  run_id: string;
  run_status: string;
  subjects?: Record<string, number>;
}

interface Row {
  subject: string;
  verdict?: string;
  standing?: string;
  walk?: { ref: string; offset: number; length: number; sha256: string };
}

const NOW = new Date('2026-01-15T12:00:00Z');

async function upload(name: string, text: string): Promise<string> {
  const path = `/v1/uploads?name=${encodeURIComponent(name)}`;
  const headers = { 'content-type': 'application/json' };
  const { ref } = await askJson<{ ref: string }>(path, { method: 'POST', headers, body: text });
  return ref;
}

async function startDemoSweep(): Promise<string> {
  const files = await Promise.all(
    demoPods(NOW).map(async ({ name, text, target }) => ({ ref: await upload(name, text), name, target })),
  );
  const request = { runbook: 'kubernetes_workloads', now: NOW.toISOString(), input: { files } };
  return (await postJson<Run>('/v1/runs', request)).run_id;
}

function endOf(runId: string): Promise<Run> {
  return waitFor(
    () => askJson<Run>(`/v1/runs/${runId}`),
    ({ run_status }) => ['completed', 'failed', 'cancelled'].includes(run_status),
    { what: 'the end of the run', timeoutMs: 90_000 },
  );
}

test('the API says that it is ready with its database and its artifact store', async () => {
  expect(await askJson('/readyz')).toMatchObject({ status: 'ready' });
});

test('an upload becomes a completed run whose every subject has a row, and whose walks are redeemed from the S3 store', async () => {
  const pods = demoPods(NOW).flatMap(({ text }) => JSON.parse(text).items as unknown[]).length;
  const run = await endOf(await startDemoSweep());
  expect(run).toMatchObject({ run_status: 'completed', subjects: { total: pods, settled: pods } });

  const { rows } = await askJson<{ rows: Row[] }>(`/v1/runs/${run.run_id}/rows?limit=1000`);
  expect(rows).toHaveLength(pods);
  expect(new Set(rows.map(({ standing }) => standing))).toEqual(new Set(['ok', 'problem', 'declined']));

  const envelope = await askJson(`/v1/runs/${run.run_id}/envelope`);
  expect(envelope).toMatchObject({ af_coverage: { checked: expect.any(Array) }, result: { rows_total: pods } });

  const { ref, offset, length, sha256 } = rows.find(({ walk }) => walk !== undefined)!.walk!;
  const range = `bytes=${offset}-${offset + length - 1}`;
  const walk = await (await ask(`/v1/artifacts/${ref}`, { headers: { range } })).bytes();
  expect(createHash('sha256').update(walk).digest('hex')).toBe(sha256);
});

test('services run without root and cannot write to their own image', async () => {
  for (const id of [...(await containersOf('api')), ...(await containersOf('worker'))]) {
    expect(await docker('exec', id, 'id', '-u')).toBe('10001');
    await expect(docker('exec', id, 'touch', '/app/written')).rejects.toThrow('Read-only file system');
  }
});

test('the images hold no npm, no tests and no development dependencies', async () => {
  const [api] = await containersOf('api');
  const found = await docker(
    'exec',
    api!,
    'sh',
    '-c',
    'command -v npm; ls -d node_modules/vitest node_modules/typescript libs/*/test services/*/test 2>/dev/null; true',
  );
  expect(found).toBe('');
});

test('there are two workers, and each ends in order when it is told to', async () => {
  const workers = await containersOf('worker');
  expect(workers).toHaveLength(2);
  for (const id of workers) {
    await docker('stop', '-t', '20', id);
    expect(await docker('inspect', '--format', '{{.State.ExitCode}}', id)).toBe('0');
  }
});

test('a run that was taken while no worker lived is completed once they are back', async () => {
  const run = await startDemoSweep();
  const project = process.env.MUSTER_TEST_STACK_PROJECT!;
  const ids = await docker('ps', '--all', '--quiet', '--filter', `label=com.docker.compose.project=${project}`);
  await docker('start', ...ids.split('\n'));
  expect(await endOf(run)).toMatchObject({ run_status: 'completed' });
});

test('the API ends in order when it is told to', async () => {
  const [api] = await containersOf('api');
  await docker('stop', '-t', '20', api!);
  expect(await docker('inspect', '--format', '{{.State.ExitCode}}', api!)).toBe('0');
});
