/** docs/guides/schedules.md: its files are what they say, and its commands do what they are for, in their order. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testQueueBackends } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from './e2e/muster-cluster.ts';
import { fileBlocks } from './guide/guide-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const guide = readFileSync(join(root, 'docs/guides/schedules.md'), 'utf8');
let folder: string;
let cluster: Cluster;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-guide-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { file, text } of fileBlocks(guide)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  cluster = await startCluster((await testQueueBackends())[0]!, {
    MUSTER_RUNBOOKS: join(folder, 'my-runbooks/hosts.ts'),
    MUSTER_SCHEDULES: join(folder, 'schedules.yaml'),
  });
  await cluster.startWorker();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function muster(script: string) {
  const main = join(root, 'services/cli/src/main.ts');
  const { stdout, stderr, status } = spawnSync(
    'bash',
    ['-e', '-c', `muster() { "$NODE" "${main}" "$@"; }\n${script}`],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        NODE: process.execPath,
        MUSTER_API_URL: cluster.address,
        MUSTER_API_KEY: cluster.key,
      },
      encoding: 'utf8',
    },
  );
  return { stdout, stderr, status };
}

test('its runbook is free of type errors', () => {
  const config = { extends: join(root, 'tsconfig.base.json'), include: ['my-runbooks'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
});

test('the file that the API was started with is what there is', async () => {
  const { schedules } = await cluster.ask('GET', '/v1/schedules');
  expect(schedules).toMatchObject([
    { name: 'hourly-south', source: 'file', version: '1.0.0', described: 'every 1 h', jitter_seconds: 300 },
  ]);
});

test('its commands make a schedule, show it, run it and read its ledger', () => {
  const [, script = ''] = /```sh\n(muster schedule apply[\s\S]*?)```/.exec(guide) ?? [];
  const { stdout, stderr, status } = muster(script);
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('made nightly-north: 30 2 * * *') });
  expect(stderr).toContain('nightly-north: paused (the cluster moves)');
  expect(stdout).toMatch(/^hourly-south {2}next /m);
  expect(stdout).toMatch(/^failures in a row +0 of 3 that pause it$/m);
  expect(stdout).toMatch(/full +host-2/);
  expect(stdout).toMatch(/started {3}[0-9a-f-]{36} {2}(completed|open) {2}by hand/);
});

test('its table of fields is that of the schema', async () => {
  const { scheduleDeclarationSchema, filedScheduleSchema } = await import('@muster/schedules');
  const rows = [...guide.matchAll(/^\| `([a-z_]+)` +\| .* \| .* \|$/gm)].map(([, field]) => field);
  const fields = [
    ...new Set([...Object.keys(scheduleDeclarationSchema.shape), ...Object.keys(filedScheduleSchema.shape)]),
  ];
  expect(rows.filter((row) => fields.includes(row!))).toEqual(fields);
});
