/**
 * Schedules: runs that come by themselves, as rows.
 *
 * Invariants:
 * - who decides a slot, or changes a schedule, holds its row's lock until that is committed;
 * - a paused schedule has no next slot;
 * - its runs live in a session of Muster's own, `schedule:NAME`.
 *
 * When a schedule is due is the caller's to know: timings are opaque here.
 */

import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import type { CanonicalInput } from './inputs.ts';
import type { RunPriority } from './run-record.ts';
import { ensureSession } from './sessions.ts';

export type ScheduleState = 'active' | 'paused';
export type ScheduleSource = 'api' | 'file';
export type ScheduleOverlap = 'skip' | 'queue_one' | 'cancel_previous' | 'allow';

/** A slot, and when it is due. */
export interface DueSlot {
  readonly slot: Date;
  readonly dueAt: Date;
}

/** What somebody says of a schedule. Everything is validated by the caller. */
export interface ScheduleDefinition {
  readonly runbookName: string;
  /** Null: the version that is offered when a slot is due. */
  readonly runbookVersion: string | null;
  readonly input: CanonicalInput;
  readonly priority: RunPriority;
  readonly timing: unknown;
  readonly overlap: ScheduleOverlap;
  readonly jitterMs: number;
  readonly catchUpMs: number;
  /** Null: failures never pause it. */
  readonly pauseAfterFailures: number | null;
  readonly source: ScheduleSource;
  /** The key that says it; null: the file. */
  readonly ownerKeyId: string | null;
}

