/** Reading runs. Every function takes the tenant, and never tells a foreign run from one that does not exist. */

import type { Queryable, Tx } from './database.ts';
import { UnknownCursorError } from './errors.ts';
import type { RunRecord, RunScope, RunStatus } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';

/** Where changes of runs are told; the payload is the run's id. */
export const RUN_CHANNEL = 'muster_run';

/** A page of runs, newest first. `nextAfter` is there when more follow: the id to go on behind. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly nextAfter?: string;
}

/** Filters and page of {@link listRuns}. */
export interface RunListQuery {
  readonly tenant: string;
  readonly sessionId?: string;
  readonly status?: RunStatus;
  readonly runbook?: string;
  /** Id of the last run of the page before. */
  readonly after?: string;
  readonly limit: number;
}

/** The run, or undefined when it is not visible in this scope. */
export async function getRun(db: Queryable, scope: RunScope): Promise<RunRecord | undefined> {
  const { rows } = await db.query<RunRecord>(
    `select ${RUN_COLUMNS} from muster.runs
      where id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3)`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}

/**
 * Runs, newest first. The order is that of acceptance and then of id, so runs that arrive while somebody turns pages
 * neither repeat nor push out what comes after the cursor.
 *
 * @throws UnknownCursorError when `after` is no run of this tenant (and session)
 */
export async function listRuns(db: Queryable, query: RunListQuery): Promise<RunPage> {
  const { tenant, sessionId = null, after = null } = query;
  if (after !== null && (await runInScope(db, { tenant, sessionId: query.sessionId, runId: after })) === undefined) {
    throw new UnknownCursorError(after);
  }
  const { rows } = await db.query<RunRecord>(
    `select ${RUN_COLUMNS} from muster.runs
      where tenant = $1 and ($2::uuid is null or session_id = $2)
        and ($3::text is null or status = $3) and ($4::text is null or runbook_name = $4)
        and ($5::uuid is null or (created_at, id) < (select seen.created_at, seen.id from muster.runs seen where seen.id = $5))
      order by created_at desc, id desc limit $6`,
    [tenant, sessionId, query.status ?? null, query.runbook ?? null, after, query.limit + 1],
  );
  const runs = rows.slice(0, query.limit);
  return rows.length > runs.length ? { runs, nextAfter: runs.at(-1)!.id } : { runs };
}

/** What a reader of a run's other tables needs: proof that it is visible, and the key of its partition. */
export async function runInScope(
  db: Queryable,
  scope: RunScope,
): Promise<{ id: string; createdAt: Date; sessionId: string } | undefined> {
  const { rows } = await db.query<{ id: string; createdAt: Date; sessionId: string }>(
    `select id, created_at as "createdAt", session_id as "sessionId" from muster.runs
      where id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3)`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}

/** Whether the run is there and visible; if so it stays until this transaction ends, because something will name it. */
export async function lockReferencedRun(tx: Tx, scope: RunScope): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select id from muster.runs where id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3) for key share`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rowCount === 1;
}

/** The run under its row lock. `no key update`, because settlements' foreign keys must not wait for it. */
export async function lockRun(tx: Tx, runId: string): Promise<RunRecord | undefined> {
  const { rows } = await tx.query<RunRecord>(`select ${RUN_COLUMNS} from muster.runs where id = $1 for no key update`, [
    runId,
  ]);
  return rows[0];
}

/** Runs by their ids, in one query; with a tenant only those of that one. */
export async function getRuns(
  db: Queryable,
  query: { tenant?: string | undefined; ids: readonly string[] },
): Promise<RunRecord[]> {
  const { rows } = await db.query<RunRecord>(
    `select ${RUN_COLUMNS} from muster.runs where id = any($1::uuid[]) and ($2::text is null or tenant = $2)`,
    [query.ids, query.tenant ?? null],
  );
  return rows;
}

/**
 * Tells those who wait for changes of a run that there is one, when the transaction commits. It is a hint: the row is the
 * truth. Settlements never call this.
 */
export async function tellChanged(tx: Tx, runId: string): Promise<void> {
  await tx.query(`select pg_notify('${RUN_CHANNEL}', $1)`, [runId]);
}

/** Tells workers that a run is to stop, when the transaction commits. It is a hint: the row is the truth. */
export async function wakeStopped(tx: Tx, runId: string): Promise<void> {
  await tx.query(`select pg_notify('muster_stop', $1)`, [runId]);
}

/** Wakes the dispatcher, when the transaction commits. Settlements never call this. */
export async function wakeDispatcher(tx: Tx): Promise<void> {
  await tx.query(`select pg_notify('muster_dispatch', '')`);
}
