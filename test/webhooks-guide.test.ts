/** docs/guides/webhooks.md: its module loads, and each of its commands sends a delivery that becomes a run. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Body, startCluster } from './e2e/muster-cluster.ts';
import { fileBlocks } from './guide/guide-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const guide = readFileSync(join(root, 'docs/guides/webhooks.md'), 'utf8');
const SECRETS = {
  PROMETHEUS_TOKEN: 'token-of-prometheus',
  GRAFANA_TOKEN: 'token-of-grafana',
  GITHUB_SECRET: 'secret of github',
  PAGERDUTY_SECRET: 'secret of pagerduty',
  SENTRY_SECRET: 'secret of sentry',
  SHOP_SECRET: `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`,
};
/** What becomes of the delivery of each command, in the order of the guide. */
const BECOMES: Readonly<Record<string, object>> = {
  prometheus: { runs: 1, collapsed: 0, declined: 0, skipped: 0 },
  grafana: { runs: 1, collapsed: 0, declined: 1, skipped: 0 },
  github: { runs: 1, collapsed: 0, declined: 0, skipped: 0 },
  pagerduty: { runs: 1, collapsed: 0, declined: 0, skipped: 0 },
  sentry: { runs: 1, collapsed: 0, declined: 0, skipped: 0 },
  shop: { runs: 1, collapsed: 0, declined: 0, skipped: 0 },
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-webhooks-guide-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, text } of fileBlocks(guide)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('its module is free of type errors', () => {
  const config = { extends: join(root, 'tsconfig.base.json'), include: ['my-runbooks'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
});

test('each command sends a delivery that is taken, and becomes what the guide says', async () => {
  const [queue] = await testQueueBackends();
  const credentials = Object.fromEntries(
    Object.entries(SECRETS).map(([name, value]) => [`MUSTER_CREDENTIAL_${name}`, value]),
  );
  const cluster = await startCluster(queue!, {
    ...credentials,
    MUSTER_RUNBOOKS: join(folder, 'my-runbooks/host-triage.ts'),
  });
  await cluster.startWorker();
  const commands = [...guide.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  expect(commands).toHaveLength(Object.keys(BECOMES).length);
  for (const [nth, hook] of Object.keys(BECOMES).entries()) {
    const env = { PATH: process.env.PATH, ...SECRETS, API: cluster.address };
    // Not every system has uuidgen.
    const uuidgen = `uuidgen() { "${process.execPath}" -p 'crypto.randomUUID()'; }`;
    const receipt = JSON.parse(
      execFileSync('bash', ['--norc', '-e', '-c', `${uuidgen}\n${commands[nth]}`], { env, encoding: 'utf8' }),
    );
    expect(receipt).toMatchObject({ state: 'received', delivery_id: expect.any(String) });
    const delivery: Body = await waitFor(
      () => cluster.ask('GET', `/v1/deliveries/${receipt.delivery_id}`),
      (seen) => seen.state !== 'received',
      { what: 'the end of the delivery' },
    );
    expect(delivery).toMatchObject({ hook, state: 'done', counts: BECOMES[hook] });
    const run = await cluster.ended(delivery.result.runs[0].run_id);
    expect(run).toMatchObject({ run_status: 'completed', delivery_id: receipt.delivery_id });
  }
});
