/** What the tests of this room start from: a migrated database of their own, tenants, and runs brought to a phase. */

import { createHash, randomUUID } from 'node:crypto';
import { testDatabase, waitFor } from '@muster/testkit';
import { expect } from 'vitest';
import type { Database, RunAcceptance, RunRecord, SubjectNames, SubjectSettlement } from '../src/index.ts';
import {
  acceptRun,
  claimChunk,
  claimRun,
  createApiKey,
  ensureSession,
  finishRun,
  freezeRun,
  getRun,
  migrate,
  openDatabase,
  settleChunk,
  startCollect,
  writeChunks,
} from '../src/index.ts';

export interface Store {
  readonly db: Database;
  readonly url: string;
  close(): Promise<void>;
}

export async function openStore(): Promise<Store> {
  const database = await testDatabase();
  const db = openDatabase({ url: database.url, maxConnections: 12 });
  await migrate(db);
  return {
    db,
    url: database.url,
    async close() {
      await db.close();
      await database.drop();
    },
  };
}

export interface Tenant {
  readonly tenant: string;
  readonly keyId: string;
  readonly sessionId: string;
}

export async function newTenant(db: Database, tenant = `tenant-${randomUUID()}`): Promise<Tenant> {
  const { id: keyId } = await createApiKey(db, { tenant, name: 'tests', role: 'runner' });
  const session = await ensureSession(db, { tenant, keyId, name: 'default' });
  return { tenant, keyId, sessionId: session.id };
}

export function acceptance(owner: Tenant, over: Partial<RunAcceptance> = {}): RunAcceptance {
  const canonical = JSON.stringify({ cluster: 'north' });
  return {
    tenant: owner.tenant,
    session: { id: owner.sessionId },
    definition: { digest: 'def-1', name: 'fleet_check', version: '1.0.0', declaration: { name: 'fleet_check' } },
    input: { digest: createHash('sha256').update(canonical).digest('hex'), canonical },
    form: 'fleet',
    now: new Date('2026-11-30T12:00:00Z'),
    ...over,
  };
}

/** Accepts a run that must be accepted. */
export async function accepted(db: Database, owner: Tenant, over: Partial<RunAcceptance> = {}): Promise<RunRecord> {
  const outcome = await acceptRun(db, acceptance(owner, over));
  if (outcome.outcome !== 'accepted') throw new Error(`expected an accepted run, got ${outcome.outcome}`);
  return outcome.run;
}

export async function reread(db: Database, run: { id: string; tenant: string }): Promise<RunRecord> {
  return (await getRun(db, { tenant: run.tenant, runId: run.id }))!;
}

export function names(from: number, size: number): SubjectNames[] {
  return Array.from({ length: size }, (_, index) => [`subject-${from + index}`, null, `host-${(from + index) % 3}`]);
}

/** Plans and freezes a run with chunks of these sizes; returns it in its next phase with the chunks' ids in order. */
export async function frozen(
  db: Database,
  run: RunRecord,
  sizes: readonly number[],
): Promise<{ run: RunRecord; fence: number; chunkIds: string[] }> {
  const claim = await claimRun(db, { runId: run.id, phase: 'plan', dispatchNo: run.dispatchNo });
  const fence = claim!.fence;
  let ordinal = 0;
  const chunks = sizes.map((size) => {
    const chunk = {
      id: randomUUID(),
      firstOrdinal: ordinal,
      size,
      items: Buffer.from(`items-${ordinal}`),
      keys: names(ordinal, size),
    };
    ordinal += size;
    return chunk;
  });
  expect(await writeChunks(db, { runId: run.id, fence, chunks })).toBe(true);
  expect(await freezeRun(db, { runId: run.id, fence, total: ordinal, planSummary: { pages: 1 } })).toBe(true);
  return { run: await reread(db, run), fence, chunkIds: chunks.map((chunk) => chunk.id) };
}

export const OK: SubjectSettlement = { outcome: 'verdict', verdict: 'healthy', standing: 'ok' };
export const PROBLEM: SubjectSettlement = { outcome: 'verdict', verdict: 'crash_loop', standing: 'problem' };
export const DECLINED: SubjectSettlement = { outcome: 'declined', verdict: 'declined', standing: 'declined' };
export const NOT_CHECKED: SubjectSettlement = { outcome: 'not_checked', reasonCode: 'cancelled', reason: 'cancelled' };
export const CANNOT_COVER: SubjectSettlement = {
  outcome: 'cannot_cover',
  reasonCode: 'no_access',
  reason: 'no access',
};

export function times(count: number, subject: SubjectSettlement): SubjectSettlement[] {
  return Array.from({ length: count }, () => subject);
}

/** The SQLSTATE and constraint that the database refuses a statement with. */
export async function refusal(statement: Promise<unknown>): Promise<string> {
  const error = await statement.then(
    () => undefined,
    (thrown: unknown) => thrown as { sqlState?: string; constraint?: string },
  );
  return error === undefined ? 'accepted' : (error.constraint ?? error.sqlState ?? String(error));
}

/** Accepts a fleet and brings it to its answer: chunks of these sizes, every subject ends as `subject` says. */
export async function completed(
  db: Database,
  owner: Tenant,
  over: Partial<RunAcceptance> = {},
  end: { sizes?: readonly number[]; subject?: SubjectSettlement; finishedAt?: Date } = {},
): Promise<RunRecord> {
  const { run, chunkIds } = await frozen(db, await accepted(db, owner, over), end.sizes ?? []);
  for (const [index, chunkId] of chunkIds.entries()) {
    const { fence } = (await claimChunk(db, { chunkId, dispatchNo: run.dispatchNo }))!;
    await settleChunk(db, { chunkId, fence, subjects: times(end.sizes![index]!, end.subject ?? OK) });
  }
  await startCollect(db, run.id);
  return collected(db, run, end.finishedAt);
}

/** Ends a run that is in collect. */
export async function collected(db: Database, run: RunRecord, finishedAt?: Date): Promise<RunRecord> {
  const { fence } = (await claimRun(db, { runId: run.id, phase: 'collect', dispatchNo: 99 }))!;
  const answer = { kind: 'envelope' as const, body: {} };
  const status = (await reread(db, run)).stopReason === 'cancelled' ? 'cancelled' : 'completed';
  expect(await finishRun(db, { runId: run.id, fence, status, answer, now: finishedAt })).toBe('finished');
  return reread(db, run);
}

/** Resolves when somebody in this database waits for a lock. */
export async function lockWaited(db: Database): Promise<void> {
  await waitFor(
    () => db.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
    (waiting) => waiting.rowCount > 0,
    { what: 'somebody waits for a lock' },
  );
}
