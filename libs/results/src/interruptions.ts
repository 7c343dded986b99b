/**
 * Questions that a run waits with: their rows, and the life of these.
 *
 * Invariants:
 * - a run has at most one open question, and it has one exactly while it is interrupted and nobody stops it;
 * - a question is closed once, under its run's row lock, and what it asked never changes;
 * - a checkpoint is there until its run has moved past it, and is never given to anybody but the holder of a claim.
 */

import { randomUUID } from 'node:crypto';
import type { ApiRole } from './api-keys.ts';
import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import { UnknownCursorError } from './errors.ts';
import type { RunRecord, RunScope } from './run-record.ts';

export type InterruptionSource = 'procedure' | 'approval';
export type InterruptionState = 'open' | 'answered' | 'expired' | 'dropped';

/** Who may answer, and for how long. */
export interface AnswerPolicy {
  /** Keys of this role and above. */
  readonly role: Exclude<ApiRole, 'reader'>;
  /** Whether the key that started the run may. */
  readonly self: boolean;
  /** From the question on; a run's deadline ends the waiting before. */
  readonly withinMs: number;
}

/** What a run asks. */
export interface InterruptionInput {
  /** One printable line, cut to 512 bytes. */
  readonly question: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** JSON Schema of an answer. */
  readonly resumeSchema: Readonly<Record<string, unknown>>;
  readonly policy: AnswerPolicy;
}

/** A question as it is stored, without its checkpoint. */
export interface InterruptionRecord {
  readonly id: string;
  readonly runId: string;
  readonly tenant: string;
  readonly sessionId: string;
  /** 1 is the first question of the run. */
  readonly number: number;
  readonly source: InterruptionSource;
  readonly question: string;
  readonly details: unknown;
  readonly resumeSchema: unknown;
  readonly definitionDigest: string;
  readonly neededRole: Exclude<ApiRole, 'reader'>;
  readonly selfAllowed: boolean;
  readonly state: InterruptionState;
  readonly openedAt: Date;
  readonly expiresAt: Date;
  readonly closedAt: Date | null;
  readonly answeredBy: string | null;
}

/** Questions, the longest open first; `nextAfter` is there when more follow. */
export interface InterruptionPage {
  readonly interruptions: readonly InterruptionRecord[];
  readonly nextAfter?: string;
}

/** An answered question and where its chart stood. */
export interface AnsweredCheckpoint {
  readonly number: number;
  /** Sealed, as it was handed in. */
  readonly checkpoint: Buffer;
  readonly answer: unknown;
  readonly definitionDigest: string;
}

const QUESTION_BYTES = 512;
const NO_WORDS = 'the run asks for an answer';

const INTERRUPTION_COLUMNS = `id, run_id as "runId", tenant, session_id as "sessionId", number, source, question, details,
  resume_schema as "resumeSchema", definition_digest as "definitionDigest", needed_role as "neededRole",
  self_allowed as "selfAllowed", state, opened_at as "openedAt", expires_at as "expiresAt", closed_at as "closedAt",
  answered_by as "answeredBy"`;

/** Opens a question of a run whose row is locked. */
export async function openInterruption(
  tx: Tx,
  run: RunRecord,
  asked: InterruptionInput & { source: InterruptionSource; checkpoint?: Buffer | undefined },
  now: Date,
): Promise<InterruptionRecord> {
  const { policy } = asked;
  const { rows } = await tx.query<InterruptionRecord>(
    `insert into muster.interruptions (id, run_id, tenant, session_id, number, source, question, details, resume_schema,
        definition_digest, fence, needed_role, self_allowed, checkpoint, state, opened_at, expires_at)
      select $1, $2, $3, $4, coalesce(max(number), 0) + 1, $5, $6, $7::json, $8::json, $9, $10, $11, $12, $13, 'open', $14,
          $15
        from muster.interruptions where run_id = $2
      returning ${INTERRUPTION_COLUMNS}`,
    [
      randomUUID(),
      run.id,
      run.tenant,
      run.sessionId,
      asked.source,
      boundedText(asked.question, QUESTION_BYTES) || NO_WORDS,
      asked.details === undefined ? null : JSON.stringify(asked.details),
      JSON.stringify(asked.resumeSchema),
      run.definitionDigest,
      run.fence,
      policy.role,
      policy.self,
      asked.checkpoint ?? null,
      now,
      endOfWaiting(run, policy, now),
    ],
  );
  return rows[0]!;
}

