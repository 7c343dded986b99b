/**
 * From running to interrupted and back (workflow-tools contract): a chart that asks in the middle, and the answer.
 *
 * Invariants:
 * - the question, its checkpoint, the status and the history change together, under the run's row lock;
 * - an answer is stored once, and its run goes on once: whoever comes second is told that nothing is asked;
 * - every answer, refusal and expiry is in the audit of the same transaction.
 */

import type { ApiRole } from './api-keys.ts';
import type { ArtifactCommit } from './artifacts.ts';
import { commitArtifacts } from './artifacts.ts';
import { appendAudit } from './audit.ts';
import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import {
  clearCheckpoints,
  getOpenInterruption,
  type InterruptionInput,
  type InterruptionRecord,
  openInterruption,
} from './interruptions.ts';
import { appendEvents } from './run-events.ts';
import type { RunRecord, RunScope, RunStatus } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';
import { isStarter } from './run-starter.ts';
import { getRun, lockRun, wakeDispatcher } from './runs.ts';
import { endWaiting } from './stop-run.ts';

/** A chart that asks, as the attempt that holds its run's fence hands it in. */
export interface RunInterruption extends InterruptionInput {
  readonly runId: string;
  readonly fence: number;
  /** Sealed: it holds a chart's state, unredacted. */
  readonly checkpoint: Buffer;
  readonly artifacts?: readonly ArtifactCommit[];
  readonly now?: Date;
}

/**
 * Lets a bounded run wait for an answer. `lost` when the fence has moved on; `stopped` when somebody stopped the run
 * meanwhile, and then the attempt is to end it.
 */
export function interruptRun(db: Queryable, asked: RunInterruption): Promise<'interrupted' | 'lost' | 'stopped'> {
  const now = asked.now ?? new Date();
  return db.transaction(async (tx) => {
    const run = await lockRun(tx, asked.runId);
    if (run?.fence !== asked.fence || run.phase !== 'procedure') return 'lost';
    if (run.stopReason !== null) return 'stopped';
    if (run.status !== 'running') return 'lost';
    await commitArtifacts(tx, { runId: run.id, fence: asked.fence }, asked.artifacts ?? [], now);
    // The question before, if there was one, is answered, and its chart has moved past it.
    await clearCheckpoints(tx, run.id);
    const question = await openInterruption(tx, run, { ...asked, source: 'procedure' }, now);
    await waitForAnswer(tx, run, question, now);
    return 'interrupted';
  });
}

/** Makes a locked run interrupted, with the question as the history's word. */
export async function waitForAnswer(tx: Tx, run: RunRecord, question: InterruptionRecord, now: Date): Promise<void> {
  const { rows } = await tx.query<RunRecord>(
    `update muster.runs set status = 'interrupted', dispatched_at = null, starts = 0, revision = revision + 1,
        updated_at = $2
      where id = $1 returning ${RUN_COLUMNS}`,
    [run.id, now],
  );
  await appendEvents(tx, rows[0]!, [{ kind: 'run_interrupted', message: question.question }], now);
}

/** An answer that was checked against the schema of its question. */
export interface InterruptionAnswer extends RunScope {
  /** The question that it was checked for; another one that is open meanwhile is not answered by it. */
  readonly number?: number | undefined;
  /** Canonical JSON. */
  readonly answer: string;
  /** SHA-256 of it, hex. */
  readonly digest: string;
  /** A fleet that is not to be assessed. */
  readonly refused?: { readonly reason?: string | undefined } | undefined;
  readonly by: { readonly keyId: string; readonly role: ApiRole };
  /** Lets the key that started the run answer, whatever the question says. */
  readonly allowSelf?: boolean | undefined;
  readonly now?: Date | undefined;
}

export type AnswerOutcome =
  | { readonly outcome: 'resumed' | 'refused'; readonly run: RunRecord }
  /** Nothing is asked, or something else by now. */
  | { readonly outcome: 'not_interrupted'; readonly status: RunStatus }
  | { readonly outcome: 'expired' | 'stopping' | 'self' | 'not_found' };

/** Longer answers are in the audit by their digest alone. */
const AUDITED_ANSWER_BYTES = 8 * 1024;
const REASON_BYTES = 400;

