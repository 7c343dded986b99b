/** Runs that wait for a person: what is kept, who may answer, and that each question is answered once. */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answerInterruption,
  claimChunk,
  claimRun,
  createApiKey,
  expireInterruptions,
  finishRun,
  freezeRun,
  getOpenInterruption,
  type InterruptionAnswer,
  interruptRun,
  invariants,
  listAudit,
  listEvents,
  listOpenInterruptions,
  type RunRecord,
  requestCancel,
  sealOverdue,
  settleChunk,
  startCollect,
  takeCheckpoint,
  takeDue,
  withdrawRuns,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, NOT_CHECKED, names, newTenant, openStore, reread, times } from './store.ts';

const HOUR_MS = 3_600_000;
const POLICY = { role: 'approver', self: false, withinMs: HOUR_MS } as const;
const SCHEMA = { type: 'object', properties: { approved: { type: 'boolean' } }, additionalProperties: false };
const ASKED = { question: 'Restart three hosts?', details: { hosts: 3 }, resumeSchema: SCHEMA, policy: POLICY };
const CHECKPOINT = Buffer.from('sealed');
const envelope = { kind: 'envelope' as const, body: {} };

let store: Store;
let owner: Tenant;
let approver: string;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

/** Each test has a tenant of its own, with a second key that may answer. */
async function freshTenant(): Promise<void> {
  owner = await newTenant(store.db);
  approver = (await createApiKey(store.db, { tenant: owner.tenant, name: 'second', role: 'approver' })).id;
}

async function claimed(run: RunRecord, phase: 'procedure' | 'plan' | 'collect'): Promise<number> {
  return (await claimRun(store.db, { runId: run.id, phase, dispatchNo: 99 }))!.fence;
}

async function interruptedProcedure(over: Partial<typeof ASKED> = {}): Promise<RunRecord> {
  await freshTenant();
  const run = await accepted(store.db, owner, { form: 'procedure' });
  const fence = await claimed(run, 'procedure');
  const asked = { runId: run.id, fence, ...ASKED, ...over, checkpoint: CHECKPOINT };
  expect(await interruptRun(store.db, asked)).toBe('interrupted');
  return await reread(store.db, run);
}

async function interruptedFleet(over: Parameters<typeof accepted>[2] = {}): Promise<RunRecord> {
  await freshTenant();
  const run = await accepted(store.db, owner, over);
  const fence = await claimed(run, 'plan');
  const chunks = [{ firstOrdinal: 0, size: 2, items: Buffer.from('x'), keys: names(0, 2) }];
  await writeChunks(store.db, { runId: run.id, fence, chunks });
  expect(await freezeRun(store.db, { runId: run.id, fence, total: 2, planSummary: {}, approval: ASKED })).toBe(true);
  return await reread(store.db, run);
}

function answer(run: RunRecord, value: object = { approved: true }, over: Partial<InterruptionAnswer> = {}) {
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  const by = { keyId: approver, role: 'approver' as const };
  return answerInterruption(store.db, { tenant: run.tenant, runId: run.id, answer: text, digest, by, ...over });
}

async function kinds(run: RunRecord): Promise<string[]> {
  const page = await listEvents(store.db, { tenant: run.tenant, runId: run.id, limit: 100 });
  return page!.entries.map((entry) => entry.kind);
}

/** What this test's tenant has to be sent. */
async function due() {
  return (await takeDue(store.db, { window: 1000 })).filter(({ tenant }) => tenant === owner.tenant);
}

async function dueRuns(): Promise<string[]> {
  return (await due()).map(({ id }) => id);
}

