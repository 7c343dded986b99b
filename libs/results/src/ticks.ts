/**
 * The ledger of ticks: what became of each slot of a schedule that was due. Rows are written by whoever holds the
 * schedule's lock, in the transaction that does what they tell of.
 */

import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import type { DueSlot, ScheduleRecord } from './schedules.ts';

export type TickState = 'queued' | 'started' | 'skipped' | 'missed' | 'refused';
export type TickTrigger = 'schedule' | 'manual';

/** What became of a slot. */
export type TickEnd =
  | { readonly state: 'started'; readonly runId: string }
  | { readonly state: Exclude<TickState, 'started'>; readonly code: string; readonly reason: string };

export interface TickRecord {
  /** Rises in the order in which slots were decided. */
  readonly id: number;
  readonly slot: Date;
  readonly trigger: TickTrigger;
  /** The key that asked for it by hand. */
  readonly askedBy: string | null;
  readonly state: TickState;
  readonly runId: string | null;
  /** How the run ended; null while it is open. */
  readonly runStatus: 'completed' | 'cancelled' | 'failed' | 'forgotten' | null;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  /** How many slots it stands for, from its own on. */
  readonly slots: number;
  readonly dueAt: Date;
  readonly decidedAt: Date;
}

/** A slot to be written down. */
export interface TickInput extends DueSlot {
  readonly trigger: TickTrigger;
  readonly askedBy?: string | undefined;
  readonly end: TickEnd;
  readonly slots?: number | undefined;
}

/** Ticks, the ones decided last first; `nextAfter` is there when more follow. */
export interface TickPage {
  readonly ticks: readonly TickRecord[];
  readonly nextAfter?: number;
}

const REASON_BYTES = 512;

const TICK_COLUMNS = `ticks.id, slot, trigger, asked_by as "askedBy", ticks.state, run_id as "runId",
  run_status as "runStatus", reason_code as "reasonCode", reason, slots, due_at as "dueAt", decided_at as "decidedAt"`;

/** Writes a row. Undefined when the slot has one. */
export async function insertTick(
  tx: Tx,
  schedule: ScheduleRecord,
  tick: TickInput,
  now: Date,
): Promise<TickRecord | undefined> {
  const { runId, code, reason } = endColumns(tick.end);
  const { rows } = await tx.query<TickRecord>(
    `insert into muster.ticks (tenant, schedule_id, slot, trigger, asked_by, state, run_id, reason_code, reason, slots,
        due_at, decided_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
      on conflict (schedule_id, slot) do nothing returning ${TICK_COLUMNS}`,
    [
      schedule.tenant,
      schedule.id,
      tick.slot,
      tick.trigger,
      tick.askedBy ?? null,
      tick.end.state,
      runId,
      code,
      reason,
      tick.slots ?? 1,
      tick.dueAt,
      now,
    ],
  );
  return rows[0];
}

/** Writes what became at last of a slot that waited. */
export async function endWaitingTick(tx: Tx, tick: TickRecord, end: TickEnd, now: Date): Promise<void> {
  const { runId, code, reason } = endColumns(end);
  await tx.query(
    `update muster.ticks set state = $2, run_id = $3, reason_code = $4, reason = $5, decided_at = $6
      where id = $1 and state = 'queued'`,
    [tick.id, end.state, runId, code, reason, now],
  );
}

function endColumns(end: TickEnd): { runId: string | null; code: string | null; reason: string | null } {
  if (end.state === 'started') return { runId: end.runId, code: null, reason: null };
  return { runId: null, code: end.code, reason: boundedText(end.reason, REASON_BYTES) || end.code };
}

/** The slot of a schedule that waits for the end of a run. */
export async function waitingTick(db: Queryable, scheduleId: string): Promise<TickRecord | undefined> {
  const { rows } = await db.query<TickRecord>(
    `select ${TICK_COLUMNS} from muster.ticks where schedule_id = $1 and state = 'queued'`,
    [scheduleId],
  );
  return rows[0];
}

/** Whether a slot has its row. */
export async function isTicked(db: Queryable, scheduleId: string, slot: Date): Promise<boolean> {
  const { rowCount } = await db.query('select from muster.ticks where schedule_id = $1 and slot = $2', [
    scheduleId,
    slot,
  ]);
  return rowCount > 0;
}

/** The last slot of the timing that has a row. */
export async function lastSlotOf(db: Queryable, scheduleId: string): Promise<Date | undefined> {
  const { rows } = await db.query<{ slot: Date | null }>(
    `select max(slot) as slot from muster.ticks where schedule_id = $1 and trigger = 'schedule'`,
    [scheduleId],
  );
  return rows[0]?.slot ?? undefined;
}

/** The runs of a schedule that are not over, oldest slot first. One that waits for a person is among them. */
export async function openRunsOf(db: Queryable, scheduleId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select runs.id from muster.ticks join muster.runs on runs.id = ticks.run_id
      where schedule_id = $1 and ticks.state = 'started' and run_status is null and runs.phase <> 'done'
      order by slot`,
    [scheduleId],
  );
  return rows.map(({ id }) => id);
}

/**
 * The ledger of a schedule.
 *
 * @param query `after` is the id of the last tick of the page before
 */
export async function listTicks(
  db: Queryable,
  query: { tenant: string; scheduleId: string; after?: number | undefined; limit: number },
): Promise<TickPage> {
  const { rows } = await db.query<TickRecord>(
    `select ${TICK_COLUMNS} from muster.ticks
      where tenant = $1 and schedule_id = $2 and ($3::bigint is null or id < $3) order by id desc limit $4`,
    [query.tenant, query.scheduleId, query.after ?? null, query.limit + 1],
  );
  const ticks = rows.slice(0, query.limit);
  return rows.length > ticks.length ? { ticks, nextAfter: ticks.at(-1)!.id } : { ticks };
}

/** Forgets ticks that were decided before an instant and wait for nothing. Returns how many. */
export async function forgetTicks(db: Queryable, query: { decidedBefore: Date; limit: number }): Promise<number> {
  const { rowCount } = await db.query(
    `delete from muster.ticks where id in (
      select id from muster.ticks
        where decided_at < $1 and state <> 'queued' and (state <> 'started' or run_status is not null)
        order by decided_at limit $2)`,
    [query.decidedBefore, query.limit],
  );
  return rowCount;
}
