import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canarySecret, findCanary, findCanaryInFolder } from '../src/index.ts';

test('no two canaries are the same', () => {
  expect(canarySecret()).not.toBe(canarySecret());
});

test('a canary is found plain, escaped, and packed in hex or base64 at any offset', () => {
  const canary = canarySecret();
  const packings: ((text: string) => string)[] = [
    (text) => text,
    (text) => JSON.stringify({ text }),
    (text) => encodeURIComponent(text),
    (text) => Buffer.from(text).toString('hex'),
    (text) => Buffer.from(text).toString('base64'),
    (text) => Buffer.from(text).toString('base64url'),
  ];
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.constantFrom(...packings), (before, after, pack) => {
      expect(findCanary(canary, pack(before + canary + after))).not.toEqual([]);
      expect(findCanary(canary, pack(before + canarySecret() + after))).toEqual([]);
    }),
  );
});

test('a canary is found in rows, wherever they hold it', () => {
  const canary = canarySecret();
  const error = new Error(`refused ${canary}`);
  for (const rows of [[{ a: { b: [canary] } }], [{ big: 1n, error }], new Map([[canary, 1]]), new Set([canary])]) {
    expect(findCanary(canary, rows)).not.toEqual([]);
  }
  expect(findCanary(canary, [{ big: 1n, nothing: null, missing: undefined }, undefined])).toEqual([]);
  expect(findCanary(canary, undefined)).toEqual([]);
});

test('the files of a folder that hold a canary are named, compressed ones and names too', async () => {
  const canary = canarySecret();
  const folder = mkdtempSync(join(tmpdir(), 'muster-canary-'));
  try {
    mkdirSync(join(folder, 'deep'));
    writeFileSync(join(folder, 'deep', 'packed.gz'), gzipSync(`{"secret":"${canary}"}`));
    writeFileSync(join(folder, 'plain'), `...${canary}...`);
    writeFileSync(join(folder, 'clean'), 'nothing here');
    writeFileSync(join(folder, encodeURIComponent(canary)), '');
    const found = await findCanaryInFolder(canary, folder);
    expect(found).toEqual(['deep/packed.gz', 'plain', encodeURIComponent(canary)].sort());
  } finally {
    rmSync(folder, { recursive: true });
  }
});
