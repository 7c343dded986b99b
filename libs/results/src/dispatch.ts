/**
 * The outbox (DESIGN decision 1): runs and chunks wait here, and a dispatcher sends a bounded window of them. Sending
 * what was never sent and sending again what got lost is one loop over `dispatch_no` and `dispatched_at`.
 *
 * Invariants:
 * - one dispatcher at a time takes what is due; the others get nothing and may try again;
 * - a thing is marked as sent before it is sent, so a dispatcher that dies between the two leaves it to be found by
 *   {@link listDispatched}, never sent twice under one number;
 * - every statement here is bounded by the window, whatever waits;
 * - what nobody could work on takes no place in the window: a run is sent only while a living worker has its definition,
 *   or when it was stopped, because then anybody can end it;
 * - chunks of a wave are sent only when their run has no open chunk in a wave below, and those behind a canary only when
 *   it was judged good enough, or the run was stopped: then they are not assessed.
 */

import { judgeCanaries } from './check-error-budget.ts';
import type { DispatchLimits, InFlight } from './choose-due.ts';
import { chooseDue, inTurnsOfRuns, roomByPriority, withinChunkQuotas } from './choose-due.ts';
import type { Queryable, Tx } from './database.ts';
import { RUN_IS_ASSESSED } from './run-record.ts';
import { offeredDigests } from './workers.ts';

export type DispatchKind = 'plan' | 'procedure' | 'collect' | 'assess';

/** Something to be sent: `id` is a chunk's for `assess`, else the run's. */
export interface DispatchItem {
  readonly kind: DispatchKind;
  readonly id: string;
  readonly dispatchNo: number;
  readonly priority: number;
  readonly tenant: string;
  readonly runId: string;
}

const CANARIES_AT_ONCE = 100;
const DISPATCH_LOCK = 7_301_152;
/** A stopped run is sent whatever it waits for: somebody has to end it. */
const RUN_IS_DUE = `runs.phase in ('plan', 'procedure', 'collect')
  and (runs.status in ('pending', 'running') or (runs.status = 'interrupted' and runs.stop_reason is not null))`;

/** Somebody has the run's definition, or it was stopped; $1 are the definitions that somebody has, null for all. */
const RUN_IS_OFFERED = `($1::text[] is null or runs.definition_digest = any($1::text[]) or runs.stop_reason is not null)`;
/** At most so many runs of one tenant and priority take turns with their chunks; younger ones wait for a place. */
const RUNS_IN_TURNS = 64;
/** So many chunks of each of them are looked at, at least. */
const CHUNKS_A_TURN = 8;

/**
 * Takes what is to be sent now and marks it as sent: interactive first, then fair over tenants, then over their runs,
 * then the oldest. Empty when nothing is due, the window is full, or another dispatcher is at it.
 *
 * @param query `digests` are the definitions that the caller has the code of; without it nobody's are asked for
 */
export function takeDue(
  db: Queryable,
  query: DispatchLimits & { digests?: readonly string[]; now?: Date },
): Promise<DispatchItem[]> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [DISPATCH_LOCK]);
    if (!rows[0]!.mine) return [];
    const now = query.now ?? new Date();
    await judgeCanaries(tx, { limit: CANARIES_AT_ONCE, now });
    const offered = query.digests === undefined ? null : [...query.digests, ...(await offeredDigests(tx, { now }))];
    const inFlight = await readInFlight(tx, offered);
    const room = roomByPriority(inFlight, query);
    const candidates = room.some((free) => free > 0) ? await readCandidates(tx, offered, room) : [];
    if (candidates.length === 0) return [];
    const inTurns = inTurnsOfRuns(candidates, inFlight);
    const allowed = withinChunkQuotas(inTurns, inFlight, await readChunkQuotas(tx, candidates));
    const chosen = chooseDue(allowed, inFlight, query);
    return markSent(tx, chosen, now);
  });
}

/** Keeps all dispatchers away until this transaction ends. */
export async function lockDispatch(tx: Tx): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [DISPATCH_LOCK]);
}

