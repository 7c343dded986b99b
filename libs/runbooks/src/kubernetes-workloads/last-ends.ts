/**
 * How containers that run again ended the last time, and how long ago.
 *
 * Invariant: an old end is history. One whose time cannot be told is a doubt, not a recent end and not an old one.
 */

import { secondsSince } from '../inputs/time-fact.ts';
import type { ContainerFacts, PodFacts } from './pod-facts.ts';
import { mayRetry } from './stalled-container.ts';
import type { Thresholds } from './thresholds.ts';

export interface LastEnd {
  readonly name: string;
  readonly secondsAgo: number;
}

export interface LastEnds {
  readonly memory?: LastEnd;
  readonly crash?: LastEnd;
  readonly doubt?: string;
}

/** The most recent kill for memory and the most recent error of the containers that live as long as the pod. */
export function pickLastEnds(pod: PodFacts, now: number, thresholds: Thresholds): LastEnds {
  let memory: LastEnd | undefined;
  let crash: LastEnd | undefined;
  let doubt: string | undefined;
  for (const container of pod.containers) {
    const kind = kindOfEnd(container, thresholds);
    if (kind === undefined) continue;
    const secondsAgo = sinceEnd(container, now);
    if (secondsAgo === undefined) {
      doubt ??= `when ${container.name} last ended is not known`;
    } else if (kind === 'memory') {
      memory = newer(memory, { name: container.name, secondsAgo });
    } else {
      crash = newer(crash, { name: container.name, secondsAgo });
    }
  }
  return { ...(memory && { memory }), ...(crash && { crash }), ...(doubt !== undefined && { doubt }) };
}

function kindOfEnd(container: ContainerFacts, thresholds: Thresholds): 'memory' | 'crash' | undefined {
  const end = container.last_end;
  if (end === null || container.role === 'init') return undefined;
  if (end.reason === 'OOMKilled') return 'memory';
  if (end.exit_code === null || end.exit_code === 0 || mayRetry(container, thresholds)) return undefined;
  return 'crash';
}

/** A container that runs again started after it had ended: that bounds an end whose own time is missing. */
function sinceEnd(container: ContainerFacts, now: number): number | undefined {
  return secondsSince(container.last_end?.ended_at ?? null, now) ?? secondsSince(container.running_since, now);
}

function newer(a: LastEnd | undefined, b: LastEnd): LastEnd {
  return a === undefined || b.secondsAgo < a.secondsAgo ? b : a;
}
