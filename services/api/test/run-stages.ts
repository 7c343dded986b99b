/** Brings accepted runs to their later states, as the worker would. */
import { createHash } from 'node:crypto';
import { newArtifactRef } from '@muster/artifacts';
import { scopeOf } from '@muster/host';
import {
  claimChunk,
  claimRun,
  commitArtifacts,
  finishRun,
  freezeRun,
  getRun,
  heartbeatWorker,
  type InterruptionInput,
  interruptRun,
  type RowSettlement,
  type RunRecord,
  type SubjectSettlement,
  settleChunk,
  stageArtifact,
  startCollect,
  writeChunks,
} from '@muster/results';
import { type Fixture, TENANT } from './fixture.ts';

export const SUBJECTS: readonly SubjectSettlement[] = [
  { outcome: 'verdict', verdict: 'fine', standing: 'ok', reason: 'all is well', columns: { z: 1, a: 2 } },
  {
    outcome: 'verdict',
    verdict: 'broken',
    standing: 'problem',
    reason: 'disk full',
    columns: { z: 3, a: null },
    evidence: [{ key: 'disk', op: 'gt', threshold: 90, actual: 97 }],
  },
  { outcome: 'declined', verdict: 'declined', standing: 'declined', reason: 'no signal' },
  { outcome: 'not_checked', reasonCode: 'cancelled', reason: 'the run was cancelled' },
  { outcome: 'cannot_cover', reasonCode: 'no_access', reason: 'no access' },
  { outcome: 'verdict', verdict: 'fine', standing: 'ok' },
];

/** The run's row. */
export async function rowOf(fixture: Fixture, runId: string, tenant = TENANT): Promise<RunRecord> {
  return (await getRun(fixture.db, { tenant, runId }))!;
}

/** Plans a fleet run and settles its one chunk. */
export async function assess(fixture: Fixture, runId: string, tenant = TENANT): Promise<void> {
  const { db } = fixture;
  const { fence } = (await claimRun(db, { runId, phase: 'plan', dispatchNo: 1 }))!;
  const keys = SUBJECTS.map((_, index) => [`host-${index}`, null, index < 3 ? 'north' : 'south'] as const);
  const items = Buffer.from('encrypted');
  await writeChunks(db, { runId, fence, chunks: [{ firstOrdinal: 0, size: SUBJECTS.length, items, keys }] });
  await freezeRun(db, { runId, fence, total: SUBJECTS.length, planSummary: {} });
  const { rows } = await db.query<{ id: string }>('select id from muster.chunks where run_id = $1', [runId]);
  const chunkId = rows[0]!.id;
  const chunk = (await claimChunk(db, { chunkId, dispatchNo: 1 }))!;
  await settleChunk(db, { chunkId, fence: chunk.fence, subjects: SUBJECTS });
  await startCollect(db, runId);
  await rowOf(fixture, runId, tenant);
}

/** What a chart asks in these tests. */
export const QUESTION = {
  question: 'Left or right?',
  details: { seen: 3 },
  resumeSchema: {
    type: 'object',
    properties: { choice: { type: 'string', enum: ['left', 'right'] }, weight: { type: 'number', maximum: 10 } },
    required: ['choice'],
    additionalProperties: false,
  },
  policy: { role: 'approver', self: false, withinMs: 60 * 60_000 },
} as const satisfies InterruptionInput;

/** Makes a procedure run ask, and a worker that has its definition live. */
export async function interrupt(
  fixture: Fixture,
  runId: string,
  over: Partial<InterruptionInput> & { now?: Date } = {},
): Promise<void> {
  const { fence, run } = (await claimRun(fixture.db, { runId, phase: 'procedure', dispatchNo: 1 }))!;
  await interruptRun(fixture.db, { runId, fence, checkpoint: Buffer.from('sealed state'), ...QUESTION, ...over });
  await offer(fixture, run.definitionDigest);
}