describe('a chart that asks', () => {
  test('waits with its question, and nobody is sent to it', async () => {
    const run = await interruptedProcedure();
    expect(run).toMatchObject({ status: 'interrupted', phase: 'procedure', dispatchedAt: null, starts: 0 });
    const scope = { tenant: run.tenant, runId: run.id };
    expect(await getOpenInterruption(store.db, scope)).toMatchObject({
      number: 1,
      source: 'procedure',
      question: 'Restart three hosts?',
      details: { hosts: 3 },
      resumeSchema: SCHEMA,
      neededRole: 'approver',
      selfAllowed: false,
      state: 'open',
    });
    expect(await dueRuns()).toEqual([]);
    expect(await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 99 })).toBeUndefined();
    expect(await kinds(run)).toEqual(['run_started', 'run_interrupted']);
  });

  test('never shows its checkpoint but to the attempt that goes on from it', async () => {
    const run = await interruptedProcedure();
    const open = await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id });
    expect(Object.keys(open!)).not.toContain('checkpoint');
    expect(await takeCheckpoint(store.db, { runId: run.id, fence: run.fence })).toBeUndefined();
    await answer(run);
    const fence = await claimed(run, 'procedure');
    expect(await takeCheckpoint(store.db, { runId: run.id, fence: fence - 1 })).toBeUndefined();
    expect(await takeCheckpoint(store.db, { runId: run.id, fence })).toMatchObject({
      number: 1,
      checkpoint: CHECKPOINT,
      answer: { approved: true },
      definitionDigest: run.definitionDigest,
    });
  });

  test('goes on from the same place again when the attempt that went on died', async () => {
    const run = await interruptedProcedure();
    await answer(run);
    await claimed(run, 'procedure');
    const fence = await claimed(run, 'procedure');
    expect(await takeCheckpoint(store.db, { runId: run.id, fence })).toBeDefined();
  });

  test('may ask again, and then the first checkpoint is gone', async () => {
    const run = await interruptedProcedure();
    await answer(run);
    const fence = await claimed(run, 'procedure');
    const second = { runId: run.id, fence, ...ASKED, question: 'And the fourth?', checkpoint: Buffer.from('later') };
    expect(await interruptRun(store.db, second)).toBe('interrupted');
    expect(await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id })).toMatchObject({ number: 2 });
    await answer(run);
    const taken = await takeCheckpoint(store.db, { runId: run.id, fence: await claimed(run, 'procedure') });
    expect(taken).toMatchObject({ number: 2, checkpoint: Buffer.from('later') });
  });

  test('keeps no checkpoint once its run is over', async () => {
    const run = await interruptedProcedure();
    await answer(run);
    const fence = await claimed(run, 'procedure');
    expect(await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer: envelope })).toBe('finished');
    const { rows } = await store.db.query('select checkpoint from muster.interruptions where run_id = $1', [run.id]);
    expect(rows).toEqual([{ checkpoint: null }]);
    expect(await kinds(run)).toEqual(['run_started', 'run_interrupted', 'run_resumed', 'run_completed']);
    expect((await invariants(store.db)).filter(({ runId }) => runId === run.id)).toEqual([]);
  });

  test('is lost to an attempt whose fence has moved on, and left to who stopped the run', async () => {
    await freshTenant();
    const run = await accepted(store.db, owner, { form: 'procedure' });
    const stale = await claimed(run, 'procedure');
    const fence = await claimed(run, 'procedure');
    const asked = { runId: run.id, ...ASKED, checkpoint: CHECKPOINT };
    expect(await interruptRun(store.db, { ...asked, fence: stale })).toBe('lost');
    await requestCancel(store.db, { tenant: run.tenant, runId: run.id });
    expect(await interruptRun(store.db, { ...asked, fence })).toBe('stopped');
    expect(await reread(store.db, run)).toMatchObject({ status: 'running' });
  });
});