/** What was sent before an instant and is not done, oldest first: to be looked for in the queue. */
export async function listDispatched(
  db: Queryable,
  query: { olderThan: Date; limit: number },
): Promise<DispatchItem[]> {
  const { rows } = await db.query<DispatchItem>(
    `select kind, id, "dispatchNo", priority, tenant, "runId" from (
      (select runs.phase as kind, runs.id, runs.dispatch_no as "dispatchNo", runs.priority, runs.tenant,
          runs.id as "runId", runs.dispatched_at
        from muster.runs where runs.dispatched_at < $1 and ${RUN_IS_DUE} order by runs.dispatched_at limit $2)
      union all
      (select 'assess', chunks.id, chunks.dispatch_no, runs.priority, chunks.tenant, chunks.run_id, chunks.dispatched_at
        from muster.chunks join muster.runs on runs.id = chunks.run_id
        where chunks.dispatched_at < $1 and chunks.state = 'open' and ${RUN_IS_ASSESSED}
        order by chunks.dispatched_at limit $2)
    ) sent order by dispatched_at limit $2`,
    [query.olderThan, query.limit],
  );
  return rows;
}

/** Makes lost things due again. Those that were dispatched anew, or moved on, stay. Returns how many. */
export function redispatch(db: Queryable, items: readonly DispatchItem[]): Promise<number> {
  return setDispatchedAt(db, items, null);
}

/** Notes that things were found alive in the queue, so that they are not looked for again soon. Returns how many. */
export function touchDispatched(
  db: Queryable,
  items: readonly DispatchItem[],
  now: Date = new Date(),
): Promise<number> {
  return setDispatchedAt(db, items, now);
}

/**
 * Due things, each tenant's and priority's oldest first, and of neither runs nor chunks more than there is room for.
 * Tenants are found by hopping over the index, so one with a hundred thousand waiting runs costs no more than one with
 * ten.
 */
async function readCandidates(
  tx: Tx,
  offered: readonly string[] | null,
  room: readonly number[],
): Promise<DispatchItem[]> {
  const { rows } = await tx.query<DispatchItem>(
    `with recursive
      due_tenants (tenant) as (
        (select tenant from muster.runs where dispatched_at is null and ${RUN_IS_DUE} order by tenant limit 1)
        union all
        select (select runs.tenant from muster.runs
          where runs.tenant > due_tenants.tenant and dispatched_at is null and ${RUN_IS_DUE} order by runs.tenant limit 1)
        from due_tenants where due_tenants.tenant is not null
      ),
      assessing_tenants (tenant) as (
        (select tenant from muster.runs where ${RUN_IS_ASSESSED} order by tenant limit 1)
        union all
        select (select runs.tenant from muster.runs
          where runs.tenant > assessing_tenants.tenant and ${RUN_IS_ASSESSED} order by runs.tenant limit 1)
        from assessing_tenants where assessing_tenants.tenant is not null
      ),
      priorities (priority, room) as (
        select (place - 1)::smallint, room from unnest($2::int[]) with ordinality as given (room, place) where room > 0
      )
    select kind, id, "dispatchNo", priority, tenant, "runId" from (
      select due.phase as kind, due.id, due.dispatch_no as "dispatchNo", due.priority, due.tenant, due.id as "runId",
          due.created_at, -1 as first_ordinal
        from due_tenants cross join priorities cross join lateral (
          select * from muster.runs where runs.tenant = due_tenants.tenant and runs.priority = priorities.priority
            and dispatched_at is null and ${RUN_IS_DUE} and ${RUN_IS_OFFERED}
          order by runs.created_at, runs.id limit priorities.room
        ) due
      union all
      select 'assess', due.id, due.dispatch_no, due.priority, due.tenant, due.run_id, due.created_at, due.first_ordinal
        from assessing_tenants cross join priorities cross join lateral (
          select chunk.id, chunk.dispatch_no, chunk.first_ordinal, runs.id as run_id, runs.priority, runs.tenant,
              runs.created_at
            from (
              select oldest.*, count(*) over () as siblings from (
                select * from muster.runs
                  where runs.tenant = assessing_tenants.tenant and runs.priority = priorities.priority
                    and ${RUN_IS_ASSESSED} and ${RUN_IS_OFFERED}
                  order by runs.created_at, runs.id limit ${RUNS_IN_TURNS}
              ) oldest
            ) runs cross join lateral (
              select min(wave) as wave from muster.chunks where chunks.run_id = runs.id and chunks.state = 'open'
            ) going cross join lateral (
              select id, dispatch_no, first_ordinal from muster.chunks
                where chunks.run_id = runs.id and chunks.state = 'open' and chunks.dispatched_at is null
                  and chunks.wave = going.wave
                  and (chunks.wave = 0 or runs.canary_percent is null or runs.canary_passed_at is not null
                    or runs.stop_reason is not null)
                order by chunks.first_ordinal
                limit least(priorities.room, greatest(${CHUNKS_A_TURN}, priorities.room / runs.siblings + 1))
            ) chunk
        ) due
    ) waiting order by created_at, "runId", first_ordinal`,
    [offered, room],
  );
  return rows;
}

