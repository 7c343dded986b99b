/** The two ways to look at the stack under test: its API, as a person with a key, and Docker, as its operator. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set; infra/check/containers.sh sets it`);
  return value;
}

/** Asks the API; anything but a success is an error that shows the answer. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${given('MUSTER_TEST_STACK_KEY')}`);
  const answer = await fetch(new URL(path, given('MUSTER_TEST_STACK_URL')), { ...init, headers });
  if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

export async function askJson<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await ask(path, init)).json()) as T;
}

export function postJson<T>(path: string, body: unknown): Promise<T> {
  return askJson<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Output of a Docker command, without its last line break. */
export async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args)).stdout.trim();
}

/** Ids of the running containers of a service of the stack. */
export async function containersOf(service: 'api' | 'worker'): Promise<string[]> {
  const ids = await docker(
    'ps',
    '--quiet',
    '--filter',
    `label=com.docker.compose.project=${given('MUSTER_TEST_STACK_PROJECT')}`,
    '--filter',
    `label=com.docker.compose.service=${service}`,
  );
  return ids.split('\n').filter((id) => id !== '');
}
