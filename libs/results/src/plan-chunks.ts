/**
 * Planning: chunks are written under the plan's fence, and freezing closes the denominator (DESIGN decision 4).
 *
 * Invariants:
 * - only the attempt that holds the run's fence writes chunks: it takes the run row in share mode, which a new claim
 *   and the freezing have to wait for;
 * - a frozen run has exactly the chunks of its plan fence, without gap or overlap, and their sizes are its total;
 * - chunks of one wave follow each other without a gap; where there are more waves, they share the places between them.
 */

import { randomUUID } from 'node:crypto';
import { type ArtifactCommit, commitArtifacts } from './artifacts.ts';
import { storableText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import { LedgerMismatchError } from './errors.ts';
import { waitForAnswer } from './interrupt-run.ts';
import { type InterruptionInput, openInterruption } from './interruptions.ts';
import { appendEvents } from './run-events.ts';
import type { RunRecord } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';
import { lockRun, wakeDispatcher } from './runs.ts';
import { checkSubjectQuota } from './tenant-quotas.ts';

/**
 * A subject's names: its key, what it is across sweeps, and what limits are counted by; and its place in the run where
 * that does not follow from the first of its chunk, because the subjects between went into a chunk of another wave.
 */
export type SubjectNames = readonly [key: string, identity: string | null, target: string | null, ordinal?: number];

/** A chunk of subjects as plan makes it. */
export interface PlannedChunk {
  /** Default: a random UUID. */
  readonly id?: string;
  readonly firstOrdinal: number;
  readonly size: number;
  /** The encrypted items. */
  readonly items: Buffer;
  /** One entry a subject, in order. */
  readonly keys: readonly SubjectNames[];
  /** Chunks of a wave are sent when those of the waves below are all settled. Default 0. */
  readonly wave?: number;
}

/** SQL of a subject's place in the run, over a row of chunks and its names as `names (name, nth)`. */
export const PLACE = 'coalesce((names.name->>3)::int, chunks.first_ordinal + names.nth::int - 1)';

/** Writes chunks of a plan in progress. False when the run's fence has moved on, and then nothing is written. */
export function writeChunks(
  db: Queryable,
  plan: { runId: string; fence: number; chunks: readonly PlannedChunk[] },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<RunRecord>(
      `select ${RUN_COLUMNS} from muster.runs where id = $1 and fence = $2 and phase = 'plan' for share`,
      [plan.runId, plan.fence],
    );
    const run = rows[0];
    if (run === undefined) return false;
    await tx.query(
      `insert into muster.chunks (id, tenant, session_id, run_id, first_ordinal, size, state, plan_fence, items, keys,
          wave)
        select id, $1, $2, $3, first_ordinal, size, 'open', $4, items, keys::json, wave
        from unnest($5::uuid[], $6::int[], $7::int[], $8::bytea[], $9::text[], $10::smallint[])
          as planned (id, first_ordinal, size, items, keys, wave)
        on conflict (run_id, plan_fence, first_ordinal) do nothing`,
      [
        run.tenant,
        run.sessionId,
        run.id,
        plan.fence,
        plan.chunks.map((chunk) => chunk.id ?? randomUUID()),
        plan.chunks.map((chunk) => chunk.firstOrdinal),
        plan.chunks.map((chunk) => chunk.size),
        plan.chunks.map((chunk) => chunk.items),
        plan.chunks.map((chunk) => keysJson(chunk.keys)),
        plan.chunks.map((chunk) => chunk.wave ?? 0),
      ],
    );
    return true;
  });
}

/**
 * Closes the denominator and opens the assessment, or asks first: with an `approval` the run waits for a person, and
 * nothing of it is assessed before the answer. With no subjects the run goes on to collect, and so does a dry run: it
 * keeps its total, and its chunks are deleted; neither asks. False when the run's fence has moved on.
 *
 * @throws LedgerMismatchError when the chunks do not add up to `total`, or leave a gap; nothing is changed then
 * @throws QuotaExceededError when `total` is over what the tenant may have in a run; nothing is changed then
 */
