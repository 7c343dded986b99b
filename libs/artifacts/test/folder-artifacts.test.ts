import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnService } from '@muster/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ArtifactStore, ArtifactStoreUnavailableError, folderArtifacts, newArtifactRef } from '../src/index.ts';

const SCOPE = { tenant: 'acme', conversationId: 'run-1' };
const PLAIN = { kind: 'test/plain', mediaType: 'text/plain' };
const PLACE = join('artifacts', 't-acme', 'p', 'c-run-1');

let directory: string;
let store: ArtifactStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'muster-folder-'));
  store = folderArtifacts({ directory });
});
afterEach(() => rm(directory, { recursive: true }));

test('the payload lies in the folder as it was put, for its owner alone', async () => {
  const { meta } = await store.put(SCOPE, { ...PLAIN, data: 'a line\n' });
  const data = join(directory, PLACE, meta.ref, 'data');
  expect(await readFile(data, 'utf8')).toBe('a line\n');
  expect((await stat(data)).mode & 0o777).toBe(0o600);
  expect((await stat(join(directory, PLACE))).mode & 0o777).toBe(0o700);
});

test('artifacts are there after a restart', async () => {
  const { meta } = await store.put(SCOPE, { ...PLAIN, data: { kept: true }, digest: 'sha-256' });
  expect(await folderArtifacts({ directory }).get(SCOPE, meta.ref)).toEqual({ meta, data: { kept: true } });
});

test('a put that was killed in its middle is invisible, and a sweep removes it', async () => {
  const child = spawnService(fileURLToPath(new URL('hanging-put.ts', import.meta.url)), { args: [directory, 'run-1'] });
  await child.ready(/in the middle of a put/);
  await child.kill('SIGKILL');
  const scope = { conversationId: 'run-1' };
  expect(await readdir(join(directory, 'unfinished'))).toHaveLength(1);
  expect(await store.list(scope)).toEqual({ artifacts: [] });
  expect(await store.sweepUnfinished()).toBe(0);
  expect(await store.sweepUnfinished({ olderThanMs: 0 })).toBe(1);
  expect(await readdir(join(directory, 'unfinished'))).toEqual([]);
});

test('a sweep takes what is old and leaves a put that still writes', async () => {
  const yesterday = new Date(Date.now() - 90_000_000);
  for (const name of ['old', 'started-long-ago']) {
    await mkdir(join(directory, 'unfinished', name), { recursive: true });
    await writeFile(join(directory, 'unfinished', name, 'data'), 'x');
    await utimes(join(directory, 'unfinished', name), yesterday, yesterday);
  }
  await utimes(join(directory, 'unfinished', 'old', 'data'), yesterday, yesterday);
  expect(await store.sweepUnfinished()).toBe(1);
  expect(await readdir(join(directory, 'unfinished'))).toEqual(['started-long-ago']);
});

test('of many puts with one chosen ref at once, exactly one is kept, whole', async () => {
  const ref = newArtifactRef();
  const puts = Array.from({ length: 8 }, (_, index) =>
    store.put(SCOPE, { ...PLAIN, ref, data: `${index}`.repeat(50_000), digest: 'sha-256' }),
  );
  const settled = await Promise.allSettled(puts);
  const refusals = settled.filter((outcome) => outcome.status === 'rejected').map((outcome) => outcome.reason.code);
  expect(refusals).toEqual(Array(7).fill('artifact_ref_taken'));
  const winner = settled.findIndex((outcome) => outcome.status === 'fulfilled');
  expect((await store.get(SCOPE, ref))?.data).toBe(`${winner}`.repeat(50_000));
  expect(await readdir(join(directory, 'unfinished'))).toEqual([]);
});

test('puts and deletes of the same scope at once do not disturb each other', async () => {
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const { meta } = await store.put(SCOPE, { ...PLAIN, data: `${index}` });
      expect((await store.get(SCOPE, meta.ref))?.data).toBe(`${index}`);
      await store.delete(SCOPE, meta.ref);
    }),
  );
  expect(await store.list(SCOPE)).toEqual({ artifacts: [] });
});

test('deletes and refusals leave no folder behind', async () => {
  const { meta } = await store.put(SCOPE, { ...PLAIN, data: 'x' });
  await store.delete(SCOPE, meta.ref);
  expect(await readdir(join(directory, 'artifacts'))).toEqual([]);
  expect(await readdir(join(directory, 'unfinished'))).toEqual([]);
});

test('a reader that began before a delete reads to the end', async () => {
  const { meta } = await store.put(SCOPE, { ...PLAIN, data: 'x'.repeat(300_000), digest: 'sha-256' });
  const found = await store.getStream(SCOPE, meta.ref);
  await store.delete(SCOPE, meta.ref);
  let read = 0;
  for await (const chunk of found!.body) read += chunk.length;
  expect(read).toBe(300_000);
});

test('a payload that was cut short on the disk is an error, with or without a digest', async () => {
  const { meta } = await store.put(SCOPE, { ...PLAIN, data: 'twelve bytes' });
  await writeFile(join(directory, PLACE, meta.ref, 'data'), 'twelve');
  await expect(store.get(SCOPE, meta.ref)).rejects.toMatchObject({ code: 'artifact_integrity' });
  await expect(store.getStream(SCOPE, meta.ref, { end: 3 })).rejects.toMatchObject({ code: 'artifact_integrity' });
});

test('a folder that somebody else made is no artifact', async () => {
  const ref = newArtifactRef();
  for (const meta of ['', 'not json', '{}', '{"record":{"ref":"x"},"seal":{"bytes":1}}']) {
    await mkdir(join(directory, PLACE, ref), { recursive: true });
    await writeFile(join(directory, PLACE, ref, 'meta.json'), meta);
    expect(await store.head(SCOPE, ref)).toBeNull();
    expect(await store.list(SCOPE)).toEqual({ artifacts: [] });
  }
});

describe('a folder that cannot be used', () => {
  test('is unavailable by name in every call, and nothing is null or empty', async () => {
    const blocked = join(directory, 'a-file');
    await writeFile(blocked, '');
    const broken = folderArtifacts({ directory: blocked });
    const calls = [
      () => broken.checkAvailable(),
      () => broken.put(SCOPE, { ...PLAIN, data: 'x' }),
      () => broken.head(SCOPE, newArtifactRef()),
      () => broken.get(SCOPE, newArtifactRef()),
      () => broken.delete(SCOPE, newArtifactRef()),
      () => broken.list(SCOPE),
      () => broken.sweepUnfinished(),
    ];
    for (const call of calls) {
      const error = await call().then(
        () => undefined,
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(ArtifactStoreUnavailableError);
      expect(error.message).toContain(`folder ${blocked}`);
      expect(error.cause).toMatchObject({ code: expect.stringMatching(/^E[A-Z]+$/) });
    }
  });

  test('an option that cannot be is refused by name', () => {
    expect(() => folderArtifacts({ directory: '' })).toThrow('directory must be a non-empty string');
    expect(() => folderArtifacts({ directory, maxBytes: 0 })).toThrow('maxBytes must be a whole number >= 1, but is 0');
  });
});
