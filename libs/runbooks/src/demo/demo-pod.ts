/** One pod of the demo, told by a story, as the API would describe it. */

type Json = Record<string, unknown>;

export interface DemoPod {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly owner?: { readonly kind: string; readonly name: string; readonly hash?: string };
  readonly policy?: string;
  readonly story: keyof typeof STORIES;
}

interface Teller {
  readonly container: string;
  /** The instant this many seconds before now. */
  ago(seconds: number): string;
}

/** The pod as an object of a listing. `index` makes ids and nodes. */
export function describePod(pod: DemoPod, index: number, now: Date): Json {
  const teller: Teller = {
    container: pod.container,
    ago: (seconds) => `${new Date(now.getTime() - seconds * 1000).toISOString().slice(0, 19)}Z`,
  };
  const { age = 6 * DAY, metadata = {}, spec = {}, ...told } = STORIES[pod.story](teller);
  const { owner } = pod;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      creationTimestamp: teller.ago(age + index),
      labels: { app: pod.container, ...(owner?.hash !== undefined && { 'pod-template-hash': owner.hash }) },
      name: pod.name,
      namespace: pod.namespace,
      ...(owner !== undefined && {
        ownerReferences: [
          { apiVersion: API_OF[owner.kind] ?? 'v1', controller: true, kind: owner.kind, name: owner.name },
        ],
      }),
      resourceVersion: String(880_000 + index * 37),
      uid: `5eed0000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      ...metadata,
    },
    spec: {
      containers: [{ name: pod.container, image: `registry.example/${pod.container}:1.4` }],
      nodeName: `${pod.cluster}-node-${(index % 4) + 1}`,
      restartPolicy: pod.policy ?? 'Always',
      ...spec,
    },
    ...told,
  };
}

const DAY = 86_400;
const API_OF: Readonly<Record<string, string>> = {
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  Job: 'batch/v1',
};

interface Story {
  readonly age?: number;
  readonly metadata?: Json;
  readonly spec?: Json;
  readonly status?: Json;
}

function condition(type: string, status: boolean, at: string, reason?: string): Json {
  return { lastTransitionTime: at, status: status ? 'True' : 'False', type, ...(reason !== undefined && { reason }) };
}

/** A pod that was scheduled, with one container in a state. */
function scheduled(phase: string, ready: boolean, since: string, container: Json, reason = 'ContainersNotReady'): Json {
  return {
    phase,
    conditions: [
      condition('PodScheduled', true, since),
      condition('Initialized', true, since),
      condition('Ready', ready, since, ready ? undefined : reason),
    ],
    containerStatuses: [container],
  };
}

function container(name: string, ready: boolean, restartCount: number, state: Json, lastState: Json = {}): Json {
  return { name, ready, restartCount, state, lastState };
}

const running = (startedAt: string): Json => ({ running: { startedAt } });
const waiting = (reason: string): Json => ({ waiting: { reason } });
const ended = (reason: string, exitCode: number, finishedAt: string): Json => ({
  terminated: { reason, exitCode, finishedAt },
});

const STORIES = {
  healthy: ({ container: name, ago }: Teller): Story => ({
    status: scheduled('Running', true, ago(6 * DAY), container(name, true, 0, running(ago(6 * DAY)))),
  }),
  starting: ({ container: name, ago }: Teller): Story => ({
    age: 95,
    status: scheduled('Pending', false, ago(95), container(name, false, 0, waiting('ContainerCreating'))),
  }),
  completed: ({ container: name, ago }: Teller): Story => ({
    age: 14 * 3600,
    status: scheduled(
      'Succeeded',
      false,
      ago(13 * 3600),
      container(name, false, 0, ended('Completed', 0, ago(13 * 3600))),
      'PodCompleted',
    ),
  }),
  failed: ({ container: name, ago }: Teller): Story => ({
    age: 12 * 3600,
    status: scheduled(
      'Failed',
      false,
      ago(11 * 3600),
      container(name, false, 0, ended('Error', 2, ago(11 * 3600))),
      'PodFailed',
    ),
  }),
  crash_loop: ({ container: name, ago }: Teller): Story => ({
    age: 7200,
    status: scheduled(
      'Running',
      false,
      ago(7100),
      container(name, false, 23, waiting('CrashLoopBackOff'), ended('Error', 1, ago(140))),
    ),
  }),
  retrying: ({ container: name, ago }: Teller): Story => ({
    age: 900,
    status: scheduled(
      'Running',
      false,
      ago(880),
      container(name, false, 3, waiting('CrashLoopBackOff'), ended('Error', 75, ago(60))),
    ),
  }),
  crashed: ({ container: name, ago }: Teller): Story => ({
    status: scheduled(
      'Running',
      true,
      ago(1300),
      container(name, true, 1, running(ago(1320)), ended('Error', 139, ago(1330))),
    ),
  }),
  out_of_memory: ({ container: name, ago }: Teller): Story => ({
    status: scheduled(
      'Running',
      true,
      ago(5 * 3600),
      container(name, true, 4, running(ago(5 * 3600)), ended('OOMKilled', 137, ago(5 * 3600 + 8))),
    ),
  }),
  out_of_memory_again: ({ container: name, ago }: Teller): Story => ({
    status: scheduled(
      'Running',
      false,
      ago(3600),
      container(name, false, 11, waiting('CrashLoopBackOff'), ended('OOMKilled', 137, ago(200))),
    ),
  }),
  image_pull: ({ container: name, ago }: Teller): Story => ({
    age: 2400,
    status: scheduled('Pending', false, ago(2400), container(name, false, 0, waiting('ImagePullBackOff'))),
  }),
  bad_config: ({ container: name, ago }: Teller): Story => ({
    age: 5400,
    status: scheduled('Pending', false, ago(5400), container(name, false, 0, waiting('CreateContainerConfigError'))),
  }),
  start_error: ({ container: name, ago }: Teller): Story => ({
    age: 3000,
    status: scheduled(
      'Running',
      false,
      ago(3000),
      container(name, false, 2, waiting('RunContainerError'), ended('StartError', 128, ago(90))),
    ),
  }),
  init_failed: ({ container: name, ago }: Teller): Story => ({
    age: 4200,
    spec: { initContainers: [{ name: 'schema', image: 'registry.example/schema:9' }] },
    status: {
      phase: 'Failed',
      conditions: [
        condition('PodScheduled', true, ago(4200)),
        condition('Initialized', false, ago(4200), 'ContainersNotInitialized'),
      ],
      initContainerStatuses: [container('schema', false, 0, ended('Error', 1, ago(4100)))],
      containerStatuses: [container(name, false, 0, waiting('PodInitializing'))],
    },
  }),
  not_ready: ({ container: name, ago }: Teller): Story => ({
    status: scheduled('Running', false, ago(2 * 3600), container(name, false, 0, running(ago(6 * DAY)))),
  }),
  unschedulable: ({ ago }: Teller): Story => ({
    age: 1900,
    spec: { nodeName: undefined },
    status: { phase: 'Pending', conditions: [condition('PodScheduled', false, ago(1900), 'Unschedulable')] },
  }),
  stuck_pending: ({ container: name, ago }: Teller): Story => ({
    age: 3 * 3600,
    status: scheduled('Pending', false, ago(3 * 3600), container(name, false, 0, waiting('PodInitializing'))),
  }),
  stuck_creating: ({ container: name, ago }: Teller): Story => ({
    age: 2700,
    status: scheduled('Pending', false, ago(2700), container(name, false, 0, waiting('ContainerCreating'))),
  }),
  evicted: ({ ago }: Teller): Story => ({
    age: DAY,
    status: { phase: 'Failed', reason: 'Evicted', startTime: ago(DAY) },
  }),
  node_lost: ({ container: name, ago }: Teller): Story => ({
    status: {
      ...scheduled('Running', false, ago(1500), container(name, true, 0, running(ago(6 * DAY)))),
      reason: 'NodeLost',
    },
  }),
  terminating: ({ container: name, ago }: Teller): Story => ({
    metadata: { deletionTimestamp: ago(20), deletionGracePeriodSeconds: 30 },
    status: scheduled('Running', true, ago(6 * DAY), container(name, true, 0, running(ago(6 * DAY)))),
  }),
  stuck_terminating: ({ container: name, ago }: Teller): Story => ({
    metadata: {
      deletionTimestamp: ago(4 * 3600),
      deletionGracePeriodSeconds: 30,
      finalizers: ['parcels.example/archive'],
    },
    status: scheduled('Running', false, ago(4 * 3600), container(name, false, 0, ended('Completed', 0, ago(4 * 3600)))),
  }),
  waiting: ({ container: name, ago }: Teller): Story => ({
    age: 2 * 3600,
    status: scheduled('Pending', false, ago(2 * 3600), container(name, false, 0, waiting('RuntimeHandlerMissing'))),
  }),
  gated: ({ ago }: Teller): Story => ({
    age: 2 * 3600,
    spec: { nodeName: undefined, schedulingGates: [{ name: 'parcels.example/quota' }] },
    status: { phase: 'Pending', conditions: [condition('PodScheduled', false, ago(2 * 3600), 'SchedulingGated')] },
  }),
  deadline_exceeded: (): Story => ({ age: 8 * 3600, status: { phase: 'Failed', reason: 'DeadlineExceeded' } }),
  node_shutdown: (): Story => ({ age: 2 * DAY, status: { phase: 'Failed', reason: 'NodeShutdown' } }),
  rejected: (): Story => ({ age: 3 * 3600, status: { phase: 'Failed', reason: 'OutOfmemory' } }),
  stopped: ({ container: name, ago }: Teller): Story => ({
    status: scheduled(
      'Succeeded',
      false,
      ago(DAY),
      container(name, false, 0, ended('Completed', 0, ago(DAY))),
      'PodCompleted',
    ),
  }),
  no_status: (): Story => ({ age: 5 * 60 }),
};
