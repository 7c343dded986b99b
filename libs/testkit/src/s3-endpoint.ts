/**
 * A real S3 endpoint for tests that needs nothing but Node: a process of its own on a free loopback port, in memory.
 *
 * Invariant: the process ends with `stop()`, and also when the test's own process dies.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface S3Endpoint {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** It exists already. */
  readonly bucket: string;
  /** Kills the process and waits for its end. Twice is fine. */
  stop(): Promise<void>;
}

const BUCKET = 'muster-test';

/** Runs in the child: an endpoint bound to loopback, which ends when its parent does. */
const SERVER = `
  import { buildApp } from 'fauxqs';
  process.on('disconnect', () => process.exit(0));
  const app = buildApp({ logger: false });
  const endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  const made = await fetch(endpoint + '/${BUCKET}', { method: 'PUT' });
  if (!made.ok) throw new Error('the bucket could not be made: HTTP ' + made.status);
  process.send({ endpoint });
`;

/** Starts an endpoint of the caller's own: it may be killed. For the one that a test run shares, use `testS3`. */
export async function startS3Endpoint(): Promise<S3Endpoint> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SERVER], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  return {
    endpoint: await readEndpoint(child),
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    bucket: BUCKET,
    stop: () => stopChild(child),
  };
}

function readEndpoint(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let complaint = '';
    child.stderr?.on('data', (text) => {
      complaint = (complaint + text).slice(-2_000);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the S3 endpoint ended with ${code}: ${complaint}`)));
    child.once('message', (message) => resolve((message as { endpoint: string }).endpoint));
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
