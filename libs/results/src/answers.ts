/** Answers: one a final run, never changed. The body comes back with its keys in the order they were stored in. */

import type { Queryable } from './database.ts';
import type { AnswerKind, RunScope } from './run-record.ts';

export interface AnswerRecord {
  readonly runId: string;
  readonly kind: AnswerKind;
  readonly body: unknown;
  readonly createdAt: Date;
}

/** The answer; undefined when there is none yet, or the run is not visible in this scope. */
export async function getAnswer(db: Queryable, scope: RunScope): Promise<AnswerRecord | undefined> {
  const { rows } = await db.query<AnswerRecord>(
    `select run_id as "runId", kind, body, created_at as "createdAt" from muster.answers
      where run_id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3)`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}
