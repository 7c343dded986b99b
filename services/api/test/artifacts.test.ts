import { randomBytes } from 'node:crypto';
import { newArtifactRef } from '@muster/artifacts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRange } from '../src/byte-range.ts';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';
import { keepArtifact } from './run-stages.ts';

let fixture: Fixture;
let address: string;
let runId: string;
let ref: string;
let digest: string;
const bytes = randomBytes(100_000);

beforeAll(async () => {
  fixture = await openFixture();
  address = await fixture.listen();
  const run = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
  runId = run.body.run_id;
  ({ ref, digest } = await keepArtifact(fixture, runId, bytes));
});
afterAll(() => fixture.close());

const get = (headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${address}/v1/artifacts/${ref}`, {
    method,
    headers: { authorization: `Bearer ${fixture.keys.reader}`, ...headers },
  });
const bodyOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('reading an artifact', () => {
  test('the run names it, and it comes whole with everything that a reader needs', async () => {
    const run = await fixture.ask(`/v1/runs/${runId}`);
    expect(run.body.artifacts).toEqual([{ id: ref, kind: 'recording/chart-walk', digest, size: bytes.length }]);
    const response = await get();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'content-length': String(bytes.length),
      'content-type': 'application/x-ndjson',
      'content-disposition': `attachment; filename="walk-${ref}"`,
      'x-content-type-options': 'nosniff',
      etag: `"${digest}"`,
    });
    expect((await bodyOf(response)).equals(bytes)).toBe(true);
  });

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    ['bytes=99990-', 99_990, 100_000],
    ['bytes=-5', 99_995, 100_000],
    ['bytes=99999-200000', 99_999, 100_000],
    ['bytes=-200000', 0, 100_000],
  ])('the range %s is that part and no more', async (range, start, end) => {
    const response = await get({ range });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
    expect(response.headers.get('content-length')).toBe(String(end - start));
    expect((await bodyOf(response)).equals(bytes.subarray(start, end))).toBe(true);
  });

  test.each(['bytes=100000-', 'bytes=-0'])('the range %s lies outside', async (range) => {
    const response = await get({ range });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
    expect(await response.json()).toMatchObject({ code: 'range_not_satisfiable' });
  });

  test.each(['bytes=0-1,4-5', 'lines=1-2', 'bytes=5-1', 'bytes=-', 'bytes=a-b'])(
    'the range %s is none of ours, and the whole is sent',
    async (range) => {
      const response = await get({ range });
      expect(response.status).toBe(200);
      expect(await bodyOf(response)).toHaveLength(bytes.length);
    },
  );

  test('HEAD gives the headers alone, and a known tag nothing', async () => {
    const head = await get({}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    expect(await bodyOf(head)).toHaveLength(0);
    for (const method of ['GET', 'HEAD']) {
      expect((await get({ 'if-none-match': `"other", "${digest}"` }, method)).status).toBe(304);
    }
  });

  test('a range of an artifact that has become another is the whole', async () => {
    expect((await get({ range: 'bytes=0-9', 'if-range': '"other"' })).status).toBe(200);
    expect((await get({ range: 'bytes=0-9', 'if-range': `"${digest}"` })).status).toBe(206);
  });

  test('missing, foreign, malformed and unfinished ones look the same', async () => {
    const staged = newArtifactRef();
    await fixture.db.query(
      `insert into muster.artifacts (ref, tenant, session_id, run_id, purpose, state, owner, fence, kind, media_type,
        store_conversation, created_at)
        select $1, tenant, session_id, run_id, purpose, 'staged', owner, fence, kind, media_type, store_conversation,
          created_at from muster.artifacts where ref = $2`,
      [staged, ref],
    );
    const answers = await Promise.all([
      fixture.ask(`/v1/artifacts/${newArtifactRef()}`),
      fixture.ask(`/v1/artifacts/${staged}`),
      fixture.ask('/v1/artifacts/art_%00'),
      fixture.ask(`/v1/artifacts/${ref}`, { key: fixture.keys.other }),
    ]);
    for (const answer of answers) expectProblem(answer, 404, 'artifact_not_found');
    const shapes = answers.map(({ body }) => JSON.stringify({ ...body, instance: '' }));
    expect(new Set(shapes).size).toBe(1);
  });
});

test('a range of nothing lies outside', () => {
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=-1', 0)).toBe('unsatisfiable');
  expect(parseRange(undefined, 0)).toBeUndefined();
});
