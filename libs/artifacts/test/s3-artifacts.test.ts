/** What the contract cannot ask of every adapter: lost connections, dead endpoints, bounded memory, configuration. */
import { once } from 'node:events';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { HeadObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type S3Endpoint, startS3Endpoint } from '../../testkit/src/s3-endpoint.ts';
import { type ArtifactScope, newArtifactRef, type S3ArtifactsOptions, s3Artifacts } from '../src/index.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const MIB = 1_048_576;
const PART = 5 * MIB;
const PLAIN = { kind: 'test/plain', mediaType: 'application/octet-stream' };
const SECRET = 'a-secret-access-key';

let server: S3Endpoint;
let client: S3Client;
let scope: ArtifactScope;

beforeAll(async () => {
  server = await startS3Endpoint();
  client = new S3Client({ ...server, forcePathStyle: true });
});
afterAll(async () => {
  client.destroy();
  await server.stop();
});
beforeEach(() => {
  scope = { conversationId: newArtifactRef() };
});

function storeAt(endpoint: string, options: Partial<S3ArtifactsOptions> = {}) {
  const { bucket } = server;
  const credentials = { accessKeyId: 'test', secretAccessKey: SECRET };
  const store = s3Artifacts({ endpoint, bucket, credentials, partBytes: PART, ...options });
  onTestFinished(() => store.close());
  return store;
}

async function proxied(): Promise<TcpProxy> {
  const proxy = await startTcpProxy(server.endpoint);
  onTestFinished(() => proxy.stop());
  return proxy;
}

async function* megabytes(count: number, before: (given: number) => unknown = () => {}): AsyncGenerator<Uint8Array> {
  for (let given = 0; given < count; given += 1) {
    await before(given);
    yield new Uint8Array(MIB).fill(given);
  }
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  );

