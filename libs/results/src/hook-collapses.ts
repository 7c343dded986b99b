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

/**
 * Joins the newest run of a key, when that is not over yet or was begun not longer than `withinMs` before. The caller holds
 * {@link lockHook}. Gives the run's id.
 */
export async function joinRun(
  tx: Tx,
  place: CollapsePlace,
  joined: { readonly at: Date; readonly withinMs: number; readonly alerts: number },
): Promise<string | undefined> {
  const { rows } = await tx.query<{ runId: string }>(
    `update muster.hook_collapses set count = hook_collapses.count + $6, last_at = greatest(hook_collapses.last_at, $4)
      from (
        select run_id, first_at from muster.hook_collapses
          where tenant = $1 and hook = $2 and key = $3 order by first_at desc, run_id limit 1
      ) newest
      join muster.runs on runs.id = newest.run_id
      where hook_collapses.run_id = newest.run_id
        and (runs.phase <> 'done' or $4::timestamptz < newest.first_at + $5 * interval '1 millisecond')
      returning hook_collapses.run_id as "runId"`,
    [place.tenant, place.hook, place.key, joined.at, joined.withinMs, joined.alerts],
  );
  return rows[0]?.runId;
}

/** Notes the run that later deliveries of this key join. */
export async function beginCollapse(
  tx: Tx,
  place: CollapsePlace,
  begun: { readonly runId: string; readonly at: Date; readonly alerts: number },
): Promise<void> {
  await tx.query(
    `insert into muster.hook_collapses (run_id, tenant, hook, key, first_at, last_at, count)
      values ($1, $2, $3, $4, $5, $5, $6)`,
    [begun.runId, place.tenant, place.hook, place.key, begun.at, begun.alerts],
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
