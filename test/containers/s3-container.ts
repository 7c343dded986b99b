/**
 * Global setup: an S3 gateway from a container. The testkit finds it by its address.
 *
 * Invariant: the container is gone when the run ends.
 */
import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { GenericContainer, Wait } from 'testcontainers';

const DEFAULT_IMAGE = 'versity/versitygw:v1.8.0';
const PORT = 7070;
const REGION = 'us-east-1';
const BUCKET = 'muster-test';

export default async function setup(): Promise<() => Promise<void>> {
  const credentials = { accessKeyId: 'muster-test', secretAccessKey: randomBytes(16).toString('hex') };
  const container = await new GenericContainer(process.env.MUSTER_TEST_S3_IMAGE || DEFAULT_IMAGE)
    .withEnvironment({
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
      VGW_PORT: `:${PORT}`,
      VGW_HEALTH: '/health',
    })
    // A folder that the image has; what is in it goes with the container.
    .withCommand(['posix', '/tmp'])
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health', PORT))
    .start();
  const stop = async () => {
    await container.stop({ timeout: 0, remove: true, removeVolumes: true });
  };
  const endpoint = `http://${container.getHost()}:${container.getMappedPort(PORT)}`;
  const client = new S3Client({ endpoint, region: REGION, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  } catch (error) {
    await stop();
    throw error;
  } finally {
    client.destroy();
  }
  Object.assign(process.env, {
    MUSTER_TEST_S3_ENDPOINT: endpoint,
    MUSTER_TEST_S3_REGION: REGION,
    MUSTER_TEST_S3_BUCKET: BUCKET,
    MUSTER_TEST_S3_ACCESS_KEY_ID: credentials.accessKeyId,
    MUSTER_TEST_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  return stop;
}
