/** What this run stands on: containers, and nothing that happened to be on the machine. */
import { testDatabase, testQueueBackends, testS3 } from '@muster/testkit';
import { getContainerRuntimeClient } from 'testcontainers';
import { expect, test } from 'vitest';

/** The image of the running container that is published on the port of `url`. */
async function imageBehind(url: string): Promise<string | undefined> {
  const port = Number(new URL(url).port);
  const { container } = await getContainerRuntimeClient();
  const running = await container.dockerode.listContainers();
  return running.find(({ Ports }) => Ports.some(({ PublicPort }) => PublicPort === port))?.Image;
}

test('PostgreSQL comes from a container of the image that was asked for', async () => {
  const { url } = await testDatabase();
  expect(await imageBehind(url)).toContain(process.env.MUSTER_TEST_POSTGRES_IMAGE || 'postgres');
});

test('Redis comes from a container of the image that was asked for, and the queue suites run on it', async () => {
  const redis = (await testQueueBackends()).find(({ name }) => name === 'redis');
  expect(await imageBehind(redis!.url)).toContain(process.env.MUSTER_TEST_REDIS_IMAGE || 'redis');
});

test('S3 comes from a container of the image that was asked for', async () => {
  const { endpoint } = await testS3();
  expect(await imageBehind(endpoint)).toContain(process.env.MUSTER_TEST_S3_IMAGE || 'versitygw');
});
