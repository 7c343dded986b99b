/** Projects a parsed pod onto the fields that are judged. See pod-facts.ts for what is kept and what never is. */
import { asBag, type Bag, Doubts, identifier, isUnset, word } from './checked-values.ts';
import {
  type ConditionFacts,
  type ContainerFacts,
  type ContainerRole,
  type EndFacts,
  JUDGED_CONDITIONS,
  type PodFacts,
  UNRECOGNISED,
} from './pod-facts.ts';

/** How two copies of a pod are told apart and put in order. Not part of the subject. */
export interface PodCopy {
  readonly uid: string | undefined;
  readonly revision: bigint | undefined;
  readonly createdAt: number | null;
}

const MAX_CONTAINERS = 200;
const MAX_INT32 = 2_147_483_647;
const MAX_UINT32 = 4_294_967_295;
const MIN_INT32 = -2_147_483_648;

/** The pod's facts, or undefined when it has no usable name. */
export function projectPod(pod: Bag): PodFacts | undefined {
  const metadata = asBag(pod.metadata);
  const name = identifier(metadata?.name);
  if (metadata === undefined || name === undefined) return undefined;
  const doubts = new Doubts();
  const namespace = isUnset(metadata.namespace) ? 'default' : identifier(metadata.namespace);
  if (namespace === undefined) return undefined;
  const spec = doubts.bag('spec', pod.spec);
  const status = asBag(pod.status);
  if (!isUnset(pod.status) && status === undefined) doubts.add('status is no object');
  const policy = word(spec?.restartPolicy);
  const owner = readOwner(metadata.ownerReferences);
  return {
    kind: 'pod',
    namespace,
    name,
    owner,
    template_hash: templateHash(asBag(metadata.labels), owner),
    node: identifier(spec?.nodeName) ?? null,
    created_at: doubts.time('creationTimestamp', metadata.creationTimestamp),
    started_at: doubts.time('startTime', status?.startTime),
    deletion_at: doubts.time('deletionTimestamp', metadata.deletionTimestamp),
    deleting: !isUnset(metadata.deletionTimestamp) && metadata.deletionTimestamp !== '',
    restart_policy: policy,
    gated: doubts.list('schedulingGates', spec?.schedulingGates).length > 0,
    status_given: status !== undefined && Object.keys(status).length > 0,
    phase: word(status?.phase),
    reason: podReason(status),
    conditions: readConditions(doubts, status?.conditions),
    containers: readContainers(doubts, spec, status, policy),
    doubt: doubts.first,
    clock_doubt: doubts.firstClock,
  };
}

/** What tells copies of one pod apart: the same uid is the same pod, and a greater revision is newer. */
export function readPodCopy(pod: Bag, facts: PodFacts): PodCopy {
  const metadata = asBag(pod.metadata);
  const { uid, resourceVersion } = metadata ?? {};
  return {
    uid: typeof uid === 'string' && uid !== '' && uid.length <= 128 ? uid : undefined,
    revision:
      typeof resourceVersion === 'string' && /^\d{1,30}$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined,
    createdAt: facts.created_at,
  };
}

function readConditions(doubts: Doubts, value: unknown): ConditionFacts[] {
  const found: ConditionFacts[] = [];
  for (const entry of doubts.list('conditions', value)) {
    const condition = asBag(entry);
    const type = condition?.type;
    if (condition === undefined || typeof type !== 'string' || !JUDGED_CONDITIONS.includes(type)) continue;
    const status = typeof condition.status === 'boolean' ? (condition.status ? 'True' : 'False') : condition.status;
    found.push({
      type,
      status: status === 'True' || status === 'False' ? status : 'Unknown',
      reason: word(condition.reason),
      since: doubts.time('lastTransitionTime', condition.lastTransitionTime),
    });
  }
  return found;
}

