import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRunFolder } from '../src/run-folder.ts';

test('what a killed run left behind goes with the next run, and a living one keeps its folder', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'muster-run-folder-'));
  const dead = spawnSync(process.execPath, ['--version']).pid;
  mkdirSync(join(parent, `muster-testkit-${dead}-left`, 'postgres'), { recursive: true });
  mkdirSync(join(parent, 'muster-testkit-notes'));
  const first = await makeRunFolder(parent);
  const second = await makeRunFolder(parent);
  expect(existsSync(first) && existsSync(second)).toBe(true);
  expect(readdirSync(parent)).toHaveLength(3);
  rmSync(parent, { recursive: true });
});
