/**
 * What the rules compare, computed from a pod's facts and the run's `now`.
 *
 * Invariants:
 * - every signal of a life's rules is always there and has one type: rules compare by JavaScript's coercion, and a missing
 *   key is unequal to anything;
 * - `none` is the absence of a word and -1 the absence of a number; no rule matches either by accident;
 * - phase, owner and restart policy come before a container's exit code, and a sidecar is no init container.
 */

import { secondsSince } from '../inputs/time-fact.ts';
import { pickLastEnds } from './last-ends.ts';
import type { ConditionFacts, ContainerFacts, PodFacts } from './pod-facts.ts';
import { pickStopped, pickWaiting } from './stalled-container.ts';
import type { Thresholds } from './thresholds.ts';

/**
 * Which rules a subject can meet at all: `unread` input; `unplaced` (no status, unknown phase, lost node); `leaving`
 * (being deleted); `ended` (Succeeded, Failed); `held` (pending, or a container waits or has failed); `steady`.
 */
export type Life = 'unread' | 'unplaced' | 'leaving' | 'ended' | 'held' | 'steady';

export const NONE = 'none';
export const UNKNOWN_SECONDS = -1;
export const KNOWN_PHASES: readonly string[] = ['Pending', 'Running', 'Succeeded', 'Failed'];

/** Flat, as the chart's state holds them. */
export interface PodSignals {
  readonly life: Life;
  readonly status_given: boolean;
  readonly phase: string;
  readonly pod_reason: string;
  readonly disruption: string;
  readonly restart_policy: string;
  readonly age_seconds: number;
  readonly deletion_overdue_seconds: number;
  readonly pending_seconds: number;
  readonly creating: boolean;
  readonly gated: boolean;
  readonly scheduling: string;
  readonly ready: 'yes' | 'no' | 'lost' | 'unknown';
  readonly not_ready_seconds: number;
  /** The container that waits for the worst reason. */
  readonly waiting_container: string;
  readonly waiting_role: string;
  readonly waiting_reason: string;
  readonly waiting_policy: string;
  readonly waiting_restarts: number;
  readonly waiting_last_end: string;
  /** The container that stands still for the worst reason. */
  readonly stopped_container: string;
  readonly stopped_role: string;
  readonly stopped_reason: string;
  readonly stopped_policy: string;
  readonly stopped_restarts: number;
  readonly exit_code: number;
  /** Of containers that run again. */
  readonly memory_container: string;
  readonly memory_seconds_ago: number;
  readonly crash_container: string;
  readonly crash_seconds_ago: number;
  /** A container of which the pod says nothing. */
  readonly silent_container: string;
  readonly doubt: string;
}

/** Computes a pod's signals. Pure. */
export function readSignals(pod: PodFacts, now: number, thresholds: Thresholds): PodSignals {
  const phase = pod.phase ?? NONE;
  const ready = readReady(pod);
  const stopped = pickStopped(pod, thresholds);
  const waiting = pickWaiting(pod, thresholds);
  const ends = pickLastEnds(pod, now, thresholds);
  const silent = livingContainers(pod).find((container) => isSilent(container));
  const started = firstKnown([pod.created_at, pod.started_at], now);
  return {
    life: lifeOf(pod, waiting !== undefined || stopped !== undefined),
    status_given: pod.status_given,
    phase,
    pod_reason: refinedReason(pod.reason),
    disruption: disruptionOf(pod),
    restart_policy: pod.restart_policy ?? NONE,
    age_seconds: started ?? UNKNOWN_SECONDS,
    deletion_overdue_seconds: overdueSeconds(pod.deletion_at, now),
    pending_seconds: started ?? UNKNOWN_SECONDS,
    creating: pod.containers.some((container) => container.waiting_reason === 'ContainerCreating'),
    gated: condition(pod, 'PodScheduled')?.reason === 'SchedulingGated' || (pod.gated && pod.node === null),
    scheduling: schedulingOf(pod),
    ready,
    not_ready_seconds: ready === 'no' ? notReadySeconds(pod, now) : UNKNOWN_SECONDS,
    waiting_container: waiting?.name ?? NONE,
    waiting_role: waiting?.role ?? NONE,
    waiting_reason: waiting?.waiting_reason ?? NONE,
    waiting_policy: waiting?.restart_policy ?? NONE,
    waiting_restarts: waiting?.restarts ?? UNKNOWN_SECONDS,
    waiting_last_end: waiting?.last_end?.reason ?? NONE,
    stopped_container: stopped?.name ?? NONE,
    stopped_role: stopped?.role ?? NONE,
    stopped_reason: stopped?.end?.reason ?? NONE,
    stopped_policy: stopped?.restart_policy ?? NONE,
    stopped_restarts: stopped?.restarts ?? UNKNOWN_SECONDS,
    exit_code: stopped?.end?.exit_code ?? 0,
    memory_container: ends.memory?.name ?? NONE,
    memory_seconds_ago: ends.memory?.secondsAgo ?? UNKNOWN_SECONDS,
    crash_container: ends.crash?.name ?? NONE,
    crash_seconds_ago: ends.crash?.secondsAgo ?? UNKNOWN_SECONDS,
    silent_container: ready === 'yes' ? NONE : (silent?.name ?? NONE),
    doubt: pod.doubt ?? ends.doubt ?? NONE,
  };
}

