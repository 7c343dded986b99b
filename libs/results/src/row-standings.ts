/** How long the rows of a run have stood as they do: as its sweep left it, whatever later sweeps found. */

import type { Queryable } from './database.ts';
import type { KnownStanding } from './read-changes.ts';
import type { RunRecord } from './run-record.ts';

/** What was known of an identity once a run was recorded. */
export interface RowStanding {
  readonly standing: KnownStanding | null;
  readonly standingSince: Date | null;
  readonly lastOkAt: Date | null;
  readonly sweepsInStanding: number;
}

/**
 * The standings of these identities as the run left them. Of the newest run of a scope that is every identity; of an older
 * one those that it told changes of. Empty for a run that had no part in it.
 */
export async function rowStandings(
  db: Queryable,
  run: Pick<RunRecord, 'id' | 'tenant' | 'runbookName' | 'scopeKey'>,
  identities: readonly string[],
): Promise<ReadonlyMap<string, RowStanding>> {
  if (run.scopeKey === null || identities.length === 0) return new Map();
  const { rows } = await db.query<RowStanding & { identity: string }>(
    `with wanted as (select distinct identity collate "C" as identity from unnest($5::text[]) as given (identity))
    select wanted.identity, known.standing, known.standing_since as "standingSince", known.last_ok_at as "lastOkAt",
        known.sweeps_in_standing as "sweepsInStanding"
      from wanted join muster.standings known on hashtextextended(known.identity, 0) = hashtextextended(wanted.identity, 0)
        and known.identity = wanted.identity
      where known.tenant = $1 and known.runbook_name = $2 and known.scope_key = $3 and known.last_run_id = $4
    union
    select wanted.identity, coalesce(told.to_standing, told.from_standing), told.standing_since, told.last_ok_at,
        told.sweeps_in_standing
      from wanted join muster.changes told on hashtextextended(told.identity, 0) = hashtextextended(wanted.identity, 0)
        and told.identity = wanted.identity
      where told.run_id = $4 and told.tenant = $1`,
    [run.tenant, run.runbookName, run.scopeKey, run.id, identities],
  );
  return new Map(rows.map(({ identity, ...known }) => [identity, known]));
}
