/** Pods whose containers decide. */
import { ago, container, DAY, end, HOUR, MINUTE, type PodParts, ready, running, waits } from './listing.ts';

/** A pod's name, the verdict and the standing it must get, and what of it differs from a pod that runs well. */
export type PodCase = readonly [pod: string, verdict: string, standing: string, parts: PodParts];

const pending = (containerStatuses: readonly object[], more: object = {}) => ({
  phase: 'Pending',
  containerStatuses,
  ...more,
});
const unready = (containerStatuses: Parameters<typeof running>[0], since = ago(DAY)) =>
  running(containerStatuses, { conditions: [ready(false, since, 'ContainersNotReady')] });
const young = { creationTimestamp: ago(2 * MINUTE) };
const loop = (lastState: object, parts: object = {}) =>
  waits('CrashLoopBackOff', { restartCount: 9, lastState, ...parts });
const sidecar = { initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] };
const init = { initContainers: [{ name: 'setup' }] };
const neverJob = { restartPolicy: 'Never' };

/** States that a pod's containers tell. */
export const CONTAINER_CASES: readonly PodCase[] = [
  ['runs-and-is-ready', 'healthy', 'ok', {}],
  [
    'old-restarts',
    'healthy',
    'ok',
    { status: running([container({ restartCount: 240, lastState: end(1, 'Error', 3 * DAY) })]) },
  ],
  [
    'old-oom',
    'healthy',
    'ok',
    { status: running([container({ restartCount: 3, lastState: end(137, 'OOMKilled', 5 * DAY) })]) },
  ],
  [
    'clean-restart',
    'healthy',
    'ok',
    { status: running([container({ restartCount: 9, lastState: end(0, 'Completed', MINUTE) })]) },
  ],
  ['condition-over-flag', 'healthy', 'ok', { status: running([container({ ready: false })]) }],
  ['flags-without-condition', 'healthy', 'ok', { status: running([container()], { conditions: [] }) }],
  [
    'native-sidecar-runs',
    'healthy',
    'ok',
    { spec: sidecar, status: running([container()], { initContainerStatuses: [container({ name: 'proxy' })] }) },
  ],
  [
    'debugger-failed',
    'healthy',
    'ok',
    {
      status: running([container()], {
        ephemeralContainerStatuses: [container({ name: 'dbg', state: end(1, 'Error') })],
      }),
    },
  ],
  [
    'old-init-failure',
    'healthy',
    'ok',
    {
      spec: init,
      status: running([container()], {
        initContainerStatuses: [
          container({ name: 'setup', state: end(0, 'Completed', DAY), lastState: end(1, 'Error', MINUTE) }),
        ],
      }),
    },
  ],

  ['crash-loop', 'crash_loop', 'problem', { status: unready([loop(end(1, 'Error'))]) }],
  ['probe-killed-loop', 'crash_loop', 'problem', { status: unready([loop(end(0, 'Completed'))]) }],
  [
    'sidecar-loop',
    'crash_loop',
    'problem',
    {
      spec: sidecar,
      status: running([container()], { initContainerStatuses: [loop(end(1, 'Error'), { name: 'proxy' })] }),
    },
  ],
  ['ready-yet-looping', 'crash_loop', 'problem', { status: running([loop(end(1, 'Error'))]) }],
  [
    'loop-beside-pull',
    'image_pull',
    'problem',
    { status: unready([loop(end(1, 'Error')), waits('ErrImagePull', { name: 'two' })]) },
  ],
  [
    'on-failure-few',
    'retrying',
    'ok',
    { spec: { restartPolicy: 'OnFailure' }, status: unready([loop(end(1, 'Error'), { restartCount: 4 })]) },
  ],
  [
    'on-failure-many',
    'crash_loop',
    'problem',
    { spec: { restartPolicy: 'OnFailure' }, status: unready([loop(end(1, 'Error'), { restartCount: 7 })]) },
  ],
  [
    'on-failure-uncounted',
    'crash_loop',
    'problem',
    { spec: { restartPolicy: 'OnFailure' }, status: unready([loop(end(1, 'Error'), { restartCount: 'many' })]) },
  ],
  [
    'on-failure-between',
    'retrying',
    'ok',
    {
      spec: { restartPolicy: 'OnFailure' },
      status: unready([container({ ready: false, restartCount: 1, state: end(1, 'Error') })]),
    },
  ],
  ['oom-loop', 'out_of_memory', 'problem', { status: unready([loop(end(137, 'OOMKilled'))]) }],
  [
    'oom-now',
    'out_of_memory',
    'problem',
    { status: unready([container({ ready: false, state: end(137, 'OOMKilled') })]) },
  ],
  [
    'oom-hours-ago',
    'out_of_memory',
    'problem',
    { status: running([container({ lastState: end(137, 'OOMKilled', 2 * HOUR) })]) },
  ],
  [
    'oom-yet-succeeded',
    'out_of_memory',
    'problem',
    { status: { phase: 'Succeeded', containerStatuses: [container({ state: end(0, 'OOMKilled') })] } },
  ],
  [
    'crashed-just-now',
    'crashed',
    'problem',
    {
      status: running([
        container(),
        container({ name: 'two', restartCount: 1, lastState: end(1, 'Error', 5 * MINUTE) }),
      ]),
    },
  ],
  [
    'killed-by-signal',
    'crashed',
    'problem',
    { status: running([container({ restartCount: 1, lastState: end(143, 'Error', 5 * MINUTE) })]) },
  ],
  [
    'between-restarts',
    'failed',
    'problem',
    { status: unready([container({ ready: false, restartCount: 2, state: end(1, 'Error') })]) },
  ],
  [
    'zero-time-end',
    'failed',
    'problem',
    {
      status: running(
        [
          container({
            ready: false,
            state: { terminated: { exitCode: 1, reason: 'Error', finishedAt: '0001-01-01T00:00:00Z' } },
          }),
        ],
        { conditions: [] },
      ),
    },
  ],

  ['pull-back-off', 'image_pull', 'problem', { status: pending([waits('ImagePullBackOff')]), metadata: young }],
  ['never-pull', 'image_pull', 'problem', { status: pending([waits('ErrImageNeverPull')]) }],
  ['bad-image-name', 'image_pull', 'problem', { status: pending([waits('InvalidImageName')]) }],
  [
    'pull-in-init',
    'image_pull',
    'problem',
    {
      spec: init,
      status: pending([waits('PodInitializing')], {
        initContainerStatuses: [waits('ErrImagePull', { name: 'setup' })],
      }),
    },
  ],
  ['config-error', 'bad_config', 'problem', { status: pending([waits('CreateContainerConfigError')]) }],
  ['create-error', 'bad_config', 'problem', { status: pending([waits('CreateContainerError')]) }],
  ['run-error', 'start_error', 'problem', { status: pending([waits('RunContainerError')]) }],
  ['hook-error', 'start_error', 'problem', { status: unready([waits('PostStartHookError')]) }],
  [
    'never-started',
    'start_error',
    'problem',
    { spec: neverJob, status: { phase: 'Failed', containerStatuses: [container({ state: end(128, 'StartError') })] } },
  ],
  ['new-reason', 'waiting', 'problem', { status: pending([waits('SomethingOfTomorrow')]), metadata: young }],
  ['odd-reason', 'waiting', 'problem', { status: pending([waits('not a word')]), metadata: young }],

  [
    'init-failed',
    'init_failed',
    'problem',
    {
      spec: init,
      status: pending([waits('PodInitializing')], {
        initContainerStatuses: [container({ name: 'setup', ready: false, state: end(1, 'Error') })],
      }),
    },
  ],
  [
    'init-loops',
    'init_failed',
    'problem',
    {
      spec: init,
      status: pending([waits('PodInitializing')], {
        initContainerStatuses: [loop(end(1, 'Error'), { name: 'setup' })],
      }),
    },
  ],
  [
    'init-ended-it',
    'init_failed',
    'problem',
    {
      spec: { ...init, ...neverJob },
      status: { phase: 'Failed', initContainerStatuses: [container({ name: 'setup', state: end(1, 'Error') })] },
    },
  ],
];
