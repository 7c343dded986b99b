/** Bounds of memory are read when a process begins, so each way of starting a service has to carry them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROCESS_MEMORY } from '../src/index.ts';

test('the images set the same bounds of memory as services that are started from here', () => {
  const dockerfile = readFileSync(new URL('../../../infra/Dockerfile', import.meta.url), 'utf8');
  const runtime = dockerfile.slice(dockerfile.indexOf(' AS runtime'), dockerfile.indexOf('FROM runtime'));
  const set = Object.fromEntries(
    [...runtime.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) =>
      line.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    ),
  );
  expect(set).toMatchObject(PROCESS_MEMORY);
});

test('the space for young objects stays within its bound, however much passes through it', () => {
  const churn = `
    const kept = [];
    for (let at = 0; at < 3e6; at++) { kept.push({ at }); if (kept.length === 4e5) kept.length = 0; }
    const { space_size } = require('node:v8').getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    process.stdout.write(String(space_size));`;
  const env = { PATH: process.env.PATH, ...PROCESS_MEMORY };
  const bytes = Number(execFileSync(process.execPath, ['-e', churn], { env, encoding: 'utf8' }));
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(2 * 16 * 1024 * 1024);
});