async function readInFlight(tx: Tx, offered: readonly string[] | null): Promise<InFlight[]> {
  const { rows } = await tx.query<InFlight>(
    `select runs.tenant, runs.priority, runs.id as "runId", 1::bigint as count, 0::bigint as chunks from muster.runs
        where dispatched_at is not null and ${RUN_IS_DUE} and ${RUN_IS_OFFERED}
      union all
      select runs.tenant, runs.priority, runs.id, count(*), count(*)
        from muster.chunks join muster.runs on runs.id = chunks.run_id
        where chunks.state = 'open' and chunks.dispatched_at is not null and ${RUN_IS_ASSESSED} and ${RUN_IS_OFFERED}
        group by runs.id`,
    [offered],
  );
  return rows;
}

async function readChunkQuotas(tx: Tx, candidates: readonly DispatchItem[]): Promise<Map<string, number>> {
  const tenants = new Set(candidates.filter(({ kind }) => kind === 'assess').map(({ tenant }) => tenant));
  const { rows } = await tx.query<{ tenant: string; limit: number }>(
    `select tenant, max_in_flight_chunks as "limit" from muster.tenant_quotas
      where tenant = any($1::text[]) and max_in_flight_chunks is not null`,
    [[...tenants]],
  );
  return new Map(rows.map(({ tenant, limit }) => [tenant, limit]));
}

async function markSent(tx: Tx, chosen: readonly DispatchItem[], now: Date): Promise<DispatchItem[]> {
  const sent = new Map<string, number>();
  for (const [table, items] of byTable(chosen)) {
    // A thing that was claimed, stopped or settled since it was read is left out by the second look at its number.
    const { rows } = await tx.query<{ id: string; dispatchNo: number }>(
      `update muster.${table} set dispatch_no = ${table}.dispatch_no + 1, dispatched_at = $3
        from unnest($1::uuid[], $2::int[], $4::text[]) as due (id, dispatch_no, kind)
        where ${table}.id = due.id and ${table}.dispatch_no = due.dispatch_no and dispatched_at is null
          and ${stillThere(table, 'due')}
        returning ${table}.id, ${table}.dispatch_no as "dispatchNo"`,
      [items.map((item) => item.id), items.map((item) => item.dispatchNo), now, items.map((item) => item.kind)],
    );
    for (const row of rows) sent.set(row.id, row.dispatchNo);
  }
  return chosen.flatMap((item) => {
    const dispatchNo = sent.get(item.id);
    return dispatchNo === undefined ? [] : [{ ...item, dispatchNo }];
  });
}

async function setDispatchedAt(db: Queryable, items: readonly DispatchItem[], at: Date | null): Promise<number> {
  return db.transaction(async (tx) => {
    let count = 0;
    for (const [table, those] of byTable(items)) {
      const { rowCount } = await tx.query(
        `update muster.${table} set dispatched_at = $3
          from unnest($1::uuid[], $2::int[], $4::text[]) as item (id, dispatch_no, kind)
          where ${table}.id = item.id and ${table}.dispatch_no = item.dispatch_no and dispatched_at is not null
            and ${stillThere(table, 'item')}`,
        [those.map((item) => item.id), those.map((item) => item.dispatchNo), at, those.map((item) => item.kind)],
      );
      count += rowCount;
    }
    return count;
  });
}

function byTable(items: readonly DispatchItem[]): ['runs' | 'chunks', DispatchItem[]][] {
  const groups = Map.groupBy(items, (item) => (item.kind === 'assess' ? 'chunks' : 'runs'));
  return [...groups].map(([table, group]) => [table, group.sort((a, b) => (a.id < b.id ? -1 : 1))]);
}

/** Runs must still be in the phase that the item was for. */
function stillThere(table: 'runs' | 'chunks', alias: string): string {
  return table === 'runs' ? `runs.phase = ${alias}.kind` : `chunks.state = 'open'`;
}