describe('an answer', () => {
  test('lets the run go on, once, however many give it at the same time', async () => {
    const run = await interruptedProcedure();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => answer(run)));
    const resumed = outcomes.filter(({ outcome }) => outcome === 'resumed');
    expect(resumed).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'not_interrupted')).toHaveLength(7);
    expect(await kinds(run)).toEqual(['run_started', 'run_interrupted', 'run_resumed']);
    expect(await dueRuns()).toEqual([run.id]);
  });

  test('of the key that started the run counts only where the question or the caller allows it', async () => {
    const run = await interruptedProcedure();
    const by = { keyId: owner.keyId, role: 'approver' as const };
    expect(await answer(run, {}, { by })).toEqual({ outcome: 'self' });
    expect(await answer(run, {}, { by, allowSelf: true })).toMatchObject({ outcome: 'resumed' });
    const open = await interruptedProcedure({ policy: { ...POLICY, self: true } as never });
    expect(await answer(open, {}, { by: { keyId: owner.keyId, role: 'runner' } })).toMatchObject({
      outcome: 'resumed',
    });
  });

  test('to another question than the one that it was checked for changes nothing', async () => {
    const run = await interruptedProcedure();
    expect(await answer(run, {}, { number: 2 })).toEqual({ outcome: 'not_interrupted', status: 'interrupted' });
    expect(await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id })).toMatchObject({ number: 1 });
  });

  test('from another tenant or session finds nothing', async () => {
    const run = await interruptedProcedure();
    expect(await answer(run, {}, { tenant: 'somebody-else' })).toEqual({ outcome: 'not_found' });
    expect(await answer(run, {}, { sessionId: randomUUID() })).toEqual({ outcome: 'not_found' });
  });

  test('after its time, or while the run is being cancelled, is told so', async () => {
    const run = await interruptedProcedure();
    const late = new Date(Date.now() + 2 * HOUR_MS);
    expect(await answer(run, {}, { now: late })).toEqual({ outcome: 'expired' });
    await requestCancel(store.db, { tenant: run.tenant, runId: run.id });
    expect(await answer(run)).toEqual({ outcome: 'stopping' });
  });

  test('is in the audit with who gave it, and nobody can change that', async () => {
    const run = await interruptedProcedure();
    await answer(run, { approved: true, reason: 'change 4711' });
    const { entries } = await listAudit(store.db, { tenant: run.tenant, runId: run.id, limit: 10 });
    expect(entries).toMatchObject([
      {
        action: 'run_resumed',
        keyId: approver,
        details: { number: 1, answer: { approved: true, reason: 'change 4711' } },
      },
    ]);
    for (const statement of [
      "update muster.audit set action = 'nothing'",
      'delete from muster.audit',
      'truncate muster.audit',
    ]) {
      await expect(store.db.query(statement)).rejects.toMatchObject({ sqlState: 'MU015' });
    }
  });
});

describe('a fleet that asks before it is assessed', () => {
  test('is frozen, and none of its chunks is sent or claimed', async () => {
    const run = await interruptedFleet();
    expect(run).toMatchObject({ status: 'interrupted', phase: 'assess', subjectsTotal: 2 });
    expect(await due()).toEqual([]);
    const { rows } = await store.db.query<{ id: string }>('select id from muster.chunks where run_id = $1', [run.id]);
    expect(await claimChunk(store.db, { chunkId: rows[0]!.id, dispatchNo: 99 })).toBeUndefined();
    expect(await startCollect(store.db, run.id)).toBe(false);
    expect(await kinds(run)).toEqual(['run_started', 'vertex_completed', 'run_interrupted']);
  });

  test('is assessed after a yes', async () => {
    const run = await interruptedFleet();
    expect(await answer(run)).toMatchObject({ outcome: 'resumed', run: { status: 'running', phase: 'assess' } });
    const [item] = await due();
    expect(item).toMatchObject({ kind: 'assess', runId: run.id });
    expect(await claimChunk(store.db, { chunkId: item!.id, dispatchNo: item!.dispatchNo })).toBeDefined();
  });

  test.each([
    [
      'no',
      'refused',
      'not approved: too many',
      (run: RunRecord) => answer(run, { approved: false }, { refused: { reason: 'too many' } }),
    ],
    [
      'nothing in time',
      'expired',
      'nobody answered in time',
      (run: RunRecord) =>
        expireInterruptions(store.db, { now: new Date(Date.now() + 2 * HOUR_MS), limit: 100 }).then((ids) =>
          expect(ids).toContain(run.id),
        ),
    ],
    [
      'a cancel',
      'cancelled',
      'enough',
      (run: RunRecord) => requestCancel(store.db, { tenant: run.tenant, runId: run.id, reason: 'enough' }),
    ],
  ] as const)('after %s, its chunks are settled unassessed and it ends cancelled', async (_what, reason, why, act) => {
    const run = await interruptedFleet();
    await act(run);
    expect(await reread(store.db, run)).toMatchObject({ status: 'interrupted', stopReason: reason, cancelReason: why });
    expect(await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id })).toBeUndefined();
    const [item] = await due();
    expect(item).toMatchObject({ kind: 'assess', runId: run.id });
    const claim = (await claimChunk(store.db, { chunkId: item!.id, dispatchNo: item!.dispatchNo }))!;
    const settlement = { chunkId: item!.id, fence: claim.fence, subjects: times(2, NOT_CHECKED), summary: {} };
    expect(await settleChunk(store.db, settlement)).toBe('settled');
    expect(await startCollect(store.db, run.id)).toBe(true);
    const fence = await claimed(run, 'collect');
    expect(await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer: envelope })).toBe('finished');
    expect(await reread(store.db, run)).toMatchObject({ status: 'cancelled', phase: 'done' });
    expect((await kinds(run)).at(-1)).toBe('run_cancelled');
    expect((await invariants(store.db)).filter(({ runId }) => runId === run.id)).toEqual([]);
  });

  test('ends as expired when its deadline comes before the answer', async () => {
    const run = await interruptedFleet({ deadlineAt: new Date(Date.now() + 60_000) });
    expect(await sealOverdue(store.db, { now: new Date(Date.now() + 120_000), limit: 100 })).toContain(run.id);
    expect(await reread(store.db, run)).toMatchObject({ stopReason: 'expired' });
  });

  test('keeps waiting while nobody has its definition', async () => {
    const run = await interruptedFleet();
    const later = new Date(Date.now() + HOUR_MS / 2);
    await withdrawRuns(store.db, { now: later, patienceMs: 1000, limit: 100 });
    expect(await reread(store.db, run)).toMatchObject({ status: 'interrupted', stopReason: null });
  });

  test.each([
    ['a dry run', { dryRun: true }, 2],
    ['nothing found', {}, 0],
  ])('%s asks nobody', async (_what, over, total) => {
    await freshTenant();
    const run = await accepted(store.db, owner, over);
    const fence = await claimed(run, 'plan');
    const chunks = total === 0 ? [] : [{ firstOrdinal: 0, size: 2, items: Buffer.from('x'), keys: names(0, 2) }];
    await writeChunks(store.db, { runId: run.id, fence, chunks });
    await freezeRun(store.db, { runId: run.id, fence, total, planSummary: {}, approval: ASKED });
    expect(await reread(store.db, run)).toMatchObject({ status: 'running', phase: 'collect' });
  });
});