/** Stores an answer and lets its run go on, or be ended when the answer is no. The caller has checked the role. */
export function answerInterruption(db: Queryable, given: InterruptionAnswer): Promise<AnswerOutcome> {
  const now = given.now ?? new Date();
  return db.transaction(async (tx) => {
    if ((await getRun(tx, given)) === undefined) return { outcome: 'not_found' };
    const run = (await lockRun(tx, given.runId))!;
    if (run.status !== 'interrupted') return { outcome: 'not_interrupted', status: run.status };
    if (run.stopReason !== null) return { outcome: run.stopReason === 'expired' ? 'expired' : 'stopping' };
    const question = await getOpenInterruption(tx, given);
    if (question === undefined || (given.number !== undefined && given.number !== question.number)) {
      return { outcome: 'not_interrupted', status: run.status };
    }
    if (question.expiresAt <= now) return { outcome: 'expired' };
    const mayBeSelf = question.selfAllowed || given.allowSelf === true;
    if (!mayBeSelf && (await isStarter(tx, run, given.by.keyId))) return { outcome: 'self' };
    await storeAnswer(tx, run, question, given, now);
    if (given.refused !== undefined) {
      const reason = boundedText(given.refused.reason ?? '', REASON_BYTES);
      const why = reason === '' ? 'not approved' : `not approved: ${reason}`;
      return { outcome: 'refused', run: await endWaiting(tx, run, 'refused', why, now) };
    }
    return { outcome: 'resumed', run: await goOn(tx, run, now) };
  });
}

/**
 * Ends the runs whose questions nobody answered in time, at most `limit` of them. Returns their ids. A row that somebody
 * holds at this moment is left for the next call.
 */
export function expireInterruptions(db: Queryable, query: { now: Date; limit: number }): Promise<string[]> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: string }>(
      `select runs.id from muster.interruptions join muster.runs on runs.id = interruptions.run_id
        where interruptions.state = 'open' and interruptions.expires_at <= $1 and runs.status = 'interrupted'
          and runs.stop_reason is null
        order by interruptions.expires_at, runs.id limit $2 for no key update of runs skip locked`,
      [query.now, query.limit],
    );
    const expired: string[] = [];
    for (const { id } of rows) {
      const run = (await lockRun(tx, id))!;
      // Before its row was locked, the run may have been answered and have asked anew.
      const question = await getOpenInterruption(tx, { tenant: run.tenant, runId: id });
      if (question === undefined || question.expiresAt > query.now) continue;
      await endWaiting(tx, run, 'expired', 'nobody answered in time', query.now);
      expired.push(id);
    }
    return expired;
  });
}

async function storeAnswer(
  tx: Tx,
  run: RunRecord,
  question: InterruptionRecord,
  { answer, digest, by, refused }: InterruptionAnswer,
  now: Date,
): Promise<void> {
  await tx.query(
    `update muster.interruptions set state = 'answered', closed_at = $2, answered_by = $3, answer = $4::json,
        answer_digest = $5, checkpoint = case when $6 then null else checkpoint end
      where id = $1`,
    [question.id, now, by.keyId, answer, digest, refused !== undefined],
  );
  const isShort = Buffer.byteLength(answer) <= AUDITED_ANSWER_BYTES;
  await appendAudit(tx, {
    tenant: run.tenant,
    keyId: by.keyId,
    action: refused === undefined ? 'run_resumed' : 'run_refused',
    runId: run.id,
    interruptionId: question.id,
    details: {
      number: question.number,
      question: question.question,
      role: by.role,
      answer_digest: digest,
      ...(isShort && { answer: JSON.parse(answer) as unknown }),
    },
    now,
  });
}

async function goOn(tx: Tx, run: RunRecord, now: Date): Promise<RunRecord> {
  const { rows } = await tx.query<RunRecord>(
    `update muster.runs set status = 'running', dispatched_at = null, starts = 0, revision = revision + 1, updated_at = $2
      where id = $1 returning ${RUN_COLUMNS}`,
    [run.id, now],
  );
  await appendEvents(tx, rows[0]!, [{ kind: 'run_resumed' }], now);
  await wakeDispatcher(tx);
  return rows[0]!;
}
