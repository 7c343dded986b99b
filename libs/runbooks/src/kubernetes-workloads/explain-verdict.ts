/**
 * A verdict as a sentence for the person on call: which container, why, since when. It is made of signals and facts alone,
 * so it says nothing that was not judged.
 */

import { durationText } from '../inputs/time-fact.ts';
import { EXIT_CODE_WORDS } from './container-reasons.ts';
import type { ContainerFacts, EndFacts, PodFacts } from './pod-facts.ts';
import { condition, NONE, type PodSignals, UNKNOWN_SECONDS } from './pod-signals.ts';
import type { Verdict } from './verdicts.ts';

type Explain = (pod: PodFacts, signals: PodSignals) => string;

/** The sentence, or undefined where the deciding rule's label already says it. */
export function explainVerdict(verdict: Verdict, pod: PodFacts, signals: PodSignals): string | undefined {
  return EXPLAIN[verdict]?.(pod, signals);
}

/** The container that a verdict is about, or null when it is about the pod. */
export function containerOf(verdict: Verdict, signals: PodSignals): string | null {
  const { waiting_container, stopped_container, memory_container, crash_container } = signals;
  const named = (...names: string[]) => names.find((name) => name !== NONE) ?? null;
  switch (verdict) {
    case 'crash_loop':
    case 'image_pull':
    case 'bad_config':
    case 'waiting':
    case 'stuck_creating':
    case 'stuck_pending':
      return named(waiting_container);
    case 'failed':
      return named(stopped_container);
    case 'start_error':
    case 'init_failed':
    case 'retrying':
      return named(stopped_container, waiting_container);
    case 'out_of_memory':
      if (signals.stopped_reason === 'OOMKilled') return stopped_container;
      return signals.waiting_last_end === 'OOMKilled' ? waiting_container : named(memory_container);
    case 'crashed':
      return named(crash_container);
    default:
      return null;
  }
}

const looping: Explain = (pod, signals) =>
  `${signals.waiting_container} crashes again and again: ${lastEndText(pod, signals.waiting_container)}${restartsText(signals.waiting_restarts)}`;

const waiting = (words: string): Explain => {
  return (_, signals) => `${signals.waiting_container} waits: ${signals.waiting_reason} (${words})${agePart(signals)}`;
};

const stopped: Explain = (pod, signals) => {
  if (signals.stopped_container !== NONE) {
    return `${signals.stopped_container} ended: ${endText(find(pod, signals.stopped_container)?.end)}${restartsText(signals.stopped_restarts)}`;
  }
  return `${pod.reason === null ? 'the pod failed, and no container says why' : `the pod failed: ${pod.reason}`}`;
};

const EXPLAIN: Partial<Record<Verdict, Explain>> = {
  crash_loop: looping,
  image_pull: waiting('the image cannot be had'),
  bad_config: waiting('the container cannot be made as it is configured'),
  waiting: waiting('a reason these rules do not know'),
  start_error: (pod, signals) =>
    signals.stopped_container === NONE
      ? waiting('the container could not be started')(pod, signals)
      : stopped(pod, signals),
  failed: stopped,
  retrying: (pod, signals) =>
    signals.waiting_reason === 'CrashLoopBackOff'
      ? `${signals.waiting_container} may fail and is tried again: ${lastEndText(pod, signals.waiting_container)}${restartsText(signals.waiting_restarts)}`
      : `${stopped(pod, signals)}; it may fail and is tried again`,
  init_failed: (pod, signals) =>
    signals.stopped_role === 'init'
      ? `init container ${stopped(pod, signals)}`
      : `init container ${looping(pod, signals)}`,
  out_of_memory: (pod, signals) => {
    const name = containerOf('out_of_memory', signals) ?? 'a container';
    const again = signals.stopped_reason !== 'OOMKilled' && signals.memory_container !== NONE;
    const ago =
      again && signals.waiting_last_end !== 'OOMKilled' ? ` ${durationText(signals.memory_seconds_ago)} ago` : '';
    return `${name} was killed for its memory${ago}${restartsText(find(pod, name)?.restarts ?? UNKNOWN_SECONDS)}`;
  },
  crashed: (pod, signals) =>
    `${signals.crash_container} crashed ${durationText(signals.crash_seconds_ago)} ago and runs again: ${lastEndText(pod, signals.crash_container)}${restartsText(find(pod, signals.crash_container)?.restarts ?? UNKNOWN_SECONDS)}`,
  evicted: (pod, signals) =>
    pod.reason === null && signals.disruption !== NONE
      ? `ended by a disruption: ${signals.disruption}`
      : `evicted from ${pod.node === null ? 'its node' : `node ${pod.node}`}: ${pod.reason ?? signals.disruption}`,
  node_shutdown: (pod) => `ended because ${nodeText(pod)} was shut down: ${pod.reason}`,
  node_lost: (pod) => `${nodeText(pod)} does not answer: whether the pod still runs is not known`,
  rejected: (pod) => `${nodeText(pod)} refused to run it: ${pod.reason}`,
  unschedulable: (_, signals) => `no node can take it: ${signals.scheduling}${agePart(signals)}`,
  gated: (_, signals) => `held back by a scheduling gate${agePart(signals)}`,
  stuck_creating: (_, signals) =>
    `pending for ${durationText(signals.pending_seconds)}: ${signals.waiting_container} is still being created; the cause is in the events, which are not read`,
  stuck_pending: (_, signals) =>
    `pending for ${durationText(signals.pending_seconds)}${signals.waiting_reason === NONE ? '' : `: ${signals.waiting_container} waits, ${signals.waiting_reason}`}`,
  stuck_terminating: (_, signals) =>
    `its deletion was due ${durationText(signals.deletion_overdue_seconds)} ago, and it is still there`,
  terminating: (_, signals) =>
    signals.deletion_overdue_seconds > 0
      ? `being deleted, due since ${durationText(signals.deletion_overdue_seconds)}`
      : 'being deleted, within its grace period',
  not_ready: (pod, signals) => `not ready for ${durationText(signals.not_ready_seconds)}${readyReason(pod)}`,
  starting: (_, signals) =>
    signals.phase === 'Pending'
      ? `pending for ${durationText(signals.pending_seconds)}, within the limit`
      : `not ready for ${durationText(signals.not_ready_seconds)}, within the limit`,
  stopped: (pod) => `it was to run always, yet it has ended${pod.node === null ? '' : ` on node ${pod.node}`}`,
  healthy: (pod, signals) => `it runs and is ready${ageDoubt(pod, signals)}`,
  completed: (pod, signals) => `it has done its work${ageDoubt(pod, signals)}`,
  declined: declinedText,
};

