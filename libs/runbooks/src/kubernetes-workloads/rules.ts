/**
 * The rules, as data: each compares signals with thresholds, so that the evidence names key, operator, threshold and value.
 *
 * Invariants:
 * - the first rule that matches decides, in the order problems that are certain, then doubts, then what is fine;
 * - `healthy` is given by a rule that saw the pod run and be ready. What no rule can place is declined, never healthy;
 * - a rule stands in the lives it can meet (see {@link Life}); the others are left out of a subject's evidence.
 */
import type { DecideRule, DefaultBranch } from 'footprintjs';
import { durationText } from '../inputs/time-fact.ts';
import {
  CONFIG_REASONS,
  EVICTION_REASONS,
  HARMLESS_WAITS,
  IMAGE_REASONS,
  REFUSAL_REASONS,
  SHUTDOWN_REASONS,
  START_REASONS,
} from './container-reasons.ts';
import { KNOWN_PHASES, type Life, NONE, UNKNOWN_SECONDS } from './pod-signals.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

export const OTHERWISE: DefaultBranch & { readonly branch: Verdict; readonly label: string } = {
  branch: 'declined',
  label: 'no rule could place it, so no classification',
};

export type Rule = DecideRule<Record<string, unknown>> & { readonly then: Verdict; readonly label: string };

type Lives = readonly Life[];
type Entry = readonly [lives: Lives, rule: Rule];

const rule = (lives: Lives, when: Rule['when'], then: Verdict, label: string): Entry => [lives, { when, then, label }];

/** A rule set: all rules in order, and each life's own. */
export interface RuleSet {
  readonly list: readonly Rule[];
  readonly byLife: Readonly<Record<Life, Rule[]>>;
}

/** Builds the rules for one run's thresholds. */
export function buildRules(thresholds: Thresholds): RuleSet {
  const entries = [
    ...unplacedRules(),
    ...leavingRules(thresholds),
    ...endedRules(),
    ...heldRules(thresholds),
    ...livingRules(thresholds),
  ];
  const of = (life: Life) => entries.filter(([lives]) => lives.includes(life)).map(([, entry]) => entry);
  return {
    list: entries.map(([, entry]) => entry),
    byLife: {
      unread: of('unread'),
      unplaced: of('unplaced'),
      leaving: of('leaving'),
      ended: of('ended'),
      held: of('held'),
      steady: of('steady'),
    },
  };
}

export const DEFAULT_RULES: RuleSet = buildRules(DEFAULT_THRESHOLDS);

/** Stands before whatever is fine: what cannot be read is not called fine. */
function doubtRule(lives: Lives): Entry {
  return rule(lives, { doubt: { ne: NONE } }, 'declined', 'a value that the verdict needs cannot be read');
}

function unplacedRules(): Entry[] {
  const unplaced: Lives = ['unplaced'];
  return [
    rule(['unread'], { input_problem: { ne: NONE } }, 'declined', 'the input, or this item of it, cannot be read'),
    rule(
      unplaced,
      { status_given: { eq: false } },
      'declined',
      'the pod has no status: absent is neither healthy nor failed',
    ),
    rule(unplaced, { pod_reason: { eq: 'NodeLost' } }, 'node_lost', 'its node does not answer'),
    rule(unplaced, { phase: { eq: 'Unknown' } }, 'node_lost', 'its node does not answer, and its phase is unknown'),
    rule(unplaced, { phase: { notIn: [...KNOWN_PHASES] } }, 'declined', 'its phase is none that Kubernetes has'),
  ];
}

function leavingRules({ deletion_overdue_seconds }: Thresholds): Entry[] {
  const leaving: Lives = ['leaving'];
  const limit = durationText(deletion_overdue_seconds);
  return [
    rule(
      leaving,
      { deletion_overdue_seconds: { gt: deletion_overdue_seconds } },
      'stuck_terminating',
      `still there ${limit} after its deletion was due`,
    ),
    rule(
      leaving,
      { deletion_overdue_seconds: { eq: UNKNOWN_SECONDS } },
      'declined',
      'it is being deleted, since when cannot be told',
    ),
    doubtRule(leaving),
    rule(
      leaving,
      { deletion_overdue_seconds: { gte: 0 } },
      'terminating',
      `being deleted, and not overdue by ${limit}`,
    ),
  ];
}

function endedRules(): Entry[] {
  const ended: Lives = ['ended'];
  return [
    rule(ended, { pod_reason: { in: [...EVICTION_REASONS] } }, 'evicted', 'it was evicted'),
    rule(
      ended,
      { pod_reason: { in: [...SHUTDOWN_REASONS] } },
      'node_shutdown',
      'it ended because its node was shut down',
    ),
    rule(ended, { pod_reason: { in: [...REFUSAL_REASONS] } }, 'rejected', 'its node refused to run it'),
    rule(ended, { pod_reason: { eq: 'DeadlineExceeded' } }, 'deadline_exceeded', 'it ran past its deadline'),
    rule(ended, { disruption: { ne: NONE } }, 'evicted', 'it was ended by a disruption, not by itself'),
    rule(ended, { stopped_reason: { eq: 'OOMKilled' } }, 'out_of_memory', 'a container was killed for its memory'),
    rule(ended, { stopped_reason: { in: [...START_REASONS] } }, 'start_error', 'a container could not be started'),
    rule(ended, { stopped_role: { eq: 'init' }, exit_code: { ne: 0 } }, 'init_failed', 'an init container failed'),
    rule(ended, { phase: { eq: 'Failed' } }, 'failed', 'it failed'),
    rule(
      ended,
      { phase: { eq: 'Succeeded' }, restart_policy: { eq: 'Always' } },
      'stopped',
      'it was to run always, yet it has ended',
    ),
    doubtRule(ended),
    rule(ended, { phase: { eq: 'Succeeded' } }, 'completed', 'it has done its work'),
  ];
}