test('an expiry comes once, and only to questions whose time is over', async () => {
  const run = await interruptedProcedure();
  const before = new Date(Date.now() + HOUR_MS / 2);
  expect(await expireInterruptions(store.db, { now: before, limit: 100 })).not.toContain(run.id);
  const after = new Date(Date.now() + 2 * HOUR_MS);
  const ends = await Promise.all(
    Array.from({ length: 4 }, () => expireInterruptions(store.db, { now: after, limit: 100 })),
  );
  expect(ends.flat().filter((id) => id === run.id)).toHaveLength(1);
  const { entries } = await listAudit(store.db, { tenant: run.tenant, runId: run.id, limit: 10 });
  expect(entries).toMatchObject([{ action: 'run_expired', keyId: null }]);
  expect(await dueRuns()).toEqual([run.id]);
});

test('open questions are listed by tenant and session, page by page, the longest open first', async () => {
  await freshTenant();
  const runs: RunRecord[] = [];
  while (runs.length < 3) {
    const run = await accepted(store.db, owner, { form: 'procedure' });
    const fence = await claimed(run, 'procedure');
    await interruptRun(store.db, { runId: run.id, fence, ...ASKED, checkpoint: CHECKPOINT });
    runs.push(run);
  }
  const { tenant } = owner;
  const first = await listOpenInterruptions(store.db, { tenant, limit: 2 });
  expect(first.interruptions.map(({ runId }) => runId)).toEqual([runs[0]!.id, runs[1]!.id]);
  // The last one of the page is answered meanwhile, and the cursor still holds.
  await answer(runs[1]!);
  const second = await listOpenInterruptions(store.db, { tenant, after: first.nextAfter!, limit: 2 });
  expect(second).toMatchObject({ interruptions: [{ runId: runs[2]!.id }] });
  expect(second.nextAfter).toBeUndefined();
  expect((await listOpenInterruptions(store.db, { tenant, sessionId: randomUUID(), limit: 2 })).interruptions).toEqual(
    [],
  );
  await expect(listOpenInterruptions(store.db, { tenant, after: randomUUID(), limit: 2 })).rejects.toMatchObject({
    code: 'unknown_cursor',
  });
});

test('what a run asks never changes, and a closed question stays closed', async () => {
  const run = await interruptedProcedure();
  const change = (set: string) => store.db.query(`update muster.interruptions set ${set} where run_id = $1`, [run.id]);
  await expect(change("question = 'Something else?'")).rejects.toMatchObject({ sqlState: 'MU013' });
  await expect(change("checkpoint = '\\x00'::bytea")).rejects.toMatchObject({ sqlState: 'MU014' });
  await answer(run);
  await expect(
    change("state = 'open', closed_at = null, answer = null, answer_digest = null, answered_by = null"),
  ).rejects.toMatchObject({ sqlState: 'MU012' });
});
