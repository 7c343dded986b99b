/** The chart that is measured: three stages and one decider over a small subject, like the fleets it stands for. */
import { type AssessArgs, defineRunbook, type FleetRunbook } from '@muster/envelope';
import { type DecideRule, decide, type FlowChart, flowChart } from 'footprintjs';
import { z } from 'zod';

export interface BenchSubject {
  readonly name: string;
  readonly age_days: number | null;
  readonly size_gb: number;
}

const RULES: DecideRule<Record<string, unknown>>[] = [
  { when: { age_known: { eq: false } }, then: 'declined', label: 'the age cannot be read' },
  { when: { age_days: { gt: 7 } }, then: 'stale', label: 'older than seven days' },
  { when: { size_gb: { gt: 900 } }, then: 'oversized', label: 'larger than 900 GB' },
];
const OTHERWISE = { branch: 'fresh', label: 'no rule matched: young and of a usual size' };

const PAGE = 1000;

/** Subjects of a fleet, from `first` on; the same for the same places. */
export function benchSubjects(count: number, first = 0): BenchSubject[] {
  return Array.from({ length: count }, (_, at) => {
    const index = first + at;
    return {
      name: `node-${index}`,
      age_days: index % 97 === 0 ? null : index % 31,
      size_gb: (index * 37) % 1000,
    };
  });
}

const end = (scope: Record<string, unknown>) => {
  scope.done = true;
};

/** Builds the chart. */
export function benchChart(): FlowChart {
  return flowChart<Record<string, unknown>>(
    'Read signal',
    (scope) => {
      const { subject } = scope.$getArgs<AssessArgs<BenchSubject>>();
      scope.title = subject.name;
      scope.age_known = subject.age_days !== null;
      scope.age_days = subject.age_days;
      scope.size_gb = subject.size_gb;
    },
    'read-signal',
  )
    .addFunction(
      'Weigh',
      (scope) => {
        scope.weight = Number(scope.size_gb) * (scope.age_known ? Number(scope.age_days) + 1 : 1);
      },
      'weigh',
    )
    .addDeciderFunction('Posture', (scope) => decide(scope, RULES, OTHERWISE), 'posture')
    .addFunctionBranch('declined', 'Declined', end)
    .addFunctionBranch('stale', 'Stale', end)
    .addFunctionBranch('oversized', 'Oversized', end)
    .addFunctionBranch('fresh', 'Fresh', end)
    .end()
    .build();
}

/**
 * The same chart as a fleet runbook. Its plan makes the subjects itself, a page at a time, so that neither a source nor a
 * list in the benchmark's own memory is measured.
 */
export const benchRunbook = defineRunbook<BenchSubject>({
  name: 'bench_posture',
  version: '1.0.0',
  description: 'Judges made-up nodes, to measure what a subject costs.',
  resultKind: 'verdict/bench-posture',
  rules: { name: 'bench', version: '1', list: RULES, otherwise: OTHERWISE },
  verdicts: { decider: 'Posture', standings: { stale: 'problem', oversized: 'problem', fresh: 'ok' } },
  input: z.strictObject({ count: z.int().min(1).max(1_000_000) }),
  limits: { maxSubjects: 1_000_000 },
  fleet: {
    plan: (_tools, subjects) =>
      flowChart<Record<string, unknown>>(
        'Make subjects',
        async (scope) => {
          const { count } = scope.$getArgs<{ input: { count: number } }>().input;
          for (let first = 0; first < count; first += PAGE) {
            await subjects.add(benchSubjects(Math.min(PAGE, count - first), first));
          }
        },
        'make-subjects',
      ).build(),
    key: (subject) => subject.name,
    assess: benchChart,
    row: (state) => ({ age_days: state.age_days, size_gb: state.size_gb }),
  },
}) as FleetRunbook;
