import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-reference-'));
  execFileSync(process.execPath, [join(root, 'scripts/write-reference.mjs'), folder]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('there is a reference for each library that is packed, and no other', () => {
  expect(readdirSync(join(root, 'docs/reference')).sort()).toEqual(readdirSync(folder).sort());
});

describe.each(['envelope', 'artifacts'])('the reference of %s', (library) => {
  const written = () => readFileSync(join(folder, `${library}.md`), 'utf8');

  // `npm run reference` writes it anew.
  test('says what the docstrings say', () => {
    expect(readFileSync(join(root, `docs/reference/${library}.md`), 'utf8')).toBe(written());
  });

  test('has a sentence for every export', () => {
    const bare = [...written().matchAll(/^### (.+)\n\n```/gm)].map(([, name]) => name);
    expect(bare).toEqual([]);
  });

  test('links to entries that it has', () => {
    const entries = new Set([...written().matchAll(/^### (.+)$/gm)].map(([, name]) => name?.toLowerCase()));
    const links = [...written().matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor);
    expect(links.filter((anchor) => !entries.has(anchor))).toEqual([]);
    expect(links.length).toBeGreaterThan(0);
  });
});
