/**
 * The subject: what of a pod is judged, in plain JSON, with every value's type checked.
 *
 * Invariants:
 * - nothing else of a pod is kept: no environment, arguments, commands, images, annotations, volumes, and no message of
 *   any sort (messages quote what a program printed); of labels only the hash that tells a deployment's name;
 * - words (phase, reasons) are kept when they have the shape of one, else replaced by {@link UNRECOGNISED};
 * - a value of a wrong type is null and leaves a doubt; it is never guessed or coerced silently.
 */
import type { MissingSubject } from '../inputs/evidence-gap.ts';
import type { UnreadInput } from '../inputs/unread-input.ts';

/** Stands for a word that has no shape of one. */
export const UNRECOGNISED = 'Unrecognised';

export type ContainerRole = 'app' | 'sidecar' | 'init';

/** How a container's run ended. */
export interface EndFacts {
  readonly reason: string | null;
  readonly exit_code: number | null;
  /** Milliseconds since the epoch, as all times here. */
  readonly ended_at: number | null;
}

export interface ContainerFacts {
  readonly name: string;
  readonly role: ContainerRole;
  /** Its own restart policy where it has one, else the pod's. */
  readonly restart_policy: string | null;
  readonly ready: boolean | null;
  readonly restarts: number | null;
  /** `none`: the pod says nothing about it. */
  readonly state: 'waiting' | 'running' | 'terminated' | 'none';
  readonly waiting_reason: string | null;
  readonly running_since: number | null;
  readonly end: EndFacts | null;
  readonly last_end: EndFacts | null;
}

export interface ConditionFacts {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly since: number | null;
}

export interface PodFacts {
  readonly kind: 'pod';
  readonly target?: string;
  /** When the listing was taken, where the run says so: a listing itself does not. */
  readonly observed_at?: number | null;
  readonly namespace: string;
  readonly name: string;
  readonly owner: { readonly kind: string; readonly name: string } | null;
  /** The owner's hash label, when the owner's name ends in it. */
  readonly template_hash: string | null;
  readonly node: string | null;
  readonly created_at: number | null;
  readonly started_at: number | null;
  readonly deletion_at: number | null;
  readonly deleting: boolean;
  readonly restart_policy: string | null;
  readonly gated: boolean;
  readonly status_given: boolean;
  readonly phase: string | null;
  readonly reason: string | null;
  /** Those of {@link JUDGED_CONDITIONS} that are there. */
  readonly conditions: readonly ConditionFacts[];
  readonly containers: readonly ContainerFacts[];
  /** The first value that could not be read, as a clause; null when all could. */
  readonly doubt: string | null;
  /** The first time that is no age, as a clause; null when there is none. */
  readonly clock_doubt: string | null;
}

export type WorkloadSubject = PodFacts | UnreadInput | MissingSubject;

export const JUDGED_CONDITIONS: readonly string[] = ['PodScheduled', 'Initialized', 'Ready', 'DisruptionTarget'];