function readContainers(doubts: Doubts, spec: Bag | undefined, status: Bag | undefined, policy: string | null) {
  const sidecars = new Set<string>();
  const policies = new Map<string, string>();
  const lists = [
    ['init', 'initContainers', 'initContainerStatuses'],
    ['app', 'containers', 'containerStatuses'],
  ] as const;
  const found: ContainerFacts[] = [];
  for (const [role, declared, reported] of lists) {
    const missing = new Set<string>();
    for (const entry of doubts.list(declared, spec?.[declared])) {
      const container = asBag(entry);
      const name = identifier(container?.name);
      if (container === undefined || name === undefined) continue;
      missing.add(name);
      const own = word(container.restartPolicy);
      if (own !== null) policies.set(name, own);
      // Rule: an init container that restarts always is a sidecar, and judged as a container that runs.
      if (role === 'init' && own === 'Always') sidecars.add(name);
    }
    for (const entry of doubts.list(reported, status?.[reported])) {
      const container = asBag(entry);
      if (container === undefined) {
        doubts.add(`an entry of ${reported} is no object`);
        continue;
      }
      const name = identifier(container.name) ?? UNRECOGNISED;
      missing.delete(name);
      const as = role === 'init' && sidecars.has(name) ? 'sidecar' : role;
      if (found.length < MAX_CONTAINERS)
        found.push(readContainer(doubts, container, name, as, policies.get(name) ?? policy));
      else doubts.add(`it has more than ${MAX_CONTAINERS} containers`);
    }
    for (const name of missing) {
      if (role === 'app' && found.length > 0 && found.length < MAX_CONTAINERS && hasRole(found, 'app')) {
        found.push(unreported(name, policies.get(name) ?? policy));
      }
    }
  }
  return found;
}

function hasRole(containers: readonly ContainerFacts[], role: ContainerRole): boolean {
  return containers.some((container) => container.role === role);
}

/** A container that the pod declares and its status leaves out, while others are there. */
function unreported(name: string, policy: string | null): ContainerFacts {
  return {
    name,
    role: 'app',
    restart_policy: policy,
    ready: null,
    restarts: null,
    state: 'none',
    waiting_reason: null,
    running_since: null,
    end: null,
    last_end: null,
  };
}

function readContainer(doubts: Doubts, container: Bag, name: string, role: ContainerRole, policy: string | null) {
  const state = doubts.bag('state', container.state);
  const last = doubts.bag('lastState', container.lastState);
  const waiting = state === undefined ? undefined : doubts.bag('waiting', state.waiting);
  const running = state === undefined ? undefined : doubts.bag('running', state.running);
  const terminated = state === undefined ? undefined : doubts.bag('terminated', state.terminated);
  const facts: ContainerFacts = {
    name,
    role,
    restart_policy: policy,
    ready: doubts.flag('ready', container.ready),
    restarts: doubts.whole('restartCount', container.restartCount, 0, MAX_INT32),
    state: terminated ? 'terminated' : waiting ? 'waiting' : running ? 'running' : 'none',
    waiting_reason: word(waiting?.reason),
    running_since: doubts.time('startedAt', running?.startedAt),
    end: readEnd(doubts, terminated),
    last_end: readEnd(doubts, last === undefined ? undefined : doubts.bag('terminated', last.terminated)),
  };
  return facts;
}

function readEnd(doubts: Doubts, terminated: Bag | undefined): EndFacts | null {
  if (terminated === undefined) return null;
  return {
    reason: word(terminated.reason),
    exit_code: doubts.whole('exitCode', terminated.exitCode, MIN_INT32, MAX_UINT32),
    ended_at: doubts.time('finishedAt', terminated.finishedAt),
  };
}

function readOwner(value: unknown): PodFacts['owner'] {
  if (!Array.isArray(value)) return null;
  const owners = value.map(asBag).filter((owner) => owner !== undefined);
  const owner = owners.find((candidate) => candidate.controller === true) ?? owners[0];
  const kind = word(owner?.kind);
  const name = identifier(owner?.name);
  return kind === null || name === undefined ? null : { kind, name };
}

function templateHash(labels: Bag | undefined, owner: PodFacts['owner']): string | null {
  if (labels === undefined || owner === null) return null;
  for (const label of ['pod-template-hash', 'rollouts-pod-template-hash']) {
    const hash = labels[label];
    if (typeof hash === 'string' && hash !== '' && owner.name.endsWith(`-${hash}`)) return hash;
  }
  return null;
}

/** Some kubelets and older versions leave the reason out and say it in the message alone; the message is not kept. */
function podReason(status: Bag | undefined): string | null {
  const reason = word(status?.reason);
  const message = status?.message;
  if (reason !== null || typeof message !== 'string') return reason;
  const found = MESSAGE_REASONS.find(([pattern]) => pattern.test(message.slice(0, 500)));
  return found === undefined ? null : found[1];
}

const MESSAGE_REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /node was low on resource|node had condition: \[|ephemeral[- ]storage usage exceeds|exceeds the limit of|exceeded its local ephemeral/i,
    'Evicted',
  ],
  [/node shutdown|node is in progress of shutting down/i, 'NodeShutdown'],
  [/preempted (?:in order )?to admit/i, 'Preempting'],
  [/which was running pod .* is unresponsive/i, 'NodeLost'],
];
