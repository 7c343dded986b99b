/**
 * Retention, first half: old runs are chosen and their artifacts condemned. The sweeper deletes the objects and their
 * rows (takeStaleArtifacts), and forgetRuns the rest, once no artifact is left. Nothing is noted on the run, which never
 * changes: whatever dies in between, the next call chooses the same runs again.
 *
 * Invariants:
 * - the newest completed sweep of each scope stays, however old it is: the next sweep is compared with it;
 * - a run that another one names (as parent, or as what it does again) stays as long as that one.
 */

import type { Queryable } from './database.ts';

/** A dry run checks nothing and a rerun only a part: neither stands for its scope. The index `runs_sweeps` holds these. */
const isSweep = (run: string) =>
  `(${run}.status = 'completed' and ${run}.answer_kind = 'envelope' and ${run}.form = 'fleet' and not ${run}.dry_run
    and ${run}.rerun_of is null and ${run}.scope_key is not null)`;

/**
 * Condemns the artifacts of runs that ended before an instant, the oldest first, and returns the runs' ids, those
 * condemned before and not yet forgotten among them.
 */
export function condemnOldRuns(db: Queryable, query: { finishedBefore: Date; limit: number }): Promise<string[]> {
  return db.transaction(async (tx) => {
    // The lock keeps a run that is being named by a new one at this moment.
    const { rows } = await tx.query<{ id: string }>(
      `select id from muster.runs old
        where old.phase = 'done' and old.finished_at < $1
          and not exists (select from muster.runs child where child.parent_run_id = old.id)
          and not exists (select from muster.runs again where again.rerun_of = old.id)
          and (not ${isSweep('old')} or exists (
            select from muster.runs newer
              where newer.tenant = old.tenant and newer.runbook_name = old.runbook_name
                and newer.scope_key = old.scope_key and (newer.finished_at, newer.id) > (old.finished_at, old.id)
                and ${isSweep('newer')}))
        order by old.finished_at, old.id limit $2 for update of old skip locked`,
      [query.finishedBefore, query.limit],
    );
    const ids = rows.map(({ id }) => id);
    await tx.query(
      `update muster.artifacts set state = 'deleting' where run_id = any($1::uuid[]) and state <> 'deleting'`,
      [ids],
    );
    return ids;
  });
}
