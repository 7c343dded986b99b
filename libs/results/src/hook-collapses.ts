/**
 * A storm for one subject is one run with a count.
 *
 * Invariant: whoever looks for a run to join holds the hook's lock until it has joined or begun one, so two deliveries at
 * once never begin two.
 */

import type { Queryable, Tx } from './database.ts';

/** What makes deliveries of a hook one run. */
export interface CollapsePlace {
  readonly tenant: string;
  readonly hook: string;
  readonly key: string;
}

/** How many alerts or events went into a run, the one that began it among them. */
export interface RunCollapse {
  readonly hook: string;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Makes deliveries of one hook that may join runs wait for each other, until this transaction ends. */
export async function lockHook(tx: Tx, { tenant, hook }: { tenant: string; hook: string }): Promise<void> {
  const place = JSON.stringify(['hook', tenant, hook]);
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [place]);
}

/** The newest run of a key. */
export interface JoinableRun {
  readonly runId: string;
  readonly firstAt: Date;
  readonly isOver: boolean;
}

/** The newest run of a key, whether or not it can still be joined. The caller holds {@link lockHook}. */
export async function newestRun(tx: Tx, place: CollapsePlace): Promise<JoinableRun | undefined> {
  const { rows } = await tx.query<JoinableRun>(
    `select run_id as "runId", first_at as "firstAt", runs.phase = 'done' as "isOver"
      from muster.hook_collapses join muster.runs on runs.id = hook_collapses.run_id
      where hook_collapses.tenant = $1 and hook = $2 and key = $3
      order by first_at desc, run_id limit 1`,
    [place.tenant, place.hook, place.key],
  );
  return rows[0];
}

/** True when what came at an instant joins the run: it is not over yet, or was begun not longer than `withinMs` before. */
export function joins(run: JoinableRun, at: Date, withinMs: number): boolean {
  return !run.isOver || at.getTime() < run.firstAt.getTime() + withinMs;
}

/** What joined a run. */
export interface RunJoin {
  readonly runId: string;
  readonly at: Date;
  /** Alerts or events. */
  readonly count: number;
}

/** Counts what joined runs. The caller holds {@link lockHook}. */
export async function countJoins(tx: Tx, joined: readonly RunJoin[]): Promise<void> {
  if (joined.length === 0) return;
  await tx.query(
    `update muster.hook_collapses set count = hook_collapses.count + joined.count,
        last_at = greatest(hook_collapses.last_at, joined.last_at)
      from (
        select run_id, sum(count)::integer as count, max(at) as last_at
          from unnest($1::uuid[], $2::timestamptz[], $3::integer[]) as one (run_id, at, count) group by run_id
      ) joined
      where hook_collapses.run_id = joined.run_id`,
    [joined.map(({ runId }) => runId), joined.map(({ at }) => at), joined.map(({ count }) => count)],
  );
}

/** Notes the run that later deliveries of this key join. */
export async function beginCollapse(tx: Tx, place: CollapsePlace, begun: RunJoin): Promise<void> {
  await tx.query(
    `insert into muster.hook_collapses (run_id, tenant, hook, key, first_at, last_at, count)
      values ($1, $2, $3, $4, $5, $5, $6)`,
    [begun.runId, place.tenant, place.hook, place.key, begun.at, begun.count],
  );
}

/** How many alerts and events a run stands for; undefined when nothing can join it. */
export async function getRunCollapse(
  db: Queryable,
  query: { readonly tenant: string; readonly runId: string },
): Promise<RunCollapse | undefined> {
  const { rows } = await db.query<RunCollapse>(
    `select hook, count, first_at as "firstAt", last_at as "lastAt" from muster.hook_collapses
      where tenant = $1 and run_id = $2`,
    [query.tenant, query.runId],
  );
  return rows[0];
}