function declinedText(pod: PodFacts, signals: PodSignals): string {
  if (!signals.status_given) return 'the pod has no status: absent is neither healthy nor failed';
  if (signals.life === 'unplaced') {
    return pod.phase === null ? 'the pod has no phase' : `its phase ${pod.phase} is none that Kubernetes has`;
  }
  if (signals.deletion_overdue_seconds === UNKNOWN_SECONDS && signals.life === 'leaving')
    return `it is being deleted, since when cannot be told${clockPart(pod)}`;
  if (signals.phase === 'Pending' && signals.doubt === NONE && signals.silent_container === NONE) {
    return `it is pending, and its age cannot be told${clockPart(pod)}`;
  }
  if (signals.doubt !== NONE) return `a value cannot be read: ${signals.doubt}`;
  if (signals.silent_container !== NONE) return `the state of ${signals.silent_container} is not given`;
  if (signals.ready === 'no') return `it is not ready, since when cannot be told${clockPart(pod)}`;
  if (signals.ready === 'unknown') return 'it is said to run, but not whether it is ready';
  return 'no rule could place it';
}

/** An age that cannot be told is said, also where the verdict does not need it. */
function ageDoubt(pod: PodFacts, signals: PodSignals): string {
  const unsaid = signals.age_seconds !== UNKNOWN_SECONDS || (pod.clock_doubt === null && pod.created_at === null);
  return unsaid ? '' : `; its age cannot be told${clockPart(pod)}`;
}

function clockPart(pod: PodFacts): string {
  if (pod.clock_doubt !== null) return `: ${pod.clock_doubt}`;
  return pod.created_at === null ? ': no time is given' : ': its times lie in the future';
}

function readyReason(pod: PodFacts): string {
  const reason = condition(pod, 'Ready')?.reason;
  return reason === null || reason === undefined ? '' : `: ${reason}`;
}

function nodeText(pod: PodFacts): string {
  return pod.node === null ? 'its node' : `node ${pod.node}`;
}

function agePart(signals: PodSignals): string {
  return signals.age_seconds === UNKNOWN_SECONDS ? '' : `, for ${durationText(signals.age_seconds)}`;
}

function restartsText(restarts: number): string {
  if (restarts <= 0) return '';
  return restarts === 1 ? ', 1 restart' : `, ${restarts} restarts`;
}

function lastEndText(pod: PodFacts, name: string): string {
  return endText(find(pod, name)?.last_end);
}

function endText(end: EndFacts | null | undefined): string {
  if (end === null || end === undefined) return 'how it ended is not given';
  const { reason, exit_code: code } = end;
  if (code === null) return reason ?? 'without an exit code';
  const meaning = EXIT_CODE_WORDS[code];
  const words = meaning === undefined ? reason : reason === null ? meaning : `${reason}, ${meaning}`;
  return `exit code ${code}${words === null ? '' : ` (${words})`}`;
}

function find(pod: PodFacts, name: string): ContainerFacts | undefined {
  return pod.containers.find((container) => container.name === name);
}
