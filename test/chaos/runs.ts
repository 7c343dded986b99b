/** What tests ask of runs, by SQL: the API may be away when they ask. */
import type { Database } from '@muster/results';
import { waitFor } from '@muster/testkit';
import type { ChaosCluster } from './chaos-cluster.ts';
import { machineName, type Outcome, rightOutcome } from './fleet.ts';

const FINAL = ['completed', 'cancelled', 'failed'];
const PATIENCE_MS = 120_000;

export interface RunRow {
  readonly status: string;
  readonly phase: string;
  readonly answer_kind: string | null;
  readonly starts: number;
  readonly fence: number;
}

export interface ChunkRow {
  readonly id: string;
  readonly state: string;
  readonly fence: number;
  readonly starts: number;
  readonly first_ordinal: number;
  readonly size: number;
}

export async function readRun(db: Database, runId: string): Promise<RunRow> {
  const { rows } = await db.query<RunRow>(
    'select status, phase, answer_kind, starts, fence from muster.runs where id = $1',
    [runId],
  );
  return rows[0]!;
}

export async function readChunks(db: Database, runId: string): Promise<ChunkRow[]> {
  const { rows } = await db.query<ChunkRow>(
    `select id, state, fence, starts, first_ordinal, size from muster.chunks where run_id = $1 order by first_ordinal`,
    [runId],
  );
  return rows;
}

/** The open chunk that holds a machine. */
export async function chunkOf(db: Database, runId: string, machine: number): Promise<ChunkRow> {
  const chunks = await readChunks(db, runId);
  return chunks.find(({ first_ordinal: first, size }) => machine >= first && machine < first + size)!;
}

/** How many subjects of a run have their outcome. */
export async function settledOf(db: Database, runId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>('select count(*) from muster.subjects where run_id = $1', [runId]);
  return rows[0]!.count;
}

export async function maxStarts(db: Database, runId: string): Promise<number> {
  return Math.max(0, ...(await readChunks(db, runId)).map(({ starts }) => starts));
}

/** Each subject's outcome in short, by its key. */
export async function outcomesOf(db: Database, runId: string): Promise<Record<string, Outcome>> {
  const { rows } = await db.query<Outcome & { key: string }>(
    'select key, outcome, verdict, reason_code from muster.subjects where run_id = $1 order by ordinal',
    [runId],
  );
  return Object.fromEntries(rows.map(({ key, ...outcome }) => [key, outcome]));
}

/** What a healthy run says of so many machines. */
export function rightOutcomes(machines: number): Record<string, Outcome> {
  return Object.fromEntries(
    Array.from({ length: machines }, (_, number) => [machineName(number), rightOutcome(number)]),
  );
}

export async function untilEnded(db: Database, runId: string): Promise<RunRow> {
  return await waitFor(
    () => readRun(db, runId),
    (run) => FINAL.includes(run.status),
    { what: `the end of run ${runId}`, timeoutMs: PATIENCE_MS },
  );
}

/** Waits until a run has settled at least so many subjects. */
export async function untilSettled(db: Database, runId: string, least: number): Promise<void> {
  await waitFor(
    () => settledOf(db, runId),
    (settled) => settled >= least,
    { what: `${least} settled subjects`, timeoutMs: PATIENCE_MS },
  );
}

/** Waits until somebody else has claimed a chunk, or settled it. */
export async function untilReclaimed(db: Database, chunk: ChunkRow): Promise<void> {
  await waitFor(
    async () => (await db.query<ChunkRow>('select state, fence from muster.chunks where id = $1', [chunk.id])).rows[0]!,
    ({ state, fence }) => fence > chunk.fence || state === 'settled',
    { what: `another claim of chunk ${chunk.id}`, timeoutMs: PATIENCE_MS },
  );
}

/** A sweep that takes a while: long enough to be hurt in the middle of it. */
export async function startSweep(
  cluster: ChaosCluster,
  machines: number,
  more: { readonly runbook?: string; readonly pauseMs?: number } = {},
): Promise<string> {
  const { runbook = 'computing', pauseMs = 0 } = more;
  return await cluster.startRun(runbook, { machines, ...(pauseMs > 0 && { pause_ms: pauseMs }) });
}
