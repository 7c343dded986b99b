/** Small listings for tests, written as a cluster would, and a run over them in this process. */
import { type AssessedSubject, type FleetRunbook, runFleet } from '@muster/envelope';
import { type InputFile, shippedRunbooks } from '../src/index.ts';

export const NOW = '2026-11-30T12:00:00Z';

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

export interface TestFile {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly target?: string;
  /** Bytes a chunk. */
  readonly chunkSize?: number;
}

export const runbook = shippedRunbooks[0] as FleetRunbook;

/** Runs the runbook over files that an `input_file` tool gives from memory. */
export async function run(files: string | Uint8Array | readonly TestFile[], input: Bag = {}, now = NOW) {
  const list = isFileList(files) ? files : [{ name: 'pods.txt', content: files }];
  const tools = {
    has: () => true,
    call: async (_tool: string, args: unknown): Promise<InputFile> => {
      const file = list[Number((args as { ref: string }).ref)];
      if (file === undefined) throw Object.assign(new Error('no file at /secret/place'), { code: 'ENOENT' });
      return { name: file.name, open: () => chunks(file) };
    },
  };
  const named = list.map(({ name, target }, index) => ({ ref: String(index), name, ...(target && { target }) }));
  const args = { input: runbook.input.parse({ files: named, ...input }), now };
  const { answer, subjects } = await runFleet(runbook, args, { tools, toolCallId: 'call-1', runId: 'run-1' });
  if (answer.kind !== 'envelope') throw new Error(`expected an envelope, got ${answer.kind}`, { cause: answer });
  const body = answer.body as unknown as {
    af_coverage: Record<'checked' | 'not_checked' | 'cannot_cover', { what: string; why?: string }[] | undefined>;
  };
  return { subjects, answer, coverage: body.af_coverage, verdicts: verdictsOf(subjects) };
}

/** Key to verdict word. */
export function verdictsOf(subjects: readonly AssessedSubject[]): Record<string, string | undefined> {
  return Object.fromEntries(subjects.map((subject) => [subject.key, subject.verdict ?? subject.outcome]));
}

export async function* chunks({ content, chunkSize = 4096 }: Pick<TestFile, 'content' | 'chunkSize'>) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
}

function isFileList(files: unknown): files is readonly TestFile[] {
  return Array.isArray(files) && !(files instanceof Uint8Array);
}
