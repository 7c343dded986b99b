/**
 * Services from containers, by Testcontainers.
 *
 * With `MUSTER_TEST_CONTAINERS=1` they are insisted on and a failure is loud; with `0` they are left out. Otherwise they
 * are used when an engine answers and has the image or gets it quickly: an engine without a network costs a bounded time
 * once, and then the local service takes its place.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ContainerRuntimeClient } from 'testcontainers';

const ENGINE_TIMEOUT_MS = 3_000;
const PULL_TIMEOUT_MS = 15_000;
const START_TIMEOUT_MS = 60_000;
const INSISTENT_PULL_TIMEOUT_MS = 300_000;

/** What to run. */
export interface ContainerPlan {
  /** For messages. */
  readonly name: string;
  readonly image: string;
  /** The port inside; it is published on a free one. */
  readonly port: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  /** The line of its log that says it is ready, and how often it must have come; else its port says it. */
  readonly ready?: { readonly line: RegExp; readonly times: number };
}

/** A running container. */
export interface ContainerService {
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Once a pull has failed, the others of this run would only wait for the same. */
let pullFailed = false;

/**
 * Starts a container, or gives undefined where the local service is to take its place.
 *
 * @throws Error when containers are insisted on and this one cannot be had.
 */
export async function startContainer(
  plan: ContainerPlan,
  env: NodeJS.ProcessEnv,
): Promise<ContainerService | undefined> {
  const insists = env.MUSTER_TEST_CONTAINERS === '1';
  if (env.MUSTER_TEST_CONTAINERS === '0' || (!insists && !engineIsLikely(env))) return undefined;
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
    const client = await within(ENGINE_TIMEOUT_MS, 'the Docker engine', getContainerRuntimeClient());
    await ensureImage(client, plan.image, insists);
    return await run(plan, client);
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0]?.trim();
    if (insists) throw new Error(`${plan.name} must come from a container here, and it does not: ${reason}`);
    console.error(`testkit: no container for ${plan.name} (${reason}); the local one takes its place`);
    return undefined;
  }
}

/** Whether a look is worth while: loading Testcontainers takes a while, and most machines without Docker have none of these. */
function engineIsLikely(env: NodeJS.ProcessEnv): boolean {
  if (env.DOCKER_HOST) return true;
  const sockets = [
    '/var/run/docker.sock',
    join(homedir(), '.docker/run/docker.sock'),
    join(homedir(), '.docker/desktop/docker.sock'),
    join(env.XDG_RUNTIME_DIR ?? '/run/user', 'docker.sock'),
    join(homedir(), '.testcontainers.properties'),
  ];
  return sockets.some((path) => existsSync(path));
}

async function ensureImage(client: ContainerRuntimeClient, image: string, insists: boolean): Promise<void> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  if (await within(ENGINE_TIMEOUT_MS, 'the Docker engine', client.image.exists(name))) return;
  if (pullFailed && !insists) throw new Error(`image ${image} is not here, and another could not be pulled either`);
  const timeoutMs = insists ? INSISTENT_PULL_TIMEOUT_MS : PULL_TIMEOUT_MS;
  try {
    await within(timeoutMs, `pulling image ${image}`, client.image.pull(name));
    if (!(await client.image.exists(name))) throw new Error(`image ${image} cannot be pulled`);
  } catch (error) {
    pullFailed = true;
    throw error;
  }
}

async function run(plan: ContainerPlan, client: ContainerRuntimeClient): Promise<ContainerService> {
  const { GenericContainer, Wait } = await import('testcontainers');
  await chooseReaper(client);
  const said = plan.ready === undefined ? [] : [Wait.forLogMessage(plan.ready.line, plan.ready.times)];
  const container = new GenericContainer(plan.image)
    .withEnvironment({ ...plan.environment })
    .withExposedPorts(plan.port)
    .withWaitStrategy(Wait.forAll([...said, Wait.forListeningPorts()]))
    .withStartupTimeout(START_TIMEOUT_MS);
  if (plan.entrypoint !== undefined) container.withEntrypoint([...plan.entrypoint]);
  if (plan.command !== undefined) container.withCommand([...plan.command]);
  const started = await container.start();
  return {
    host: started.getHost(),
    port: started.getMappedPort(plan.port),
    async stop() {
      await started.stop({ timeout: 0, remove: true, removeVolumes: true });
    },
  };
}

/** Testcontainers' own cleaner is an image too. Where it cannot be had, containers are stopped by this run alone. */
async function chooseReaper(client: ContainerRuntimeClient): Promise<void> {
  if (process.env.TESTCONTAINERS_RYUK_DISABLED !== undefined) return;
  const image = process.env.RYUK_CONTAINER_IMAGE || 'testcontainers/ryuk:0.14.0';
  try {
    await ensureImage(client, image, false);
  } catch {
    process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  }
}

async function within<T>(timeoutMs: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${timeoutMs / 1000} s`)), timeoutMs);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