/** A pod's condition by its type. */
export function condition(pod: PodFacts, type: string): ConditionFacts | undefined {
  return pod.conditions.find((candidate) => candidate.type === type);
}

function lifeOf(pod: PodFacts, stalled: boolean): Life {
  const phase = pod.phase ?? NONE;
  if (!pod.status_given || !KNOWN_PHASES.includes(phase) || pod.reason === 'NodeLost') return 'unplaced';
  if (pod.deleting) return 'leaving';
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended';
  return phase === 'Pending' || stalled ? 'held' : 'steady';
}

/** Every kubelet names the resource that ran out (`OutOfcpu`, `OutOfexample.com/gpu`): one word stands for all. */
function refinedReason(reason: string | null): string {
  if (reason === null) return NONE;
  return /^OutOf[a-z]/.test(reason) ? 'OutOfResource' : reason;
}

/** A disruption that ended the pod's work: one that came after a job's pod had succeeded took nothing away. */
function disruptionOf(pod: PodFacts): string {
  const disruption = condition(pod, 'DisruptionTarget');
  if (disruption?.status !== 'True') return NONE;
  const done = pod.phase === 'Succeeded' && (pod.restart_policy === 'Never' || pod.restart_policy === 'OnFailure');
  return done ? NONE : (disruption.reason ?? 'DisruptionTarget');
}

function schedulingOf(pod: PodFacts): string {
  const scheduled = condition(pod, 'PodScheduled');
  if (scheduled === undefined) return pod.node === null ? NONE : 'Scheduled';
  return scheduled.status === 'True' ? 'Scheduled' : (scheduled.reason ?? NONE);
}

/** The pod's own condition is heard before the containers' flags. */
function readReady(pod: PodFacts): PodSignals['ready'] {
  const ready = condition(pod, 'Ready');
  if (ready !== undefined) return ready.status === 'True' ? 'yes' : ready.status === 'False' ? 'no' : 'lost';
  const living = livingContainers(pod);
  if (living.some((container) => container.ready === false)) return 'no';
  return living.length > 0 && living.every((container) => container.ready === true) ? 'yes' : 'unknown';
}

function notReadySeconds(pod: PodFacts, now: number): number {
  const running = livingContainers(pod).map((container) => container.running_since);
  const latest = running.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
  const since = firstKnown([condition(pod, 'Ready')?.since ?? null, latest, pod.created_at, pod.started_at], now);
  return since ?? UNKNOWN_SECONDS;
}

function overdueSeconds(deletionAt: number | null, now: number): number {
  if (deletionAt === null) return UNKNOWN_SECONDS;
  // The deletion time lies ahead by the grace period, which may be hours; that is no clock in doubt.
  return Math.max(0, Math.floor((now - deletionAt) / 1000));
}

function firstKnown(times: readonly (number | null)[], now: number): number | undefined {
  for (const at of times) {
    const seconds = secondsSince(at, now);
    if (seconds !== undefined) return seconds;
  }
  return undefined;
}

/** Containers that are to run as long as the pod does. */
export function livingContainers(pod: PodFacts): readonly ContainerFacts[] {
  return pod.containers.filter((container) => container.role !== 'init');
}

function isSilent(container: ContainerFacts): boolean {
  return container.state === 'none' || (container.state === 'waiting' && container.waiting_reason === null);
}
