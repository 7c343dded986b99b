/** The contract, run by all three adapters. S3 is a real endpoint, in a process of its own. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { artifactStoreContract, type MakeHarness } from '@muster/artifacts/contract';
import { testS3 } from '@muster/testkit';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { folderArtifacts, newArtifactRef, ObjectArtifactStore, s3Artifacts } from '../src/index.ts';
import { MemoryObjectStorage } from '../src/memory-artifacts.ts';

const MIB = 1_048_576;

function flip(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 1 : byte));
}

const memoryHarness: MakeHarness = async (options) => {
  const storage = new MemoryObjectStorage();
  return {
    store: new ObjectArtifactStore(storage, options),
    async tamper(ref) {
      for (const [key, object] of storage.objects) {
        if (key.endsWith(ref)) storage.objects.set(key, { ...object, bytes: flip(object.bytes) });
      }
    },
  };
};

describe('memory', () => {
  for (const { name, run } of artifactStoreContract) test(name, () => run(memoryHarness));
});

const folderHarness: MakeHarness = async (options) => {
  const directory = await mkdtemp(join(tmpdir(), 'muster-artifacts-'));
  return {
    store: folderArtifacts({ directory, ...options }),
    async tamper(ref) {
      const names = await readdir(directory, { recursive: true });
      const data = join(directory, names.find((name) => name.endsWith(join(ref, 'data')))!);
      await writeFile(data, flip(await readFile(data)));
    },
    dispose: () => rm(directory, { recursive: true }),
  };
};

describe('folder', () => {
  for (const { name, run } of artifactStoreContract) test(name, () => run(folderHarness));
});

describe('S3', () => {
  let s3: Awaited<ReturnType<typeof testS3>>;
  let client: S3Client;
  /** Shared endpoints are not ours alone. */
  const prefix = `contract-${newArtifactRef()}/`;

  beforeAll(async () => {
    s3 = await testS3();
    client = new S3Client({ ...s3, forcePathStyle: true, requestChecksumCalculation: 'WHEN_REQUIRED' });
  });
  afterAll(() => client?.destroy());

  const harness: MakeHarness = async (options) => ({
    store: s3Artifacts({ ...s3, prefix, partBytes: 5 * MIB, ...options }),
    async tamper(ref) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: prefix }));
      const { Key } = Contents.find((object) => object.Key?.endsWith(`/${ref}`))!;
      const found = await client.send(new GetObjectCommand({ Bucket: s3.bucket, Key }));
      const Body = flip(await found.Body!.transformToByteArray());
      const { ContentType, Metadata } = found;
      await putLarge({ Bucket: s3.bucket, Key, Body, ContentType, Metadata });
    },
  });

  /** Some endpoints take no request of more than one part, so large objects go back in parts. */
  async function putLarge(params: { Bucket: string; Key?: string; Body: Uint8Array; [name: string]: unknown }) {
    if (params.Body.length <= 5 * MIB) return client.send(new PutObjectCommand({ ...params, Key: params.Key! }));
    const { Upload } = await import('@aws-sdk/lib-storage');
    return new Upload({ client, params: { ...params, Key: params.Key! }, partSize: 5 * MIB, queueSize: 1 }).done();
  }

  for (const { name, run } of artifactStoreContract) test(name, () => run(harness));
});