function heldRules({ retry_limit, pending_seconds }: Thresholds): Entry[] {
  const held: Lives = ['held'];
  const looping = { waiting_reason: { eq: 'CrashLoopBackOff' } };
  const pending = { phase: { eq: 'Pending' }, pending_seconds: { gt: pending_seconds } };
  const limit = durationText(pending_seconds);
  const within = { gte: 0, lte: retry_limit };
  return [
    rule(held, { stopped_reason: { eq: 'OOMKilled' } }, 'out_of_memory', 'a container was killed for its memory'),
    rule(held, { stopped_reason: { in: [...START_REASONS] } }, 'start_error', 'a container could not be started'),
    rule(held, { waiting_reason: { in: [...IMAGE_REASONS] } }, 'image_pull', 'an image cannot be had'),
    rule(
      held,
      { waiting_reason: { in: [...CONFIG_REASONS] } },
      'bad_config',
      'a container cannot be made as it is configured',
    ),
    rule(held, { waiting_reason: { in: [...START_REASONS] } }, 'start_error', 'a container could not be started'),
    rule(
      held,
      { ...looping, waiting_last_end: { eq: 'OOMKilled' } },
      'out_of_memory',
      'a container is killed for its memory again and again',
    ),
    rule(
      held,
      { ...looping, waiting_role: { eq: 'init' } },
      'init_failed',
      'an init container crashes again and again',
    ),
    rule(held, { stopped_role: { eq: 'init' }, exit_code: { ne: 0 } }, 'init_failed', 'an init container failed'),
    rule(
      held,
      { ...looping, waiting_policy: { eq: 'OnFailure' }, waiting_restarts: within, doubt: { eq: NONE } },
      'retrying',
      `it may fail and is tried again, up to ${retry_limit} times`,
    ),
    rule(held, looping, 'crash_loop', 'a container crashes again and again'),
    rule(
      held,
      { waiting_reason: { notIn: [NONE, ...HARMLESS_WAITS] } },
      'waiting',
      'a container waits for a reason that these rules do not know',
    ),
    rule(
      held,
      { exit_code: { ne: 0 }, stopped_policy: { eq: 'OnFailure' }, stopped_restarts: within, doubt: { eq: NONE } },
      'retrying',
      `it may fail and is tried again, up to ${retry_limit} times`,
    ),
    rule(held, { exit_code: { ne: 0 } }, 'failed', 'a container has ended in an error'),
    rule(held, { scheduling: { in: ['Unschedulable', 'SchedulerError'] } }, 'unschedulable', 'no node can take it'),
    rule(held, { ...pending, gated: { eq: true } }, 'gated', `a scheduling gate has held it for more than ${limit}`),
    rule(held, { ...pending, creating: { eq: true } }, 'stuck_creating', `its containers are not made after ${limit}`),
    rule(held, pending, 'stuck_pending', `still pending after ${limit}`),
  ];
}

function livingRules({ memory_recent_seconds, crash_recent_seconds, not_ready_seconds }: Thresholds): Entry[] {
  const steady: Lives = ['steady', 'held'];
  const memory = durationText(memory_recent_seconds);
  const crash = durationText(crash_recent_seconds);
  const limit = durationText(not_ready_seconds);
  return [
    rule(steady, { ready: { eq: 'lost' } }, 'node_lost', 'whether it is ready is unknown: its node does not answer'),
    rule(
      steady,
      { memory_seconds_ago: { gte: 0, lte: memory_recent_seconds } },
      'out_of_memory',
      `a container was killed for its memory within ${memory}`,
    ),
    rule(
      steady,
      { crash_seconds_ago: { gte: 0, lte: crash_recent_seconds } },
      'crashed',
      `a container ended in an error within ${crash}, and runs again`,
    ),
    rule(
      steady,
      { phase: { eq: 'Running' }, not_ready_seconds: { gt: not_ready_seconds } },
      'not_ready',
      `not ready for more than ${limit}`,
    ),
    doubtRule(steady),
    rule(steady, { silent_container: { ne: NONE } }, 'declined', 'the state of a container is not given'),
    rule(
      ['held'],
      { phase: { eq: 'Pending' }, pending_seconds: { eq: UNKNOWN_SECONDS } },
      'declined',
      'it is pending, and its age cannot be told',
    ),
    rule(['held'], { phase: { eq: 'Pending' } }, 'starting', 'pending, and young enough for it'),
    rule(
      steady,
      { ready: { eq: 'no' }, not_ready_seconds: { eq: UNKNOWN_SECONDS } },
      'declined',
      'it is not ready, since when cannot be told',
    ),
    rule(steady, { ready: { eq: 'no' } }, 'starting', `not ready yet, for less than ${limit}`),
    rule(steady, { phase: { eq: 'Running' }, ready: { eq: 'yes' } }, 'healthy', 'it runs and is ready'),
  ];
}