describe('an endpoint that does not answer', () => {
  test('is unavailable in every call, after bounded attempts, by operation and place, without credentials', async () => {
    const store = storeAt('http://127.0.0.1:1', { maxAttempts: 2 });
    const calls = {
      check: store.checkAvailable(),
      put: store.put(scope, { ...PLAIN, data: 'x' }),
      head: store.head(scope, newArtifactRef()),
      get: store.get(scope, newArtifactRef()),
      delete: store.delete(scope, newArtifactRef()),
      list: store.list(scope),
      sweep: store.sweepUnfinished(),
    };
    await Promise.allSettled(Object.values(calls));
    for (const [operation, call] of Object.entries(calls)) {
      const error = await failureOf(call);
      expect(error).toMatchObject({ code: 'artifact_store_unavailable', operation, reason: 'ECONNREFUSED' });
      expect(error.message).toBe(
        `artifact store unavailable: ${operation} on bucket ${server.bucket} at 127.0.0.1:1 failed after 2 attempts: ECONNREFUSED`,
      );
      expect(error.cause.$metadata.attempts).toBe(2);
      expect(JSON.stringify(error) + String(error.cause)).not.toContain(SECRET);
    }
  });

  test('is given up after the request timeout, though it takes the connection', async () => {
    const silent = createNetServer(() => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const store = storeAt(endpoint, { maxAttempts: 2, requestTimeoutMs: 50 });
    const error = await failureOf(store.put(scope, { ...PLAIN, data: 'x' }));
    expect(error).toMatchObject({
      code: 'artifact_store_unavailable',
      reason: expect.stringMatching(/^(TimeoutError|ETIMEDOUT)$/),
    });
  });
});

describe('a connection that is lost', () => {
  test('in the middle of a streamed put leaves nothing visible, and the store works again afterwards', async () => {
    const proxy = await proxied();
    const store = storeAt(proxy.endpoint);
    const ref = newArtifactRef();
    const source = megabytes(30, (given) => given === 20 && proxy.cut());
    const error = await failureOf(store.putStream(scope, { ...PLAIN, ref, digest: 'sha-256' }, source));
    expect(error).toMatchObject({ code: 'artifact_store_unavailable', operation: 'put' });
    const direct = storeAt(server.endpoint);
    expect(await direct.head(scope, ref)).toBeNull();
    expect(await direct.list(scope)).toEqual({ artifacts: [] });
    proxy.heal();
    const { meta } = await store.putStream(scope, { ...PLAIN, ref, digest: 'sha-256' }, megabytes(12));
    expect((await store.get(scope, ref))?.meta).toEqual(meta);
  });

  test('between two calls is not noticed', async () => {
    const proxy = await proxied();
    const store = storeAt(proxy.endpoint);
    const { meta } = await store.put(scope, { ...PLAIN, data: 'x' });
    proxy.cut();
    proxy.heal();
    expect((await store.get(scope, meta.ref))?.data).toBe('x');
  });

  test('in the middle of a read ends the body with an error, never with its end', async () => {
    const proxy = await proxied();
    const store = storeAt(proxy.endpoint);
    const { meta } = await store.putStream(scope, PLAIN, megabytes(24));
    const found = await store.getStream(scope, meta.ref);
    const reader = found!.body.getReader();
    await reader.read();
    proxy.cut();
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    expect(await failureOf(rest())).toMatchObject({ code: 'artifact_store_unavailable', operation: 'get' });
  });
});

test('an endpoint that is killed in the middle of a streamed put is unavailable, and its source is stopped', async () => {
  const own = await startS3Endpoint();
  onTestFinished(() => own.stop());
  const store = storeAt(own.endpoint);
  const stopped = Promise.withResolvers<void>();
  async function* source() {
    try {
      yield* megabytes(100, (given) => given === 12 && own.stop());
    } finally {
      stopped.resolve();
    }
  }
  const error = await failureOf(store.putStream(scope, PLAIN, source()));
  expect(error).toMatchObject({ code: 'artifact_store_unavailable', operation: 'put' });
  await stopped.promise;
  expect(await failureOf(store.checkAvailable())).toMatchObject({ code: 'artifact_store_unavailable' });
});

describe('memory', () => {
  test('a streamed put never holds more than a few parts, whatever its length', async () => {
    const proxy = await proxied();
    const store = storeAt(proxy.endpoint, { uploadConcurrency: 2 });
    let mostHeld = 0;
    const source = megabytes(64, (given) => {
      mostHeld = Math.max(mostHeld, given * MIB - proxy.received());
    });
    const { meta } = await store.putStream(scope, { ...PLAIN, digest: 'sha-256' }, source);
    expect(meta.bytes).toBe(64 * MIB);
    expect(mostHeld).toBeGreaterThan(0);
    expect(mostHeld).toBeLessThanOrEqual((2 + 2) * PART);
  });

  test('a reader that cancels lets go of its connection', async () => {
    const proxy = await proxied();
    const store = storeAt(proxy.endpoint);
    const { meta } = await store.putStream(scope, PLAIN, megabytes(24));
    const found = await store.getStream(scope, meta.ref);
    const reader = found!.body.getReader();
    await reader.read();
    const open = proxy.openConnections();
    const closed = proxy.nextClose();
    await reader.cancel();
    await closed;
    expect(proxy.openConnections()).toBeLessThan(open);
  });
});

describe('the bucket', () => {
  test('holds a small artifact as one object, with its media type and the payload as it is', async () => {
    const store = storeAt(server.endpoint, { prefix: `${newArtifactRef()}/` });
    const prefix = `layout-${newArtifactRef()}/`;
    const own = storeAt(server.endpoint, { prefix });
    const { meta } = await own.put(
      { conversationId: 'run-1' },
      { ...PLAIN, mediaType: 'text/plain', data: 'é', digest: 'sha-256' },
    );
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: prefix }));
    expect(Contents?.map((object) => object.Key)).toEqual([`${prefix}artifacts/t/p/c-run-1/${meta.ref}`]);
    const head = await client.send(new HeadObjectCommand({ Bucket: server.bucket, Key: Contents?.[0]?.Key }));
    expect(head).toMatchObject({ ContentType: 'text/plain', ContentLength: 2 });
    expect(await store.head({ conversationId: 'run-1' }, meta.ref)).toBeNull();
  });

  test('keeps nothing of an artifact that was deleted, large ones with a digest included', async () => {
    const prefix = `deleted-${newArtifactRef()}/`;
    const store = storeAt(server.endpoint, { prefix });
    const { meta } = await store.putStream(scope, { ...PLAIN, digest: 'sha-256' }, megabytes(12));
    await store.delete(scope, meta.ref);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: prefix }));
    expect(Contents ?? []).toEqual([]);
  });

  test('may hold objects of others: they are no artifacts', async () => {
    const prefix = `foreign-${newArtifactRef()}/`;
    const store = storeAt(server.endpoint, { prefix });
    const ref = newArtifactRef();
    const Key = `${prefix}artifacts/t/p/c-run-1/${ref}`;
    const foreign: Record<string, string>[] = [{}, { 'muster-artifact': 'bm90IGpzb24' }, { 'muster-artifact': 'e30' }];
    for (const Metadata of foreign) {
      await client.send(new PutObjectCommand({ Bucket: server.bucket, Key, Body: 'x', Metadata }));
      expect(await store.get({ conversationId: 'run-1' }, ref)).toBeNull();
      expect(await store.list({ conversationId: 'run-1' })).toEqual({ artifacts: [] });
    }
  });

  test('that is missing is unavailable at the check and at a put', async () => {
    const store = storeAt(server.endpoint, { bucket: 'no-such-bucket' });
    expect(await failureOf(store.checkAvailable())).toMatchObject({ code: 'artifact_store_unavailable' });
    const error = await failureOf(store.put(scope, { ...PLAIN, data: 'x' }));
    expect(error).toMatchObject({ code: 'artifact_store_unavailable', reason: 'NoSuchBucket, HTTP 404' });
  });

  test('takes the largest description that the port allows', async () => {
    const store = storeAt(server.endpoint);
    const parentRefs = [(await store.put(scope, { ...PLAIN, data: 'parent' })).meta.ref];
    const fixed = { ...PLAIN, parentRefs, origin: { runId: 'r', toolCallId: 'c' } };
    const label = 'x'.repeat(1_100 - JSON.stringify({ ...fixed, label: '' }).length);
    const put = { ...fixed, label, expiresAt: Number.MAX_SAFE_INTEGER, digest: 'sha-256' as const };
    const { meta } = await store.put(scope, { ...put, data: 'x' });
    expect(await store.head(scope, meta.ref)).toEqual(meta);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: server.bucket }));
    const Key = Contents?.find((object) => object.Key?.endsWith(meta.ref))?.Key;
    const { Metadata = {} } = await client.send(new HeadObjectCommand({ Bucket: server.bucket, Key }));
    // The limit that S3 sets for the names and values of user metadata together.
    expect(Object.entries(Metadata).flat().join('').length).toBeLessThanOrEqual(2_048);
    const longer = store.put(scope, { ...put, label: `${label}x`, data: 'x' });
    await expect(longer).rejects.toMatchObject({ code: 'artifact_invalid' });
  });
});

test('an option that cannot be is refused by name, and never with a credential', () => {
  const good = { bucket: 'b', endpoint: 'http://127.0.0.1:1' };
  const wrong: [Partial<S3ArtifactsOptions>, string][] = [
    [{ bucket: '' }, 'bucket must be a non-empty string'],
    [{ endpoint: 'not a url' }, 'endpoint must be an http or https URL'],
    [{ endpoint: 'ftp://host' }, 'endpoint must be an http or https URL'],
    [{ endpoint: `http://key:${SECRET}@host` }, 'endpoint must not carry credentials'],
    [{ partBytes: MIB }, `partBytes must be a whole number >= ${PART}, but is ${MIB}`],
    [{ maxAttempts: 0 }, 'maxAttempts must be a whole number >= 1, but is 0'],
    [{ requestTimeoutMs: 1.5 }, 'requestTimeoutMs must be a whole number >= 1, but is 1.5'],
    [{ maxBytes: -1 }, 'maxBytes must be a whole number >= 1, but is -1'],
  ];
  for (const [options, message] of wrong)
    expect(() => s3Artifacts({ ...good, ...options })).toThrow(new TypeError(message));
});
