import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { testS3 } from '../src/index.ts';

test('the S3 endpoint of a run keeps what is put into its bucket', async () => {
  const { bucket, ...where } = await testS3();
  const client = new S3Client({ ...where, forcePathStyle: true });
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'testkit/kept', Body: 'still here' }));
  const got = await client.send(new GetObjectCommand({ Bucket: bucket, Key: 'testkit/kept' }));
  expect(await got.Body?.transformToString()).toBe('still here');
  client.destroy();
});
