/**
 * kubernetes_workloads: one verdict for every pod of a listing.
 *
 * It reads what `kubectl get pods -A -o json` prints, and its relatives: YAML, a single pod, several documents, a page of
 * the API, the output of a watch. Containers that were added for debugging are not judged.
 */
import type { InterruptQuestion, PlanCounts, RunbookDeclaration } from '@muster/envelope';
import { instantText, MISSING_GAP, staleGap } from '../inputs/evidence-gap.ts';
import { INPUT_FILE_TOOL } from '../inputs/open-input.ts';
import { durationText } from '../inputs/time-fact.ts';
import { assessWorkload, DECIDER } from './assess-workload.ts';
import { planWorkloads } from './plan-workloads.ts';
import type { PodFacts, WorkloadSubject } from './pod-facts.ts';
import { podIdentity, topOwner } from './pod-owner.ts';
import { DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { STANDINGS } from './verdicts.ts';
import { workloadInput } from './workload-input.ts';
import { subjectKey } from './workload-key.ts';

export const kubernetesWorkloads: RunbookDeclaration<WorkloadSubject> = {
  name: 'kubernetes_workloads',
  version: '1.0.0',
  description:
    'Judges every pod of a listing (kubectl get pods -A -o json or yaml): crash loops, memory, images, scheduling, start and init failures, readiness, evictions, stuck deletions.',
  resultKind: 'verdict/kubernetes-workloads',
  rules: { name: 'workload-state', version: '1.0.0', list: DEFAULT_RULES.list, otherwise: OTHERWISE },
  verdicts: { decider: DECIDER, standings: STANDINGS },
  composedOf: [INPUT_FILE_TOOL],
  input: workloadInput,
  fleet: {
    plan: planWorkloads,
    key: subjectKey,
    identity: (subject) => (subject.kind === 'pod' ? podIdentity(subject) : subjectKey(subject)),
    target: (subject) => (subject.kind === 'missing' ? undefined : subject.target),
    gap: (subject, args) => {
      if (subject.kind === 'missing') return MISSING_GAP;
      return subject.kind === 'pod' ? staleGap(subject.observed_at, args) : undefined;
    },
    assess: assessWorkload,
    row: workloadRow,
    approve: askFirst,
  },
};

/** What is asked before anything is judged, for a run that wants to be asked for. */
export function askFirst(
  { subjects, targets = 0 }: PlanCounts,
  input: Readonly<Record<string, unknown>>,
): InterruptQuestion | undefined {
  if (input.ask_first !== true) return undefined;
  const where = targets === 0 ? '' : ` of ${counted(targets, 'target')}`;
  return {
    question: `Assess ${counted(subjects, 'workload')}${where}?`,
    details: { subjects, ...(targets > 0 && { targets }) },
  };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The columns of a row. Every row has the same ones. */
export function workloadRow(state: Readonly<Record<string, unknown>>, subject: WorkloadSubject) {
  const reason = typeof state.reason === 'string' && { reason: state.reason };
  if (subject.kind === 'missing') return { ...reason, ...NO_POD, target: null };
  if (subject.kind === 'unread') return { ...reason, ...NO_POD, target: subject.target ?? null };
  const age = state.age_seconds;
  return {
    ...reason,
    namespace: subject.namespace,
    pod: subject.name,
    owner: topOwner(subject),
    phase: subject.phase,
    container: typeof state.container === 'string' ? state.container : null,
    restarts: restartsOf(subject),
    age: typeof age === 'number' && age >= 0 ? durationText(age) : null,
    node: subject.node,
    observed_at: instantText(subject.observed_at),
    target: subject.target ?? null,
  };
}

const NO_POD = {
  namespace: null,
  pod: null,
  owner: null,
  phase: null,
  container: null,
  restarts: null,
  age: null,
  node: null,
  observed_at: null,
};

/** All restarts of a pod's containers, init containers and sidecars included; null when none is told. */
function restartsOf(pod: PodFacts): number | null {
  const known = pod.containers.flatMap((container) => container.restarts ?? []);
  return known.length === 0 ? null : known.reduce((sum, restarts) => sum + restarts, 0);
}
