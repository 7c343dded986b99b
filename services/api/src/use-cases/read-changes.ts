/** What a run changed in its scope, and where things stand in the scopes of a tenant. */
import {
  type ChangeWord,
  getSweep,
  isFinal,
  type KnownStanding,
  pageChanges,
  pageStandings,
  type RunRecord,
} from '@muster/results';
import type { z } from 'zod';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import {
  type changePageSchema,
  changeView,
  type NoChanges,
  type StandingView,
  standingView,
  sweepView,
} from '../wire/changes.ts';
import { decodeCursor, decodePlaces, encodeCursor, encodePlaces } from '../wire/cursor.ts';
import { findRun, type RunReader, scopeOfRun } from './find-run.ts';

export interface ChangesQuery {
  readonly changes?: readonly ChangeWord[] | undefined;
  readonly target?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export type ChangePage = z.infer<typeof changePageSchema>;

/** A page of a run's changes, the ones to look at first first. @throws Problem `run_not_found`, `unknown_cursor` */
export async function readChanges(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  { changes, target, after, limit }: ChangesQuery,
): Promise<ChangePage> {
  const run = await findRun(deps, reader, runId);
  const place = after === undefined ? -1 : decodeCursor('changes', after);
  const head = { run_id: run.id, run_status: run.status };
  const sweep = await getSweep(deps.db, scopeOfRun(reader, run.id));
  if (sweep === undefined) return { ...head, why: whyNone(run), changes: [] };
  const page = await pageChanges(deps.db, {
    ...scopeOfRun(reader, run.id),
    ...(changes !== undefined && { changes }),
    ...(target !== undefined && { target }),
    after: place,
    limit,
  });
  return {
    ...head,
    ...sweepView(sweep),
    changes: page.rows.map(changeView),
    ...(page.nextAfter !== undefined && { next_after: encodeCursor('changes', page.nextAfter) }),
  };
}

function whyNone(run: RunRecord): NoChanges {
  if (!isFinal(run.status)) return 'run_not_final';
  if (run.form !== 'fleet') return 'not_a_fleet';
  if (run.dryRun) return 'dry_run';
  if (run.rerunOf !== null) return 'rerun';
  if (run.scopeKey === null) return 'no_scope';
  // A run of a build that recorded none, or one that was stopped before its plan was closed.
  return run.answerKind === 'envelope' ? 'not_recorded' : 'no_envelope';
}

export interface StandingsQuery {
  readonly runbook?: string | undefined;
  readonly scope?: string | undefined;
  readonly standing?: KnownStanding | 'unknown' | undefined;
  readonly target?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A page of what is last known. @throws Problem `unknown_cursor` */
export async function readStandings(
  deps: ApiDeps,
  caller: Caller,
  { runbook, scope, standing, target, after, limit }: StandingsQuery,
): Promise<{ standings: StandingView[]; next_after?: string }> {
  const [scopeId = 0, id = 0] = after === undefined ? [] : decodePlaces('standings', after);
  const page = await pageStandings(deps.db, {
    tenant: caller.tenant,
    ...(runbook !== undefined && { runbook }),
    ...(scope !== undefined && { scopeKey: scope }),
    ...(standing !== undefined && { standing }),
    ...(target !== undefined && { target }),
    after: { scopeId, id },
    limit,
  });
  const { nextAfter: next } = page;
  return {
    standings: page.rows.map(standingView),
    ...(next !== undefined && { next_after: encodePlaces('standings', [next.scopeId, next.id]) }),
  };
}
