/**
 * A client that is generated from the OpenAPI document, as a stranger would: it is type-checked with a program that was
 * written against it, and that program goes the whole way on a real API and worker.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { testQueueBackends } from '@muster/testkit';
import { generate } from 'orval';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../muster-cluster.ts';

const execute = promisify(execFile);

/** Runs Node; what a failing program printed is in the error. */
async function node(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  try {
    return (await execute(process.execPath, args, env === undefined ? {} : { env })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.at(-1)}: ${stdout}${stderr}`, { cause: error });
  }
}
const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const RUNBOOKS = fileURLToPath(new URL('../agent-runbooks.ts', import.meta.url));

const [queue] = (await testQueueBackends()).filter(({ name }) => name === 'postgres');
let cluster: Cluster;
let folder: string;

beforeAll(async () => {
  cluster = await startCluster(queue!, { MUSTER_RUNBOOKS: RUNBOOKS });
  await cluster.startWorker();
  // Below the tests, so that the generated files find the types of Node where everybody else does.
  folder = await mkdtemp(join(HERE, 'generated-'));
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${cluster.address}/openapi.json`)).text());
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a generated client type-checks with a program of its user, and goes the whole way', async () => {
  await generate(
    {
      input: { target: join(folder, 'openapi.json') },
      output: { target: join(folder, 'client.ts'), client: 'fetch', baseUrl: cluster.address },
    },
    folder,
  );
  const client = await readFile(join(folder, 'client.ts'), 'utf8');
  const { paths } = JSON.parse(await readFile(join(folder, 'openapi.json'), 'utf8'));
  const operations = Object.values<object>(paths).flatMap((path) =>
    Object.values(path).flatMap(({ operationId }: { operationId?: string }) => operationId ?? []),
  );
  expect(operations.length).toBeGreaterThan(20);
  // Each operation has a name of its own and is a function of the client.
  expect(new Set(operations).size).toBe(operations.length);
  for (const operation of operations) expect(client).toContain(`export const ${operation} = async`);

  await copyFile(join(HERE, 'use-client.ts.txt'), join(folder, 'use-client.ts'));
  const settings = {
    extends: '../../../../tsconfig.base.json',
    compilerOptions: { lib: ['es2024', 'dom'], verbatimModuleSyntax: false, noUnusedLocals: false },
    include: ['*.ts'],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  await node([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]);

  const printed = await node([join(folder, 'use-client.ts')], {
    PATH: process.env.PATH,
    MUSTER_API_KEY: cluster.key,
  });
  expect(JSON.parse(printed)).toEqual({
    started_twice_is_one: true,
    ended: 'completed',
    subjects: ['valve-0', 'valve-1'],
    csv_lines: 3,
    problem_rows: 2,
    first_and_last: ['run_started', 'run_completed'],
    asked: 'May the valves be touched?',
    resumed: 'completed',
    cancelled: 'cancelled',
    uploaded: true,
    refused: ['run_not_found', 404],
  });
});