export function freezeRun(
  db: Queryable,
  plan: {
    runId: string;
    fence: number;
    total: number;
    planSummary: unknown;
    /** Artifacts that the plan staged. */
    artifacts?: readonly ArtifactCommit[];
    /** What is asked before anything is assessed. */
    approval?: InterruptionInput;
    now?: Date;
  },
): Promise<boolean> {
  const now = plan.now ?? new Date();
  return db.transaction(async (tx) => {
    const before = await lockRun(tx, plan.runId);
    if (before?.fence !== plan.fence || before.phase !== 'plan') return false;
    await tx.query('delete from muster.chunks where run_id = $1 and plan_fence <> $2', [plan.runId, plan.fence]);
    await checkSum(tx, plan.runId, plan.total);
    await checkSubjectQuota(tx, before.tenant, plan.total);
    if (before.dryRun) await tx.query('delete from muster.chunks where run_id = $1', [plan.runId]);
    await commitArtifacts(tx, { runId: plan.runId, fence: plan.fence }, plan.artifacts ?? [], now);
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set phase = $3, plan_fence = fence, subjects_total = $4, frozen_at = $5,
          plan_summary = $6::json, dispatched_at = null, starts = 0, revision = revision + 1, updated_at = $5
        where id = $1 and revision = $2 returning ${RUN_COLUMNS}`,
      [
        plan.runId,
        before.revision,
        plan.total === 0 || before.dryRun ? 'collect' : 'assess',
        plan.total,
        now,
        JSON.stringify(plan.planSummary ?? null),
      ],
    );
    await appendEvents(
      tx,
      rows[0]!,
      [
        {
          kind: 'vertex_completed',
          vertexId: 'plan',
          vertexLabel: 'plan',
          completedVertices: 0,
          totalVertices: plan.total,
          message: before.dryRun ? `${plan.total} subjects counted` : `${plan.total} subjects to assess`,
        },
      ],
      now,
    );
    const run = rows[0]!;
    if (plan.approval !== undefined && run.phase === 'assess' && run.stopReason === null) {
      await waitForAnswer(tx, run, await openInterruption(tx, run, { ...plan.approval, source: 'approval' }, now), now);
    }
    await wakeDispatcher(tx);
    return true;
  });
}

/**
 * Sends a run that was stopped while it planned on to collect, without a denominator: its chunks are deleted. False when
 * the run's fence has moved on, or nobody stopped it.
 */
export function stopPlan(db: Queryable, plan: { runId: string; fence: number; now?: Date }): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `update muster.runs set phase = 'collect', dispatched_at = null, starts = 0, updated_at = $3
        where id = $1 and fence = $2 and phase = 'plan' and stop_reason is not null`,
      [plan.runId, plan.fence, plan.now ?? new Date()],
    );
    if (rowCount === 0) return false;
    await tx.query('delete from muster.chunks where run_id = $1', [plan.runId]);
    await wakeDispatcher(tx);
    return true;
  });
}

/** Keys as they are stored, in a form that PostgreSQL can hold and give back as text. */
export function keysJson(keys: readonly SubjectNames[]): string {
  return JSON.stringify(
    keys.map((names) => names.map((name) => (typeof name === 'string' ? storableText(name) : name))),
  );
}

async function checkSum(tx: Tx, runId: string, total: number): Promise<void> {
  const { rows } = await tx.query<{ sum: number; seamless: boolean; waves: number }>(
    `select coalesce(sum(size), 0)::int as sum, coalesce(bool_and(first_ordinal = before), true) as seamless,
        count(distinct wave)::int as waves
      from (
        select wave, size, first_ordinal, coalesce(sum(size) over (
          order by first_ordinal rows between unbounded preceding and 1 preceding), 0) as before
        from muster.chunks where run_id = $1
      ) planned`,
    [runId],
  );
  const { sum, seamless, waves } = rows[0]!;
  if (sum !== total) throw new LedgerMismatchError(`the plan counted ${total} subjects, its chunks hold ${sum}`);
  // Chunks of several waves stand in each other's gaps, so there each subject's own place is looked at.
  if (!(waves > 1 ? await fillsEveryPlace(tx, runId, total) : seamless)) {
    throw new LedgerMismatchError('the chunks of the plan leave a gap or overlap');
  }
}

async function fillsEveryPlace(tx: Tx, runId: string, total: number): Promise<boolean> {
  const { rows } = await tx.query<{ places: number; last: number }>(
    `select count(distinct place)::int as places, max(place)::int as last from (
      select ${PLACE} as place from muster.chunks, json_array_elements(keys) with ordinality as names (name, nth)
        where run_id = $1
    ) planned`,
    [runId],
  );
  return rows[0]!.places === total && rows[0]!.last === total - 1;
}