export interface ScheduleRecord extends Omit<ScheduleDefinition, 'input'> {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly sessionId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly inputDigest: string;
  readonly state: ScheduleState;
  readonly pausedCode: string | null;
  readonly pausedReason: string | null;
  readonly pausedBy: string | null;
  readonly pausedAt: Date | null;
  /** Runs that failed, one after the other. */
  readonly failures: number;
  /** The oldest slot without a row in the ledger; null when none is to come, or it is paused. */
  readonly nextSlot: Date | null;
  readonly nextDueAt: Date | null;
  readonly revision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Why a schedule does not run. `by` is the key that paused it; left out: Muster itself. */
export interface SchedulePause {
  readonly code: 'paused' | 'failures' | 'left_the_file';
  /** One printable line, cut to 512 bytes. */
  readonly reason: string;
  readonly by?: string | undefined;
}

const REASON_BYTES = 512;

export const SCHEDULE_COLUMNS = `schedules.id, schedules.tenant, schedules.name, session_id as "sessionId",
  runbook_name as "runbookName", runbook_version as "runbookVersion", input, input_digest as "inputDigest", priority, timing,
  overlap, jitter_ms as "jitterMs", catch_up_ms as "catchUpMs", pause_after_failures as "pauseAfterFailures", state,
  paused_code as "pausedCode", paused_reason as "pausedReason", paused_by as "pausedBy", paused_at as "pausedAt", failures,
  next_slot as "nextSlot", next_due_at as "nextDueAt", source, owner_key_id as "ownerKeyId", revision,
  created_at as "createdAt", updated_at as "updatedAt"`;

/** Makes a schedule, active from `next` on. Undefined when the tenant has one of that name. */
export async function createSchedule(
  tx: Tx,
  schedule: ScheduleDefinition & { id: string; tenant: string; name: string; next: DueSlot | undefined; now: Date },
): Promise<ScheduleRecord | undefined> {
  const { tenant, name, now, next } = schedule;
  const session = await ensureSession(tx, { tenant, keyId: null, name: `schedule:${name}`, now });
  const columns = {
    id: schedule.id,
    tenant,
    name,
    session_id: session.id,
    ...definitionColumns(schedule),
    state: 'active',
    next_slot: next?.slot ?? null,
    next_due_at: next?.dueAt ?? null,
    revision: 1,
    created_at: now,
    updated_at: now,
  };
  const { rows } = await tx.query<ScheduleRecord>(
    `insert into muster.schedules (${Object.keys(columns).join(', ')})
      values (${Object.keys(columns).map((_, index) => `$${index + 1}`)})
      on conflict (tenant, name) do nothing returning ${SCHEDULE_COLUMNS}`,
    Object.values(columns),
  );
  return rows[0];
}

/** Gives a locked schedule another form. A paused one stays paused. */
export async function changeSchedule(
  tx: Tx,
  schedule: ScheduleRecord,
  change: ScheduleDefinition & { next: DueSlot | undefined; now: Date },
): Promise<ScheduleRecord> {
  const next = schedule.state === 'active' ? change.next : undefined;
  const columns = {
    ...definitionColumns(change),
    next_slot: next?.slot ?? null,
    next_due_at: next?.dueAt ?? null,
    updated_at: change.now,
  };
  const set = Object.keys(columns).map((column, index) => `${column} = $${index + 2}`);
  const { rows } = await tx.query<ScheduleRecord>(
    `update muster.schedules set ${set.join(', ')}, revision = revision + 1 where id = $1 returning ${SCHEDULE_COLUMNS}`,
    [schedule.id, ...Object.values(columns)],
  );
  return rows[0]!;
}

function definitionColumns(definition: ScheduleDefinition): Record<string, unknown> {
  return {
    runbook_name: definition.runbookName,
    runbook_version: definition.runbookVersion,
    input: definition.input.canonical,
    input_digest: definition.input.digest,
    priority: definition.priority,
    timing: JSON.stringify(definition.timing),
    overlap: definition.overlap,
    jitter_ms: definition.jitterMs,
    catch_up_ms: definition.catchUpMs,
    pause_after_failures: definition.pauseAfterFailures,
    source: definition.source,
    owner_key_id: definition.ownerKeyId,
  };
}

/** Pauses a locked schedule. A slot that waits for a run is given up. */
export async function pauseSchedule(
  tx: Tx,
  schedule: ScheduleRecord,
  pause: SchedulePause,
  now: Date,
): Promise<ScheduleRecord> {
  await tx.query(
    `update muster.ticks set state = 'skipped', reason_code = 'paused', reason = $2, decided_at = $3
      where schedule_id = $1 and state = 'queued'`,
    [schedule.id, 'the schedule was paused before the run before it was over', now],
  );
  const { rows } = await tx.query<ScheduleRecord>(
    `update muster.schedules set state = 'paused', paused_code = $2, paused_reason = $3, paused_by = $4, paused_at = $5,
        next_slot = null, next_due_at = null, updated_at = $5, revision = revision + 1
      where id = $1 returning ${SCHEDULE_COLUMNS}`,
    [schedule.id, pause.code, boundedText(pause.reason, REASON_BYTES) || 'paused', pause.by ?? null, now],
  );
  return rows[0]!;
}

/** Lets a locked schedule go on from `next`, with its failures forgotten. */
export async function resumeSchedule(
  tx: Tx,
  schedule: ScheduleRecord,
  next: DueSlot | undefined,
  now: Date,
): Promise<ScheduleRecord> {
  const { rows } = await tx.query<ScheduleRecord>(
    `update muster.schedules set state = 'active', paused_code = null, paused_reason = null, paused_by = null,
        paused_at = null, failures = 0, next_slot = $2, next_due_at = $3, updated_at = $4, revision = revision + 1
      where id = $1 returning ${SCHEDULE_COLUMNS}`,
    [schedule.id, next?.slot ?? null, next?.dueAt ?? null, now],
  );
  return rows[0]!;
}

/** Deletes a locked schedule with its ledger. Its runs stay. */
export async function deleteSchedule(tx: Tx, schedule: ScheduleRecord): Promise<void> {
  await tx.query('delete from muster.schedules where id = $1', [schedule.id]);
}

/** Moves a locked schedule on: every slot before `next` has its row. */
export async function moveSchedule(tx: Tx, schedule: ScheduleRecord, next: DueSlot | undefined): Promise<void> {
  await tx.query('update muster.schedules set next_slot = $2, next_due_at = $3 where id = $1', [
    schedule.id,
    next?.slot ?? null,
    next?.dueAt ?? null,
  ]);
}

/** The tenant's schedule of that name. */
export function findSchedule(db: Queryable, which: { tenant: string; name: string }) {
  return readSchedule(db, which, '');
}

/** The same under its row's lock. */
export function lockSchedule(tx: Tx, which: { tenant: string; name: string }) {
  return readSchedule(tx, which, 'for update');
}

async function readSchedule(
  db: Queryable,
  { tenant, name }: { tenant: string; name: string },
  lock: string,
): Promise<ScheduleRecord | undefined> {
  const { rows } = await db.query<ScheduleRecord>(
    `select ${SCHEDULE_COLUMNS} from muster.schedules where tenant = $1 and name = $2 ${lock}`,
    [tenant, name],
  );
  return rows[0];
}

/** Schedules by name; `nextAfter` is there when more follow. */
export interface SchedulePage {
  readonly schedules: readonly ScheduleRecord[];
  readonly nextAfter?: string;
}

/** @param query `after` is the name of the last one of the page before */
export async function listSchedules(
  db: Queryable,
  query: { tenant: string; after?: string | undefined; limit: number },
): Promise<SchedulePage> {
  const { rows } = await db.query<ScheduleRecord>(
    `select ${SCHEDULE_COLUMNS} from muster.schedules
      where tenant = $1 and ($2::text is null or name > $2) order by name limit $3`,
    [query.tenant, query.after ?? null, query.limit + 1],
  );
  const schedules = rows.slice(0, query.limit);
  return rows.length > schedules.length ? { schedules, nextAfter: schedules.at(-1)!.name } : { schedules };
}

/** Locks the schedules of every file, in every tenant, so that one process at a time applies one. */
export async function lockSchedulesOfFiles(tx: Tx): Promise<ScheduleRecord[]> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('muster.schedules_of_files', 0))`);
  const { rows } = await tx.query<ScheduleRecord>(
    `select ${SCHEDULE_COLUMNS} from muster.schedules where source = 'file' order by id for update`,
  );
  return rows;
}
