import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { ArtifactStoreUnavailableError } from '@muster/artifacts';
import { waitFor } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture, TENANT, UPLOAD_LIMIT } from './fixture.ts';
import { finish } from './run-stages.ts';

let fixture: Fixture;
let address: URL;
beforeAll(async () => {
  fixture = await openFixture();
  address = new URL(await fixture.listen());
});
afterAll(() => fixture.close());

const upload = (query: string, raw: Buffer | string, headers: Record<string, string> = {}, key?: string) =>
  fixture.ask(`/v1/uploads?${query}`, { method: 'POST', raw, headers, key: key ?? fixture.keys.runner });

/** Everything that an upload could leave behind: rows, and files in the store. */
async function remains(): Promise<{ rows: number; files: string[] }> {
  const { rows } = await fixture.db.query<{ n: number }>('select count(*) as n from muster.artifacts');
  const entries = await readdir(fixture.folder, { recursive: true, withFileTypes: true });
  return {
    rows: rows[0]!.n,
    files: entries
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .sort(),
  };
}

describe('uploads', () => {
  test('the bytes are kept as they come, with their digest, and a run may name them', async () => {
    const bytes = randomBytes(150_000);
    const answer = await upload('name=pods.json', bytes, { 'content-type': 'text/plain; charset=utf-8' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      ref: expect.stringMatching(/^art_/),
      name: 'pods.json',
      bytes: bytes.length,
      digest: `sha-256:${createHash('sha256').update(bytes).digest('hex')}`,
      expires_at: expect.any(String),
    });
    const stored = await fixture.artifacts.get({ tenant: TENANT, conversationId: 'runs' }, answer.body.ref);
    expect(Buffer.from(stored!.data as Uint8Array).equals(bytes)).toBe(true);
    expect(stored!.meta).toMatchObject({ label: 'pods.json', mediaType: 'text/plain' });
    const body = { runbook: 'fleet_check', input: { files: [{ ref: answer.body.ref }] } };
    const run = await fixture.ask('/v1/runs', { method: 'POST', body, key: fixture.keys.runner });
    expect(run.status).toBe(202);
    const { rows } = await fixture.db.query('select ref from muster.run_uploads where run_id = $1', [run.body.run_id]);
    expect(rows).toEqual([{ ref: answer.body.ref }]);
  });

  test('no type and no bytes are an upload too, and a kept one does not expire', async () => {
    const answer = await upload('name=empty&keep=true', '');
    expect(answer).toMatchObject({ status: 201, body: { bytes: 0 } });
    expect(answer.body.expires_at).toBeUndefined();
  });

  test('sealing the run condemns its uploads, and not those that are kept', async () => {
    const gone = (await upload('name=a', 'a')).body.ref;
    const kept = (await upload('name=b&keep=true', 'b')).body.ref;
    const body = { runbook: 'anything', input: { one: gone, two: [{ three: kept }] } };
    const run = await fixture.ask('/v1/runs', { method: 'POST', body, key: fixture.keys.runner });
    await finish(fixture, run.body.run_id);
    const { rows } = await fixture.db.query(
      'select ref, state from muster.artifacts where ref = any($1) order by state',
      [[gone, kept]],
    );
    expect(rows).toEqual([
      { ref: kept, state: 'committed' },
      { ref: gone, state: 'deleting' },
    ]);
  });

  test('an upload of another key or session is not there for a run', async () => {
    const foreign = (await upload('name=x', 'x', {}, fixture.keys.other)).body.ref;
    const elsewhere = (await upload('name=x', 'x', { 'muster-session': 'elsewhere' })).body.ref;
    const ask = (ref: string, key: string) =>
      fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: { ref } }, key });
    for (const ref of [foreign, elsewhere]) {
      const answer = await ask(ref, fixture.keys.runner);
      expectProblem(answer, 422, 'unknown_artifact');
      expect(answer.body.refs).toEqual([ref]);
    }
    expect((await ask(foreign, fixture.keys.other)).status).toBe(202);
  });

  test('an uploaded input is never served back', async () => {
    const { ref } = (await upload('name=x', 'x')).body;
    for (const method of ['GET', 'HEAD']) {
      expect((await fixture.ask(`/v1/artifacts/${ref}`, { method })).status).toBe(404);
    }
  });
});

