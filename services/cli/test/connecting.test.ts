/** Whom the command line talks to, and what it says when there is nobody. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linesOf, muster } from './muster-process.ts';

let folder: string;
let stranger: Server;
let address: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-connect-'));
  stranger = createServer((_request, response) => response.end('<html>welcome</html>'));
  await new Promise<void>((resolve) => void stranger.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
});
afterAll(async () => {
  stranger.close();
  await rm(folder, { recursive: true, force: true });
});

describe('one line, and exit 1 or 2', () => {
  test.each<[string, () => Record<string, string>, RegExp, number]>([
    ['no Muster in the data folder', () => ({}), /no Muster is running here: .*npm start.*MUSTER_API_URL/, 1],
    ['no key', () => ({ MUSTER_API_URL: address }), /admin\.key there is none: .*MUSTER_API_KEY/, 1],
    ['something else that answers', () => ({ MUSTER_API_URL: address, MUSTER_API_KEY: 'mk_x' }), /no Muster API/, 1],
    ['a key that is none', () => ({ MUSTER_API_URL: address, MUSTER_API_KEY: 'two words' }), /MUSTER_API_KEY/, 2],
    [
      'a name that is nowhere',
      () => ({ MUSTER_API_URL: 'http://nowhere.invalid', MUSTER_API_KEY: 'mk_x' }),
      /http:\/\/nowhere\.invalid cannot be reached/,
      1,
    ],
    ['an address that is none', () => ({ MUSTER_API_URL: 'localhost:80' }), /MUSTER_API_URL.*http:/, 2],
  ])('%s', async (_what, env, said, expected) => {
    const { code, out, err } = await muster(['get', 'x'], { env: { MUSTER_DATA_DIR: folder, ...env() } });
    expect(linesOf(err)).toHaveLength(1);
    expect(err).toMatch(said);
    expect([code, out]).toEqual([expected, '']);
  });
});

describe('a stack that cannot start says why in one line, and shows no secret', () => {
  test.each<[string, Record<string, string>, RegExp, number]>([
    [
      'a database that is not there',
      { DATABASE_URL: 'postgres://ann:hunter2@127.0.0.1:9/x' },
      /^muster: the API did not start: .*127\.0\.0\.1:9/,
      1,
    ],
    [
      'runbooks that are not there',
      { MUSTER_RUNBOOKS: './none.ts', DATABASE_URL: 'postgres://h:9/x' },
      /MUSTER_RUNBOOKS/,
      2,
    ],
  ])('%s', async (_what, env, said, expected) => {
    const data = join(folder, 'stack');
    const { code, err } = await muster(['demo'], { env: { MUSTER_DATA_DIR: data, ...env } });
    expect(linesOf(err)).toHaveLength(1);
    expect(err).toMatch(said);
    expect(err).not.toContain('hunter2');
    expect(code).toBe(expected);
  });

  test('a data folder that cannot be one', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const { code, err } = await muster(['demo'], { env: { MUSTER_DATA_DIR: file } });
    expect(err).toMatch(/^muster: the data folder .*MUSTER_DATA_DIR\) cannot be used \(ENOTDIR\)\n$/);
    expect(code).toBe(1);
  });
});
