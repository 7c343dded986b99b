/** What a run that waits for a person leaves behind, and what it meets: its attempts, other builds, retention. */
import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answerInterruption,
  claimChunk,
  claimRun,
  condemnOldRuns,
  expireInterruptions,
  finishRun,
  forgetRuns,
  freezeRun,
  getOpenInterruption,
  getRun,
  interruptRun,
  invariants,
  listAudit,
  listEvents,
  type RunRecord,
  requestCancel,
  settleChunk,
  stageArtifact,
  startReadyCollects,
  takeCheckpoint,
  takeDue,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, NOT_CHECKED, names, newTenant, openStore, refusal, reread, times } from './store.ts';

const HOUR_MS = 3_600_000;
const START = new Date('2026-11-30T12:00:00Z');
const at = (hours: number) => new Date(START.getTime() + hours * HOUR_MS);
const POLICY = { role: 'approver', self: true, withinMs: HOUR_MS } as const;
const ASKED = {
  question: 'Go on?',
  resumeSchema: { type: 'object' },
  policy: POLICY,
  checkpoint: Buffer.from('sealed'),
};
const envelope = { kind: 'envelope' as const, body: {} };

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

async function claimed(run: RunRecord, phase: 'procedure' | 'plan' | 'collect' = 'procedure'): Promise<number> {
  return (await claimRun(store.db, { runId: run.id, phase, dispatchNo: 99 }))!.fence;
}

async function asking(now = START): Promise<RunRecord> {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  await ask(run, now);
  return await reread(store.db, run);
}

async function ask(run: RunRecord, now: Date, artifacts: { ref: string; bytes: number }[] = []): Promise<void> {
  const fence = await claimed(run);
  for (const { ref } of artifacts) await stage(run, fence, ref);
  expect(await interruptRun(store.db, { runId: run.id, fence, ...ASKED, artifacts, now })).toBe('interrupted');
}

async function askingFleet(): Promise<{ run: RunRecord; chunkId: string }> {
  const run = await accepted(store.db, owner);
  const fence = await claimed(run, 'plan');
  const chunkId = randomUUID();
  const chunks = [{ id: chunkId, firstOrdinal: 0, size: 2, items: Buffer.from('x'), keys: names(0, 2) }];
  await writeChunks(store.db, { runId: run.id, fence, chunks });
  const { checkpoint: _none, ...approval } = ASKED;
  await freezeRun(store.db, { runId: run.id, fence, total: 2, planSummary: {}, approval, now: START });
  return { run: await reread(store.db, run), chunkId };
}

function answer(run: RunRecord, over: Partial<Parameters<typeof answerInterruption>[1]> = {}) {
  const text = '{"approved":true}';
  const digest = createHash('sha256').update(text).digest('hex');
  const by = { keyId: owner.keyId, role: 'approver' as const };
  const given = { tenant: run.tenant, runId: run.id, answer: text, digest, by, now: START, ...over };
  return answerInterruption(store.db, given);
}

function stage(run: RunRecord, fence: number, ref: string): Promise<void> {
  return stageArtifact(store.db, {
    ref,
    tenant: run.tenant,
    sessionId: run.sessionId,
    runId: run.id,
    fence,
    purpose: 'walk',
    owner: 'worker-1',
    kind: 'recording/chart-walk',
    mediaType: 'application/x-ndjson',
    storeConversation: run.id,
  });
}

const end = (run: RunRecord, fence: number, now?: Date) =>
  finishRun(store.db, { runId: run.id, fence, status: 'completed', answer: envelope, now });
const broken = async (run: RunRecord) => (await invariants(store.db)).filter(({ runId }) => runId === run.id);
const questions = async (run: RunRecord) =>
  (
    await store.db.query('select state, checkpoint from muster.interruptions where run_id = $1 order by number', [
      run.id,
    ])
  ).rows;

test('what each leg of a run committed is of an attempt that did its part, and what another one committed is not', async () => {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  for (const leg of ['first', 'second']) {
    await ask(run, START, [{ ref: `art_${run.id}_${leg}`, bytes: 1 }]);
    await answer(run);
  }
  await claimed(run);
  const fence = await claimed(run);
  await end(run, fence);
  expect(await broken(run)).toEqual([]);
  await store.db.query(`update muster.artifacts set fence = $2 where ref = $1`, [`art_${run.id}_first`, fence - 1]);
  expect(await broken(run)).toMatchObject([{ invariant: 'nothing_came_of_stale_fences' }]);
});

test('a run whose first question is over is not ended for it while it waits with its second', async () => {
  const run = await asking(at(0));
  await answer(run, { now: at(0.5) });
  await ask(run, at(0.9));
  expect(await expireInterruptions(store.db, { now: at(1.5), limit: 100 })).not.toContain(run.id);
  expect(await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id })).toMatchObject({ number: 2 });
  expect(await expireInterruptions(store.db, { now: at(2), limit: 100 })).toContain(run.id);
});

