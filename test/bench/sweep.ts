/**
 * One sweep through real processes, from the request that starts it to its answer in the database: how long it took, what
 * each process used, what it left behind.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@muster/results';
import type { Stage, Workers } from './stage.ts';
import { type ProcessUsage, startMeter } from './usage.ts';

export interface SweepFigures {
  readonly subjects: number;
  /** From the request to the answer, seen from outside. */
  readonly seconds: number;
  readonly subjects_per_second: number;
  readonly microseconds_per_subject: number;
  readonly acknowledged_ms: number;
  readonly phases_ms: { readonly plan: number; readonly assess: number; readonly collect: number };
  readonly processes: Readonly<Record<string, ProcessUsage>>;
  readonly wal_bytes_per_subject: number;
  /** What the store's files hold, and what they take on the disk. */
  readonly artifact_bytes_per_1000: number;
  readonly artifact_disk_bytes_per_1000: number;
  /** Subject rows, chunks and artifact rows with their indexes. */
  readonly database_bytes_per_1000: number;
}

export interface SweepRequest {
  readonly runbook: string;
  readonly subjects: number;
  readonly signal: AbortSignal;
}

/** A sweep that did not end as it should, or did not settle every subject. */
export class SweepError extends Error {
  override readonly name = 'SweepError';
}

/** Between two looks, in ms: short sweeps are looked at often, so that the look costs them little. */
const LEAST_LOOK_MS = 5;
const MOST_LOOK_MS = 50;
const SUBJECTS_PER_LOOK_MS = 400;

/**
 * Sweeps once.
 *
 * @throws SweepError when it ended otherwise than completed, and the signal's reason when that comes first
 */
export async function measureSweep(stage: Stage, workers: Workers, request: SweepRequest): Promise<SweepFigures> {
  const { subjects, signal } = request;
  const before = await measureStores(stage);
  const meter = await startMeter([...workers.metered, ...stage.services]);
  let processes: Record<string, ProcessUsage>;
  let seconds: number;
  let run: { runId: string; acknowledgedMs: number };
  try {
    const startedAt = performance.now();
    run = await stage.startRun(request.runbook, subjects);
    await untilAnswered(stage.db, run.runId, subjects, signal);
    seconds = (performance.now() - startedAt) / 1000;
  } finally {
    processes = await meter.stop();
  }
  const after = await measureStores(stage);
  const per1000 = (key: keyof StoreSizes) => Math.round(((after[key] - before[key]) * 1000) / subjects);
  return {
    subjects,
    seconds: Number(seconds.toFixed(3)),
    subjects_per_second: Math.round(subjects / seconds),
    microseconds_per_subject: Number(((seconds * 1e6) / subjects).toFixed(1)),
    acknowledged_ms: Number(run.acknowledgedMs.toFixed(1)),
    phases_ms: await readPhases(stage.db, run.runId, subjects),
    processes,
    wal_bytes_per_subject: Math.round((after.wal - before.wal) / subjects),
    artifact_bytes_per_1000: per1000('artifacts'),
    artifact_disk_bytes_per_1000: per1000('artifactsOnDisk'),
    database_bytes_per_1000: per1000('database'),
  };
}

async function untilAnswered(db: Database, runId: string, subjects: number, signal: AbortSignal): Promise<void> {
  const lookMs = Math.min(MOST_LOOK_MS, Math.max(LEAST_LOOK_MS, subjects / SUBJECTS_PER_LOOK_MS));
  for (;;) {
    signal.throwIfAborted();
    const { rows } = await db.query<{ status: string; phase: string; summary: string | null }>(
      'select status, phase, status_summary as summary from muster.runs where id = $1',
      [runId],
    );
    const run = rows[0];
    if (run?.phase === 'done') {
      if (run.status === 'completed') return;
      throw new SweepError(`the sweep ended ${run.status}: ${run.summary}`);
    }
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

async function readPhases(db: Database, runId: string, subjects: number): Promise<SweepFigures['phases_ms']> {
  const { rows } = await db.query<Record<'created' | 'frozen' | 'settled' | 'finished', Date> & { size: number }>(
    `select runs.created_at as created, runs.frozen_at as frozen, runs.finished_at as finished,
        max(chunks.settled_at) as settled, sum(chunks.size)::int as size
      from muster.runs join muster.chunks on chunks.run_id = runs.id where runs.id = $1 group by runs.id`,
    [runId],
  );
  const run = rows[0];
  if (run?.size !== subjects) throw new SweepError(`${run?.size ?? 0} of ${subjects} subjects were settled`);
  return {
    plan: run.frozen.getTime() - run.created.getTime(),
    assess: run.settled.getTime() - run.frozen.getTime(),
    collect: run.finished.getTime() - run.settled.getTime(),
  };
}

interface StoreSizes {
  readonly wal: number;
  readonly database: number;
  readonly artifacts: number;
  readonly artifactsOnDisk: number;
}

async function measureStores({ db, artifactsFolder }: Stage): Promise<StoreSizes> {
  const { rows } = await db.query<{ wal: string; database: string }>(
    `select pg_current_wal_lsn() - '0/0'::pg_lsn as wal,
        (select sum(pg_total_relation_size(relid)) from pg_partition_tree('muster.subjects'))
          + pg_total_relation_size('muster.chunks') + pg_total_relation_size('muster.artifacts') as database`,
  );
  const entries = await readdir(artifactsFolder, { recursive: true, withFileTypes: true });
  let artifacts = 0;
  let artifactsOnDisk = 0;
  for (const file of entries.filter((entry) => entry.isFile())) {
    const { size, blocks } = await stat(join(file.parentPath, file.name));
    artifacts += size;
    artifactsOnDisk += blocks * 512;
  }
  return { wal: Number(rows[0]?.wal), database: Number(rows[0]?.database), artifacts, artifactsOnDisk };
}
