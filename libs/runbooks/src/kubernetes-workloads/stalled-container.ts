/** Picks the container that speaks for a pod: the one that stands still, or waits, for the worst reason. */
import { CONFIG_REASONS, HARMLESS_WAITS, IMAGE_REASONS, START_REASONS } from './container-reasons.ts';
import type { ContainerFacts, PodFacts } from './pod-facts.ts';
import type { Thresholds } from './thresholds.ts';

/**
 * The container whose present end matters most: killed for memory, never started, init, then any error. In a pod that has
 * succeeded only a kill for memory matters, for the phase comes before exit codes; and how sidecars end with their pod
 * never does.
 */
export function pickStopped(pod: PodFacts, thresholds: Thresholds): ContainerFacts | undefined {
  const ended = pod.phase === 'Succeeded' || pod.phase === 'Failed';
  const initialising = pod.phase !== 'Running' && pod.phase !== 'Succeeded';
  return worst(pod.containers, (container) => {
    if (container.state !== 'terminated' || container.end === null) return 0;
    if (container.role === 'init' && !initialising) return 0;
    if (container.role === 'sidecar' && ended) return 0;
    const { reason, exit_code } = container.end;
    if (reason === 'OOMKilled') return 5;
    if (pod.phase === 'Succeeded') return 0;
    if (reason !== null && START_REASONS.includes(reason)) return 4;
    if (exit_code === null || exit_code === 0) return 0;
    if (container.role === 'init') return 3;
    return mayRetry(container, thresholds) ? 1 : 2;
  });
}

/** The container that waits for the worst reason; one that waits for nothing bad only when no other does. */
export function pickWaiting(pod: PodFacts, thresholds: Thresholds): ContainerFacts | undefined {
  return worst(pod.containers, (container) => {
    const reason = container.waiting_reason;
    if (container.state !== 'waiting' || reason === null) return 0;
    if (IMAGE_REASONS.includes(reason)) return 8;
    if (CONFIG_REASONS.includes(reason)) return 7;
    if (START_REASONS.includes(reason)) return 6;
    if (reason === 'CrashLoopBackOff') {
      if (container.last_end?.reason === 'OOMKilled') return 5;
      return mayRetry(container, thresholds) ? 2 : 4;
    }
    return HARMLESS_WAITS.includes(reason) ? 1 : 3;
  });
}

/** A container that is restarted on failure only, and has not failed more often than a job lets it. */
export function mayRetry(container: ContainerFacts, thresholds: Thresholds): boolean {
  if (container.role !== 'app' || container.restart_policy !== 'OnFailure') return false;
  return container.restarts !== null && container.restarts <= thresholds.retry_limit;
}

function worst(containers: readonly ContainerFacts[], rank: (container: ContainerFacts) => number) {
  let best: ContainerFacts | undefined;
  let highest = 0;
  for (const container of containers) {
    const rankOf = rank(container);
    if (rankOf > highest) {
      highest = rankOf;
      best = container;
    }
  }
  return best;
}