test.each([
  ['is the end of its own time', 2, 1],
  ['is the deadline of its run when that comes before', 0.5, 0.5],
  ['is its own time when the deadline is over already, and the next look at deadlines ends it', -1, 1],
])('the end that a question shows %s', async (_what, deadline, end) => {
  const run = await accepted(store.db, owner, { form: 'procedure', deadlineAt: at(deadline) });
  await ask(run, START);
  const question = await getOpenInterruption(store.db, { tenant: run.tenant, runId: run.id });
  expect(question).toMatchObject({ openedAt: START, expiresAt: at(end) });
});

test('of an answer, a refusal, a cancel and an expiry at the same time one ends the question, and the run ends once', async () => {
  const acts = {
    answer: (run: RunRecord) => answer(run),
    refusal: (run: RunRecord) => answer(run, { refused: {} }),
    cancel: (run: RunRecord) => requestCancel(store.db, { tenant: run.tenant, runId: run.id, now: START }),
    expiry: () => expireInterruptions(store.db, { now: at(1), limit: 100 }),
  };
  const names = Object.keys(acts) as (keyof typeof acts)[];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...names), { minLength: 2, maxLength: 6 }), async (chosen) => {
      const run = await asking();
      await Promise.all(chosen.map((name) => acts[name](run)));
      const [question, ...more] = await questions(run);
      expect(more).toEqual([]);
      const row = await reread(store.db, run);
      const ends = {
        cancelled: ['dropped', 'answered'],
        expired: ['expired'],
        refused: ['answered'],
        none: ['answered'],
      };
      expect(ends[(row.stopReason ?? 'none') as keyof typeof ends]).toContain(question!.state);
      expect(row.status).toBe(row.revision === 3 ? 'interrupted' : 'running');
      expect((await takeDue(store.db, { window: 1000 })).filter(({ runId }) => runId === run.id)).toHaveLength(1);
      const fence = await claimed(run);
      const goesOn = row.stopReason === null || row.status === 'running';
      expect((await takeCheckpoint(store.db, { runId: run.id, fence })) !== undefined).toBe(goesOn);
      expect(await end(run, fence)).toBe('finished');
      expect((await reread(store.db, run)).status).toBe(row.stopReason === null ? 'completed' : 'cancelled');
      expect(await questions(run)).toMatchObject([{ checkpoint: null }]);
      expect(await broken(run)).toEqual([]);
    }),
    { numRuns: 25 },
  );
});

test.each(['deadline', 'withdrawn', 'error_budget'])(
  'a build that knows no questions stops a waiting run as %s, and the run still ends, as one that nobody answered',
  async (reason) => {
    const stopped = (run: RunRecord) =>
      store.db.query('update muster.runs set stop_reason = $2 where id = $1', [run.id, reason]);
    const procedure = await asking();
    await stopped(procedure);
    expect(await answer(procedure)).toEqual({ outcome: 'stopping' });
    expect(await end(procedure, await claimed(procedure))).toBe('finished');
    const { run: fleet, chunkId } = await askingFleet();
    await stopped(fleet);
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 99 }))!;
    await settleChunk(store.db, { chunkId, fence, subjects: times(2, NOT_CHECKED), summary: {} });
    expect(await startReadyCollects(store.db, { limit: 100 })).toContain(fleet.id);
    expect(await end(fleet, await claimed(fleet, 'collect'))).toBe('finished');
    for (const run of [procedure, fleet]) {
      const cancelReason = `nobody answered before the run was stopped (${reason})`;
      expect(await reread(store.db, run)).toMatchObject({ status: 'cancelled', stopReason: 'expired', cancelReason });
      expect(await questions(run)).toEqual([{ state: 'expired', checkpoint: null }]);
      expect(await broken(run)).toEqual([]);
    }
  },
);

test('a build that knows no questions cancels a waiting run, and its question goes with its end', async () => {
  const run = await asking();
  await store.db.query(
    `update muster.runs set stop_reason = 'cancelled', cancel_requested_at = now(), cancel_reason = 'why' where id = $1`,
    [run.id],
  );
  expect((await takeDue(store.db, { window: 1000 })).map(({ id }) => id)).toContain(run.id);
  await end(run, await claimed(run));
  expect(await reread(store.db, run)).toMatchObject({ status: 'cancelled', cancelReason: 'why' });
  expect(await questions(run)).toEqual([{ state: 'dropped', checkpoint: null }]);
});

test('a run that is stopped before anybody worked on it is left to whoever ends it, not made to wait', async () => {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  await requestCancel(store.db, { tenant: run.tenant, runId: run.id });
  const fence = await claimed(run);
  expect(await reread(store.db, run)).toMatchObject({ status: 'pending' });
  expect(await interruptRun(store.db, { runId: run.id, fence, ...ASKED })).toBe('stopped');
});

