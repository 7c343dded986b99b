import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startContainer } from '../src/container-service.ts';

const plan = { name: 'Nothing', image: 'muster.invalid/nothing:1', port: 1, ready: { line: /ready/, times: 1 } };

test('an engine that takes the call and never answers costs a bounded time, then the local service takes its place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-engine-'));
  const open = new Set<{ destroy(): void }>();
  const engine = createServer((socket) => open.add(socket)).listen(join(folder, 'engine.sock'));
  await once(engine, 'listening');
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = `unix://${join(folder, 'engine.sock')}`;
  try {
    expect(await startContainer(plan, { DOCKER_HOST: process.env.DOCKER_HOST })).toBeUndefined();
    const insisting = startContainer(plan, { DOCKER_HOST: process.env.DOCKER_HOST, MUSTER_TEST_CONTAINERS: '1' });
    await expect(insisting).rejects.toThrow('Nothing must come from a container here, and it does not');
  } finally {
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
    for (const socket of open) socket.destroy();
    engine.close();
    rmSync(folder, { recursive: true });
  }
});

test('containers that are declined are not even looked for', async () => {
  expect(await startContainer(plan, { DOCKER_HOST: 'unix:///nowhere', MUSTER_TEST_CONTAINERS: '0' })).toBeUndefined();
});
