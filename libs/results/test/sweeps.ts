/** Sweeps for the tests of what changed: runs of one scope, brought to their end with rows that a test names. */

import { randomUUID } from 'node:crypto';
import type { Database, JudgedBy, PlanGaps, RunAcceptance, RunRecord, SubjectSettlement, Sweep } from '../src/index.ts';
import {
  claimChunk,
  claimRun,
  finishRun,
  freezeRun,
  pageChanges,
  pageStandings,
  requestCancel,
  settleChunk,
  startCollect,
  writeChunks,
} from '../src/index.ts';
import { accepted, CANNOT_COVER, DECLINED, NOT_CHECKED, OK, PROBLEM, reread, type Tenant } from './store.ts';

export const SCOPE = 'nightly';
export const RULES: JudgedBy = { name: 'fleet rules', version: '1', digest: 'a' };
export const WHOLE: PlanGaps = { left: false, never: ['the state of nodes'] };

/** How a row ends. `cut`: the run was stopped before it. */
export type RowEnd = 'ok' | 'problem' | 'declined' | 'failed' | 'uncovered' | 'cut';

/** A subject of a sweep: its key is `identity/n`, with the n-th row of that identity. One that begins with `=` has none. */
export type SweptRow = readonly [identity: string, end: RowEnd, target?: string];

const ENDS: Readonly<Record<RowEnd, SubjectSettlement>> = {
  ok: OK,
  problem: { ...PROBLEM, reason: 'restarts' },
  declined: { ...DECLINED, reason: 'no signal' },
  failed: { outcome: 'not_checked', reasonCode: 'timeout', reason: 'took too long' },
  uncovered: CANNOT_COVER,
  cut: NOT_CHECKED,
};

/** A run of the scope, planned with these rows and not yet finished. */
export interface OpenSweep {
  readonly run: RunRecord;
  finish(over?: FinishOptions): Promise<Swept>;
}

export interface Swept {
  readonly run: RunRecord;
  readonly outcome: 'finished' | 'lost';
  /** What was recorded; undefined: this run has no part in it. */
  readonly sweep: Sweep | undefined;
}

export interface FinishOptions {
  readonly judgedBy?: JudgedBy;
  readonly gaps?: PlanGaps;
  readonly fence?: number;
}

/** Plans, freezes and settles a run; what is `cut` is settled by its cancel. */
export async function openSweep(
  db: Database,
  owner: Tenant,
  rows: readonly SweptRow[],
  over: Partial<RunAcceptance> = {},
): Promise<OpenSweep> {
  const run = await accepted(db, owner, { scopeKey: SCOPE, ...over });
  const { fence } = (await claimRun(db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const times = new Map<string, number>();
  const keys = rows.map(([identity, , target]) => {
    const nth = (times.get(identity) ?? 0) + 1;
    times.set(identity, nth);
    const isKey = identity.startsWith('=');
    return [isKey ? identity : `${identity}/${nth}`, isKey ? null : identity, target ?? null] as const;
  });
  const chunk = { id: randomUUID(), firstOrdinal: 0, size: rows.length, items: Buffer.from('x'), keys };
  if (rows.length > 0) await writeChunks(db, { runId: run.id, fence, chunks: [chunk] });
  await freezeRun(db, { runId: run.id, fence, total: rows.length, planSummary: {} });
  if (rows.some(([, end]) => end === 'cut')) await requestCancel(db, { tenant: run.tenant, runId: run.id });
  if (rows.length > 0 && !run.dryRun) {
    const claim = (await claimChunk(db, { chunkId: chunk.id, dispatchNo: 0 }))!;
    await settleChunk(db, { chunkId: chunk.id, fence: claim.fence, subjects: rows.map(([, end]) => ENDS[end]) });
    await startCollect(db, run.id);
  }
  return { run: await reread(db, run), finish: (options) => finishSweep(db, run, options) };
}

/** Finishes a run that is in collect. */
export async function finishSweep(db: Database, run: RunRecord, options: FinishOptions = {}): Promise<Swept> {
  const claimed = options.fence ?? (await claimRun(db, { runId: run.id, phase: 'collect', dispatchNo: 99 }))!.fence;
  const { stopReason } = await reread(db, run);
  let sweep: Sweep | undefined;
  const outcome = await finishRun(db, {
    runId: run.id,
    fence: claimed,
    status: stopReason === 'cancelled' ? 'cancelled' : 'completed',
    answer: { kind: 'envelope', body: {} },
    sweep: {
      judgedBy: options.judgedBy ?? RULES,
      gaps: options.gaps ?? WHOLE,
      compose(recorded) {
        sweep = recorded;
        return { changes: recorded.counts };
      },
    },
  });
  return { run: await reread(db, run), outcome, sweep };
}

/** A whole sweep: planned, settled and finished. */
export async function swept(
  db: Database,
  owner: Tenant,
  rows: readonly SweptRow[],
  over: Partial<RunAcceptance> & FinishOptions = {},
): Promise<Swept> {
  const { judgedBy, gaps, fence, ...acceptance } = over;
  const options = { ...(judgedBy && { judgedBy }), ...(gaps && { gaps }), ...(fence && { fence }) };
  return (await openSweep(db, owner, rows, acceptance)).finish(options);
}

/** The counts that are not zero. */
export function counted({ sweep }: Swept): Record<string, number> {
  return Object.fromEntries(Object.entries(sweep?.counts ?? {}).filter(([, count]) => count > 0));
}

/** The changes of a run, as `change identity: from > to`. */
export async function edges(db: Database, run: RunRecord): Promise<string[]> {
  const { rows } = await pageChanges(db, { tenant: run.tenant, runId: run.id, limit: 1000 });
  return rows.map(
    ({ change, identity, fromStanding, toStanding }) =>
      `${change} ${identity}: ${fromStanding ?? '-'} > ${toStanding ?? '-'}`,
  );
}

/** What is known in the scope, by identity. */
export async function known(db: Database, tenant: string) {
  const { rows } = await pageStandings(db, { tenant, runbook: 'fleet_check', scopeKey: SCOPE, limit: 1000 });
  return new Map(rows.map((row) => [row.identity, row]));
}
