/** Pods whose own fields decide. */
import type { PodCase } from './container-cases.ts';
import { ago, container, DAY, end, HOUR, MINUTE, ready, running, waits } from './listing.ts';

const pending = (containerStatuses: readonly object[], more: object = {}) => ({
  phase: 'Pending',
  containerStatuses,
  ...more,
});
const unready = (containerStatuses: Parameters<typeof running>[0], since = ago(DAY)) =>
  running(containerStatuses, { conditions: [ready(false, since, 'ContainersNotReady')] });
const young = { creationTimestamp: ago(2 * MINUTE) };
const sidecar = { initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] };
const unscheduled = (reason: string) => ({ conditions: [{ type: 'PodScheduled', status: 'False', reason }] });
const neverJob = { restartPolicy: 'Never' };

/** States that the pod itself tells, and those that cannot be told. */
export const POD_CASES: readonly PodCase[] = [
  ['evicted', 'evicted', 'problem', { status: { phase: 'Failed', reason: 'Evicted' } }],
  [
    'evicted-by-message',
    'evicted',
    'problem',
    { status: { phase: 'Failed', message: 'The node was low on resource: memory.' } },
  ],
  [
    'disrupted',
    'evicted',
    'problem',
    {
      status: {
        phase: 'Succeeded',
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }],
        containerStatuses: [container({ state: end(0, 'Completed') })],
      },
    },
  ],
  [
    'done-then-disrupted',
    'completed',
    'ok',
    { spec: neverJob, status: { phase: 'Succeeded', conditions: [{ type: 'DisruptionTarget', status: 'True' }] } },
  ],
  ['shut-down', 'node_shutdown', 'problem', { status: { phase: 'Failed', reason: 'NodeShutdown' } }],
  ['refused-memory', 'rejected', 'problem', { status: { phase: 'Failed', reason: 'OutOfmemory' } }],
  ['refused-admission', 'rejected', 'problem', { status: { phase: 'Failed', reason: 'UnexpectedAdmissionError' } }],
  [
    'past-deadline',
    'deadline_exceeded',
    'problem',
    { spec: neverJob, status: { phase: 'Failed', reason: 'DeadlineExceeded' } },
  ],
  [
    'failed',
    'failed',
    'problem',
    { spec: neverJob, status: { phase: 'Failed', containerStatuses: [container({ state: end(3, 'Error') })] } },
  ],
  ['failed-silently', 'failed', 'problem', { status: { phase: 'Failed', containerStatuses: null } }],
  [
    'completed',
    'completed',
    'ok',
    { spec: neverJob, status: { phase: 'Succeeded', containerStatuses: [container({ state: end(0, 'Completed') })] } },
  ],
  [
    'phase-over-exit-code',
    'completed',
    'ok',
    {
      spec: neverJob,
      status: {
        phase: 'Succeeded',
        containerStatuses: [
          container({ state: end(0, 'Completed') }),
          container({ name: 'probe', state: end(255, 'Error') }),
        ],
      },
    },
  ],
  [
    'sidecar-killed-at-end',
    'completed',
    'ok',
    {
      spec: { ...sidecar, ...neverJob },
      status: {
        phase: 'Succeeded',
        initContainerStatuses: [container({ name: 'proxy', state: end(137, 'OOMKilled') })],
        containerStatuses: [container({ state: end(0, 'Completed') })],
      },
    },
  ],
  [
    'ended-service',
    'stopped',
    'problem',
    { status: { phase: 'Succeeded', containerStatuses: [container({ state: end(0, 'Completed') })] } },
  ],

  [
    'node-lost',
    'node_lost',
    'problem',
    { metadata: { deletionTimestamp: ago(HOUR) }, status: running([container()], { reason: 'NodeLost' }) },
  ],
  ['phase-unknown', 'node_lost', 'problem', { status: { phase: 'Unknown' } }],
  [
    'ready-unknown',
    'node_lost',
    'problem',
    { status: running([container()], { conditions: [{ type: 'Ready', status: 'Unknown' }] }) },
  ],

  [
    'unschedulable',
    'unschedulable',
    'problem',
    { spec: { nodeName: undefined }, status: { phase: 'Pending', ...unscheduled('Unschedulable') } },
  ],
  [
    'gated',
    'gated',
    'problem',
    {
      spec: { nodeName: undefined, schedulingGates: [{ name: 'quota' }] },
      status: { phase: 'Pending', ...unscheduled('SchedulingGated') },
    },
  ],
  [
    'gated-young',
    'starting',
    'ok',
    {
      metadata: young,
      spec: { nodeName: undefined, schedulingGates: [{ name: 'quota' }] },
      status: { phase: 'Pending' },
    },
  ],
  ['stuck-creating', 'stuck_creating', 'problem', { status: pending([waits('ContainerCreating')]) }],
  ['stuck-pending', 'stuck_pending', 'problem', { status: pending([waits('PodInitializing')]) }],
  ['stuck-without-state', 'stuck_pending', 'problem', { status: { phase: 'Pending' } }],
  ['creating', 'starting', 'ok', { metadata: young, status: pending([waits('ContainerCreating')]) }],
  [
    'zone-offset',
    'starting',
    'ok',
    { metadata: { creationTimestamp: '2026-11-30T13:59:00+02:00' }, status: { phase: 'Pending' } },
  ],
  ['small-skew', 'starting', 'ok', { metadata: { creationTimestamp: ago(-2 * MINUTE) }, status: { phase: 'Pending' } }],

  ['deleting', 'terminating', 'ok', { metadata: { deletionTimestamp: ago(5 * MINUTE) } }],
  ['deleting-with-grace', 'terminating', 'ok', { metadata: { deletionTimestamp: ago(-HOUR) } }],
  [
    'deletion-overdue',
    'stuck_terminating',
    'problem',
    { metadata: { deletionTimestamp: ago(HOUR) }, status: { phase: 'Succeeded' } },
  ],
  ['deletion-undated', 'declined', 'declined', { metadata: { deletionTimestamp: '1970-01-01T00:00:00Z' } }],

  ['not-ready', 'not_ready', 'problem', { status: unready([container({ ready: false })]) }],
  [
    'readiness-gate',
    'not_ready',
    'problem',
    { status: running([container()], { conditions: [ready(false, undefined, 'ReadinessGatesNotReady')] }) },
  ],
  [
    'state-empty',
    'not_ready',
    'problem',
    { status: running([container({ ready: false, state: {} })], { conditions: [] }) },
  ],
  ['not-ready-yet', 'starting', 'ok', { metadata: young, status: unready([container({ ready: false })], ago(MINUTE)) }],
  [
    'state-empty-young',
    'declined',
    'declined',
    { metadata: young, status: running([container({ ready: false, state: {} })], { conditions: [] }) },
  ],

  ['no-status', 'declined', 'declined', { status: undefined }],
  ['null-status', 'declined', 'declined', { status: null }],
  ['empty-status', 'declined', 'declined', { status: {} }],
  ['text-status', 'declined', 'declined', { status: 'Running' }],
  ['no-phase', 'declined', 'declined', { status: { conditions: [ready(true)] } }],
  ['new-phase', 'declined', 'declined', { status: { phase: 'Hibernated' } }],
  ['lower-case-phase', 'declined', 'declined', { status: { phase: 'running' } }],
  ['nothing-but-running', 'declined', 'declined', { status: { phase: 'Running' } }],
  [
    'epoch',
    'declined',
    'declined',
    { metadata: { creationTimestamp: '1970-01-01T00:00:00Z' }, status: { phase: 'Pending' } },
  ],
  ['no-creation', 'declined', 'declined', { metadata: { creationTimestamp: null }, status: { phase: 'Pending' } }],
  ['future', 'declined', 'declined', { metadata: { creationTimestamp: ago(-DAY) }, status: { phase: 'Pending' } }],
  [
    'no-zone',
    'declined',
    'declined',
    { metadata: { creationTimestamp: '2026-11-30T11:00:00' }, status: { phase: 'Pending' } },
  ],
  [
    'no-such-day',
    'declined',
    'declined',
    { metadata: { creationTimestamp: '2026-02-30T11:00:00Z' }, status: { phase: 'Pending' } },
  ],
  [
    'undated-crash',
    'declined',
    'declined',
    {
      status: running([
        container({ state: { running: {} }, lastState: { terminated: { exitCode: 1, finishedAt: null } } }),
      ]),
    },
  ],
  ['restarts-out-of-range', 'declined', 'declined', { status: running([container({ restartCount: 1e20 })]) }],
  ['restarts-not-whole', 'declined', 'declined', { status: running([container({ restartCount: 1.5 })]) }],
  ['restarts-in-quotes', 'healthy', 'ok', { status: running([container({ restartCount: '7' })]) }],
  ['statuses-no-list', 'declined', 'declined', { status: running([], { containerStatuses: { app: {} } }) }],
  ['flag-no-flag', 'declined', 'declined', { status: running([container({ ready: 'perhaps' })]) }],
  [
    'doubt-beside-problem',
    'image_pull',
    'problem',
    { status: pending([waits('ErrImagePull', { restartCount: 1e20 })]) },
  ],
  [
    'container-left-out',
    'declined',
    'declined',
    { spec: { containers: [{ name: 'app' }, { name: 'two' }] }, status: running([container()], { conditions: [] }) },
  ],
  [
    'doubt-beside-success',
    'declined',
    'declined',
    { spec: neverJob, status: { phase: 'Succeeded', containerStatuses: [container({ restartCount: 1e20 })] } },
  ],
  [
    'doubt-beside-deletion',
    'declined',
    'declined',
    { metadata: { deletionTimestamp: ago(60) }, status: running([container({ restartCount: -1 })]) },
  ],
  ['future-yet-ready', 'healthy', 'ok', { metadata: { creationTimestamp: ago(-DAY) } }],
];
