/** The S3 endpoint of a test run. All share its bucket; an artifact scope of its own keeps each test apart. */
import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startContainer } from './container-service.ts';
import { startS3Endpoint } from './s3-endpoint.ts';
import type { SharedService } from './service-broker.ts';

const DEFAULT_IMAGE = 'versity/versitygw:v1.8.0';
const PORT = 9000;
/** Two servers are known by the program that is in the image: versitygw and MinIO. */
const START = `mkdir -p /data
if command -v minio >/dev/null; then exec minio server --address :${PORT} /data; fi
exec versitygw --quiet posix /data`;
const REGION = 'us-east-1';

/** Where S3 answers, and with what. */
export interface TestS3 {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly bucket: string;
}

interface S3Server extends TestS3 {
  stop(): Promise<void>;
}

/** From the environment, from a container, or the endpoint that runs on Node alone. */
export async function startS3Service(env: NodeJS.ProcessEnv = process.env): Promise<SharedService<TestS3>> {
  const server = givenServer(env) ?? (await containerServer(env)) ?? (await startS3Endpoint());
  const { endpoint, region, credentials, bucket } = server;
  const value: TestS3 = { endpoint, region, credentials, bucket };
  return { lend: async () => ({ value, takeBack: async () => undefined }), stop: () => server.stop() };
}

function givenServer(env: NodeJS.ProcessEnv): S3Server | undefined {
  const endpoint = env.MUSTER_TEST_S3_ENDPOINT;
  if (endpoint === undefined || endpoint === '') return undefined;
  const required = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === '') throw new Error(`MUSTER_TEST_S3_ENDPOINT is set, so ${name} must be too`);
    return value;
  };
  return {
    endpoint,
    region: env.MUSTER_TEST_S3_REGION || REGION,
    credentials: {
      accessKeyId: required('MUSTER_TEST_S3_ACCESS_KEY_ID'),
      secretAccessKey: required('MUSTER_TEST_S3_SECRET_ACCESS_KEY'),
    },
    bucket: required('MUSTER_TEST_S3_BUCKET'),
    stop: async () => undefined,
  };
}

async function containerServer(env: NodeJS.ProcessEnv): Promise<S3Server | undefined> {
  const credentials = { accessKeyId: 'muster-test', secretAccessKey: randomBytes(16).toString('hex') };
  const container = await startContainer(
    {
      name: 'S3',
      image: env.MUSTER_TEST_S3_IMAGE || DEFAULT_IMAGE,
      port: PORT,
      environment: {
        ROOT_ACCESS_KEY: credentials.accessKeyId,
        ROOT_SECRET_KEY: credentials.secretAccessKey,
        VGW_PORT: `:${PORT}`,
        MINIO_ROOT_USER: credentials.accessKeyId,
        MINIO_ROOT_PASSWORD: credentials.secretAccessKey,
      },
      entrypoint: ['/bin/sh', '-ec', START],
    },
    env,
  );
  if (container === undefined) return undefined;
  const endpoint = `http://${container.host}:${container.port}`;
  const bucket = 'muster-test';
  const client = new S3Client({ endpoint, region: REGION, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } catch (error) {
    await container.stop();
    throw error;
  } finally {
    client.destroy();
  }
  return { endpoint, region: REGION, credentials, bucket, stop: container.stop };
}