/** A question shows no later end than the one that its run's deadline makes of it. */
function endOfWaiting({ deadlineAt }: RunRecord, { withinMs }: AnswerPolicy, now: Date): Date {
  const end = new Date(now.getTime() + withinMs);
  return deadlineAt !== null && deadlineAt > now && deadlineAt < end ? deadlineAt : end;
}

/** Closes a run's open question, where there is one, without an answer. The run's row is locked. */
export async function closeInterruption(
  tx: Tx,
  runId: string,
  state: 'expired' | 'dropped',
  now: Date,
): Promise<InterruptionRecord | undefined> {
  const { rows } = await tx.query<InterruptionRecord>(
    `update muster.interruptions set state = $2, closed_at = $3, checkpoint = null
      where run_id = $1 and state = 'open' returning ${INTERRUPTION_COLUMNS}`,
    [runId, state, now],
  );
  return rows[0];
}

/** Drops the checkpoints that a run has moved past. */
export async function clearCheckpoints(tx: Tx, runId: string): Promise<void> {
  await tx.query('update muster.interruptions set checkpoint = null where run_id = $1 and checkpoint is not null', [
    runId,
  ]);
}

/** The open question of a run, when it is visible in this scope. */
export async function getOpenInterruption(db: Queryable, scope: RunScope): Promise<InterruptionRecord | undefined> {
  const { rows } = await db.query<InterruptionRecord>(
    `select ${INTERRUPTION_COLUMNS} from muster.interruptions
      where run_id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3) and state = 'open'`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}

/**
 * The open questions of a tenant, or of one session, the longest open first.
 *
 * @param query `after` is the id of the last one of the page before; it may be closed meanwhile
 * @throws UnknownCursorError
 */
export async function listOpenInterruptions(
  db: Queryable,
  query: { tenant: string; sessionId?: string | undefined; after?: string | undefined; limit: number },
): Promise<InterruptionPage> {
  const { tenant, sessionId = null, after = null } = query;
  if (after !== null && !(await isQuestionOf(db, { tenant, sessionId, id: after })))
    throw new UnknownCursorError(after);
  const { rows } = await db.query<InterruptionRecord>(
    `select ${INTERRUPTION_COLUMNS} from muster.interruptions
      where tenant = $1 and ($2::uuid is null or session_id = $2) and state = 'open'
        and ($3::uuid is null or (opened_at, id) > (
          select seen.opened_at, seen.id from muster.interruptions seen where seen.id = $3))
      order by opened_at, id limit $4`,
    [tenant, sessionId, after, query.limit + 1],
  );
  const interruptions = rows.slice(0, query.limit);
  return rows.length > interruptions.length
    ? { interruptions, nextAfter: interruptions.at(-1)!.id }
    : { interruptions };
}

/**
 * Where a claimed run goes on: its last question, when that was answered and its chart is to go on from there. It stays
 * there until the run has moved past it, because the attempt that reads it may die: what makes it good for one
 * continuation is the fence, which everything that comes of it is conditional on.
 *
 * @returns undefined when the run begins at its beginning, or the fence has moved on
 */
export async function takeCheckpoint(
  db: Queryable,
  claim: { runId: string; fence: number },
): Promise<AnsweredCheckpoint | undefined> {
  const { rows } = await db.query<AnsweredCheckpoint>(
    `select number, checkpoint, answer, interruptions.definition_digest as "definitionDigest"
      from muster.interruptions join muster.runs on runs.id = interruptions.run_id
      where runs.id = $1 and runs.fence = $2 and interruptions.state = 'answered' and checkpoint is not null`,
    [claim.runId, claim.fence],
  );
  return rows[0];
}

async function isQuestionOf(
  db: Queryable,
  { tenant, sessionId, id }: { tenant: string; sessionId: string | null; id: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from muster.interruptions where id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3)',
    [id, tenant, sessionId],
  );
  return rowCount > 0;
}
