/** Small listings for tests, written as a cluster would, and a run over them in this process. */
import { NOW, runOver, shipped, type TestFile } from './over-files.ts';

export { chunks, NOW, type TestFile, verdictsOf } from './over-files.ts';

type Bag = Record<string, unknown>;

/** The instant this many seconds before {@link NOW}. */
export function ago(seconds: number): string {
  return new Date(Date.parse(NOW) - seconds * 1000).toISOString();
}

export const MINUTE = 60;
export const HOUR = 3600;
export const DAY = 86_400;

export interface PodParts {
  readonly metadata?: Bag;
  readonly spec?: Bag;
  readonly status?: unknown;
}

/** A pod that is a day old and has run well since, with parts of it replaced. */
export function pod(name: string, parts: PodParts = {}): Bag {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', creationTimestamp: ago(DAY), ...parts.metadata },
    spec: { containers: [{ name: 'app' }], restartPolicy: 'Always', nodeName: 'node-1', ...parts.spec },
    status: 'status' in parts ? parts.status : running([container()]),
  };
}

/** A status of a running pod. */
export function running(containerStatuses: readonly Bag[], more: Bag = {}): Bag {
  return { phase: 'Running', conditions: [ready(true)], containerStatuses, ...more };
}

export function ready(isReady: boolean, since: string | undefined = ago(DAY), reason?: string): Bag {
  return { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: since, reason };
}

export function container(parts: Bag = {}): Bag {
  return {
    name: 'app',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: ago(DAY) } },
    lastState: {},
    ...parts,
  };
}

/** A container that waits. */
export function waits(reason: string, parts: Bag = {}): Bag {
  return container({ ready: false, state: { waiting: { reason } }, ...parts });
}

/** How a container ended. */
export function end(exitCode: number, reason: string, secondsAgo = MINUTE): Bag {
  return { terminated: { exitCode, reason, finishedAt: ago(secondsAgo) } };
}

/** What kubectl prints for several pods. */
export function listing(items: readonly unknown[], more: Bag = {}): string {
  return `${JSON.stringify({ apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' }, ...more }, null, 2)}\n`;
}

export const runbook = shipped('kubernetes_workloads');

/** Runs the runbook over files that an `input_file` tool gives from memory. */
export function run(files: string | Uint8Array | readonly TestFile[], input: Bag = {}, now = NOW) {
  return runOver(runbook, isText(files) ? [{ name: 'pods.txt', content: files }] : files, input, now);
}

function isText(files: string | Uint8Array | readonly TestFile[]): files is string | Uint8Array {
  return typeof files === 'string' || files instanceof Uint8Array;
}