describe('refused uploads leave nothing behind', () => {
  test.each<[string, string, Record<string, string>, number, string]>([
    ['no name', '', {}, 400, 'invalid_request'],
    ['a path for a name', 'name=..%2Fx', {}, 400, 'invalid_request'],
    ['control characters in the name', 'name=a%00b', {}, 400, 'invalid_request'],
    ['a name of 256 bytes', `name=${'%C3%A9'.repeat(128)}`, {}, 400, 'invalid_request'],
    ['an unknown query', 'name=a&colour=red', {}, 400, 'invalid_request'],
    ['a form', 'name=a', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'unsupported_media_type'],
  ])('%s', async (_what, query, headers, status, code) => {
    const before = await remains();
    expectProblem(await upload(query, 'x', headers), status, code);
    expect(await remains()).toEqual(before);
  });

  test('a declared length over the limit is refused at once, before the body is sent', async () => {
    const before = await remains();
    const answer = await sendHead({ 'content-length': String(UPLOAD_LIMIT + 1) });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain(`"code":"upload_too_large"`);
    expect(answer).toContain(`"max_bytes":${UPLOAD_LIMIT}`);
    expect(await remains()).toEqual(before);
  });

  test('a stream over the limit is refused while it comes, and its sender gets the answer', async () => {
    const before = await remains();
    const answer = await streamUpload(UPLOAD_LIMIT * 4);
    expect(answer).toMatchObject({ status: 413, code: 'upload_too_large' });
    expect(await remains()).toEqual(before);
  });

  test('an upload of exactly the limit is taken', async () => {
    expect(await streamUpload(UPLOAD_LIMIT)).toMatchObject({ status: 201 });
  });

  test('a connection that breaks in mid-upload leaves neither row nor file', async () => {
    const before = await remains();
    const socket = connect(Number(address.port), address.hostname);
    socket.write(
      `POST /v1/uploads?name=broken HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${fixture.keys.runner}\r\ncontent-length: 100000\r\n\r\n`,
    );
    socket.write(randomBytes(50_000));
    await waitFor(
      async () => (await remains()).rows,
      (rows) => rows === before.rows + 1,
      { what: 'the staged row' },
    );
    socket.destroy();
    await waitFor(remains, (now) => now.rows === before.rows, { what: 'the end of the staged row' });
    expect(await remains()).toEqual(before);
  });

  test('a store that fails leaves neither row nor file, and says that it is unavailable', async () => {
    const broken = await openFixture();
    try {
      const before = broken.artifacts.putStream;
      broken.artifacts.putStream = () =>
        Promise.reject(new ArtifactStoreUnavailableError('put', 'disk', new Error('x')));
      const answer = await broken.ask('/v1/uploads?name=a', { method: 'POST', raw: 'x' });
      broken.artifacts.putStream = before;
      expectProblem(answer, 503, 'artifact_store_unavailable');
      const { rows } = await broken.db.query('select ref from muster.artifacts');
      expect(rows).toEqual([]);
    } finally {
      await broken.close();
    }
  });
});

/** Streams zeros in chunks without a declared length. */
function streamUpload(bytes: number): Promise<{ status: number; code?: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        method: 'POST',
        host: address.hostname,
        port: address.port,
        path: '/v1/uploads?name=stream',
        headers: { authorization: `Bearer ${fixture.keys.runner}` },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, code: JSON.parse(text).code }));
      },
    );
    outgoing.on('error', reject);
    for (let left = bytes; left > 0; left -= 50_000) outgoing.write(Buffer.alloc(Math.min(left, 50_000)));
    outgoing.end();
  });
}

/** Sends headers alone and reads the first answer. */
function sendHead(headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(address.port), address.hostname, () => {
      const lines = Object.entries({ host: 'x', authorization: `Bearer ${fixture.keys.runner}`, ...headers });
      const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
      socket.write(`POST /v1/uploads?name=raw HTTP/1.1\r\n${head}\r\n\r\n`);
    });
    let text = '';
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('}')) {
        socket.destroy();
        resolve(text);
      }
    });
  });
}
