/**
 * The seed's worked example, running on this package: one inner tool, one bounded fan-out, one decider for each subject.
 * `node libs/envelope/examples/backup-triage.ts` prints its envelope.
 */
import {
  type ArtifactSink,
  coverage,
  createCatalog,
  defineTool,
  dispatchTools,
  type RunbookAsToolOptions,
  type RunbookEnvelope,
  runbookAsTool,
} from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';

export interface Subject {
  readonly name: string;
  readonly lastBackupDays: number | null;
}

// Filter rules, so that the evidence names key, operator, threshold and value; a function rule leaves only what it read.
const STALE_AFTER_DAYS = 7;
const POSTURE_RULES: DecideRule<Record<string, unknown>>[] = [
  {
    when: { age_known: { eq: false } },
    then: 'declined',
    label: 'the age signal is unreadable — no classification',
  },
  {
    when: { age_days: { gt: STALE_AFTER_DAYS } },
    then: 'unprotected',
    label: `last backup older than the ${STALE_AFTER_DAYS}-day threshold`,
  },
];

// No rule leads to the default branch, so no rule's label can explain it: it brings its own.
const POSTURE_DEFAULT = {
  branch: 'protected',
  label: `no rule fired — last backup within the ${STALE_AFTER_DAYS}-day threshold`,
};

const SUBJECTS: readonly Subject[] = [
  { name: 'cluster-a', lastBackupDays: 2 },
  { name: 'cluster-b', lastBackupDays: 30 },
  { name: 'cluster-c', lastBackupDays: null },
];

// The source that the procedure asks. What it covers becomes part of the answer's ledger.
export const inventory = defineTool({
  name: 'backup_inventory',
  description: 'List backup subjects with their last-backup age.',
  execute: () =>
    coverage(
      { rows: SUBJECTS },
      {
        checked: ['the backup inventory, one row per job'],
        cannotCover: [{ what: 'WHY a protection was paused', why: 'no change record is collected here' }],
      },
    ),
});

/** One subject's chart: read the signals, decide, write the row. */
function subjectChart(subject: Subject, index: number) {
  const land = (verdict: string) => (scope: Record<string, unknown>) => {
    scope.row = { subject: subject.name, verdict, age: subject.lastBackupDays };
  };
  return flowChart<Record<string, unknown>>(
    `Read ${subject.name}`,
    (scope) => {
      scope.age_known = subject.lastBackupDays !== null;
      scope.age_days = subject.lastBackupDays ?? -1;
    },
    `subject-${index}`,
  )
    .addDeciderFunction(
      'Protection posture',
      (scope: Record<string, unknown>) => decide(scope, POSTURE_RULES, POSTURE_DEFAULT),
      'posture',
    )
    .addFunctionBranch('declined', 'Declined', land('declined'))
    .addFunctionBranch('unprotected', 'Unprotected', land('unprotected'))
    .addFunctionBranch('protected', 'Protected', land('protected'))
    .end()
    .build();
}

function rowsFrom(results: unknown): unknown[] {
  return (results as ({ readonly row?: unknown } | undefined)[]).map((result) => result?.row).filter(Boolean);
}

export const options: RunbookAsToolOptions = {
  name: 'backup_triage',
  description: 'Assess backup protection posture for every subject.',
  resultKind: 'verdict/backup-posture',
  rules: { name: 'health-signal', version: 'v1' },
  verdicts: { decider: 'Protection posture' },
  composedOf: ['backup_inventory'],
  // Made anew for each call, so that its stages hold that call's tools.
  procedure: (tools) =>
    flowChart<Record<string, unknown>>(
      'backup-protection-triage',
      async (scope) => {
        const inner = (await tools.call('backup_inventory', {})) as { result: { rows: Subject[] } };
        scope.subjects = inner.result.rows;
      },
      'inventory',
    )
      .addParallelForEach<Subject>('Assess each subject', 'per-subject', {
        items: (scope: Record<string, unknown>) => (scope.subjects as Subject[]) ?? [],
        branch: (item, index) => subjectChart(item, index),
        maxBranches: 50,
        into: 'subject_results',
      })
      .addFunction(
        'Collect',
        (scope: Record<string, unknown>) => {
          scope.verdicts = rowsFrom(scope.subject_results);
          scope.report = { stale_after_days: STALE_AFTER_DAYS };
        },
        'collect',
      )
      .build(),
};

export const triage = runbookAsTool(options);

/** Runs the triage as a host would: a catalog that was checked whole, one outer call, its tools and its store. */
export async function runTriage(artifacts?: ArtifactSink): Promise<RunbookEnvelope> {
  const catalog = createCatalog({ runbooks: [], tools: [inventory, triage] });
  const tools = dispatchTools([...catalog.tools.values()], { toolCallId: 'c1' });
  const context = { toolCallId: 'c1', tools, ...(artifacts !== undefined && { artifacts, hasArtifacts: true }) };
  return (await triage.execute({}, context)) as RunbookEnvelope;
}

if (import.meta.main) console.log(JSON.stringify(await runTriage(), null, 2));