test('what was staged and not committed keeps a run from waiting: all of it, or nothing', async () => {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  const fence = await claimed(run);
  const artifacts = [{ ref: 'art_nowhere', bytes: 1 }];
  await expect(interruptRun(store.db, { runId: run.id, fence, ...ASKED, artifacts })).rejects.toMatchObject({
    code: 'artifact_not_staged',
  });
  expect(await reread(store.db, run)).toMatchObject({ status: 'running', fence });
  expect(await questions(run)).toEqual([]);
});

test('a history with a question has one entry a change, and the question as its word', async () => {
  const { run } = await askingFleet();
  await answer(run);
  const { entries } = (await listEvents(store.db, { tenant: run.tenant, runId: run.id, limit: 10 }))!;
  expect(entries.map(({ revision, kind, runStatus, message }) => [revision, kind, runStatus, message])).toEqual([
    [2, 'run_started', 'running', null],
    [3, 'vertex_completed', 'running', '2 subjects to assess'],
    [4, 'run_interrupted', 'interrupted', 'Go on?'],
    [5, 'run_resumed', 'running', null],
  ]);
});

test('an approved fleet whose settler died is moved on by whoever looks, and one that still waits is not', async () => {
  const { run, chunkId } = await askingFleet();
  expect(await startReadyCollects(store.db, { limit: 100 })).not.toContain(run.id);
  await answer(run);
  const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 99 }))!;
  await settleChunk(store.db, { chunkId, fence, subjects: times(2, NOT_CHECKED), summary: {} });
  expect(await startReadyCollects(store.db, { limit: 100 })).toContain(run.id);
});

test.each([
  [
    'stands open beside another one',
    `insert into muster.interruptions select (jsonb_populate_record(interruptions,
      jsonb_build_object('id', gen_random_uuid(), 'number', 2))).* from muster.interruptions where run_id = $1`,
    'interruptions_one_open',
  ],
  [
    'has the number of another one',
    `insert into muster.interruptions select (jsonb_populate_record(interruptions,
      jsonb_build_object('id', gen_random_uuid(), 'state', 'dropped', 'closed_at', now()))).* from muster.interruptions
      where run_id = $1`,
    'interruptions_run_id_number_key',
  ],
  [
    'is closed without an end',
    `update muster.interruptions set state = 'dropped' where run_id = $1`,
    'interruptions_closed_has_end',
  ],
  [
    'is answered by nobody',
    `update muster.interruptions set state = 'answered', closed_at = now(), answer = '{}',
      answer_digest = 'd' where run_id = $1`,
    'interruptions_answer_is_whole',
  ],
  [
    'asks for another form of answer',
    `update muster.interruptions set resume_schema = '{}' where run_id = $1`,
    'MU013',
  ],
  ['stands longer than it was to', `update muster.interruptions set expires_at = now() where run_id = $1`, 'MU013'],
])('the database refuses a question that %s', async (_what, statement, refusedBy) => {
  expect(await refusal(store.db.query(statement, [(await asking()).id]))).toBe(refusedBy);
});

test('retention takes the questions with their run, and leaves the audit', async () => {
  const run = await asking();
  await answer(run);
  await end(run, await claimed(run), at(1));
  expect(await condemnOldRuns(store.db, { finishedBefore: at(2), limit: 1000 })).toContain(run.id);
  expect(await forgetRuns(store.db, [run.id])).toEqual([run.id]);
  expect(await getRun(store.db, { tenant: run.tenant, runId: run.id })).toBeUndefined();
  expect(await questions(run)).toEqual([]);
  const { entries } = await listAudit(store.db, { tenant: run.tenant, runId: run.id, limit: 10 });
  expect(entries).toMatchObject([{ action: 'run_resumed', keyId: owner.keyId, details: { role: 'approver' } }]);
});

test('the audit is read newest first, page by page, of a tenant or of one run', async () => {
  const runs = [await asking(), await asking()];
  for (const run of runs) await answer(run);
  const whole = await listAudit(store.db, { tenant: owner.tenant, limit: 1000 });
  expect(whole.entries.map(({ id }) => id)).toEqual(whole.entries.map(({ id }) => id).sort((a, b) => b - a));
  const seen: number[] = [];
  for (let after: number | undefined, more = true; more; more = after !== undefined) {
    const page = await listAudit(store.db, { tenant: owner.tenant, after, limit: 3 });
    seen.push(...page.entries.map(({ id }) => id));
    after = page.nextAfter;
  }
  expect(seen).toEqual(whole.entries.map(({ id }) => id));
  const of = await listAudit(store.db, { tenant: owner.tenant, runId: runs[0]!.id, limit: 10 });
  expect(of.entries).toMatchObject([{ runId: runs[0]!.id, action: 'run_resumed' }]);
  const { tenant } = await newTenant(store.db);
  expect(await listAudit(store.db, { tenant, limit: 10 })).toEqual({ entries: [] });
});