/** Lets a worker live that has the code of a definition. */
export async function offer(fixture: Fixture, digest: string): Promise<void> {
  await heartbeatWorker(fixture.db, { id: `worker of ${digest}`, digests: [digest] });
}

/** Plans a fleet run that asks before it is assessed. */
export async function askForApproval(fixture: Fixture, runId: string): Promise<void> {
  const { fence, run } = (await claimRun(fixture.db, { runId, phase: 'plan', dispatchNo: 1 }))!;
  const keys = [['host-0', null, null] as const];
  const chunks = [{ firstOrdinal: 0, size: 1, items: Buffer.from('encrypted'), keys }];
  await writeChunks(fixture.db, { runId, fence, chunks });
  const approval = {
    question: 'Assess 1 hosts?',
    resumeSchema: {
      type: 'object',
      properties: { approved: { type: 'boolean' }, reason: { type: 'string', maxLength: 512 } },
      required: ['approved'],
      additionalProperties: false,
    },
    policy: QUESTION.policy,
  };
  await freezeRun(fixture.db, { runId, fence, total: 1, planSummary: {}, approval });
  await offer(fixture, run.definitionDigest);
}

/** An answer whose keys stand in no alphabetical order. */
export const ENVELOPE = {
  af_coverage: { checked: [{ what: 'hosts' }], note: 'n', sentence: 's' },
  result: {
    af_provenance: { tool: 'fleet_check' },
    rule_version: '3',
    verdicts: [
      { subject: 'a', verdict: 'fine', reason: 'ok', zeta: 1, alpha: 2 },
      { subject: 'b', verdict: 'declined', standing: 'declined' },
      { subject: 'c', verdict: 'fine', target: 'north' },
    ],
    rows_shown: 3,
    rows_total: 7,
    rows_complete: false,
    walk: { rows: 1 },
  },
};

/** Ends a run with an answer. */
export async function finish(
  fixture: Fixture,
  runId: string,
  answer: { kind: 'envelope' | 'absence' | 'failure'; body: unknown } = { kind: 'envelope', body: ENVELOPE },
  procedureRows: readonly RowSettlement[] = [],
): Promise<void> {
  const { rows } = await fixture.db.query<{ phase: 'collect' | 'procedure' }>(
    'select phase from muster.runs where id = $1',
    [runId],
  );
  const { fence } = (await claimRun(fixture.db, { runId, phase: rows[0]!.phase, dispatchNo: 2 }))!;
  const status = answer.kind === 'failure' ? 'failed' : 'completed';
  const sweep = {
    judgedBy: { name: 'rules', version: '3', digest: null },
    gaps: { left: false, never: [] },
    compose: () => answer.body,
  };
  const statusSummary = `it is ${status}`;
  await finishRun(fixture.db, { runId, fence, status, answer, statusSummary, rows: procedureRows, sweep });
}

/** A committed artifact of a procedure run that is being worked on. */
export async function keepArtifact(
  fixture: Fixture,
  runId: string,
  data: Buffer,
): Promise<{ ref: string; digest: string }> {
  const { fence, run } = (await claimRun(fixture.db, { runId, phase: 'procedure', dispatchNo: 1 }))!;
  const scope = scopeOf(run);
  const ref = newArtifactRef();
  await stageArtifact(fixture.db, {
    ref,
    tenant: run.tenant,
    sessionId: run.sessionId,
    runId,
    fence,
    purpose: 'walk',
    owner: 'tests',
    kind: 'recording/chart-walk',
    mediaType: 'application/x-ndjson',
    storeConversation: scope.conversationId,
  });
  await fixture.artifacts.put(scope, {
    ref,
    kind: 'recording/chart-walk',
    mediaType: 'application/x-ndjson',
    data,
    digest: 'sha-256',
  });
  const digest = `sha-256:${createHash('sha256').update(data).digest('hex')}`;
  await fixture.db.transaction((tx) =>
    commitArtifacts(tx, { runId, fence }, [{ ref, bytes: data.length, digest }], new Date()),
  );
  return { ref, digest };
}
