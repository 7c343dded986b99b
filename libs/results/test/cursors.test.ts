import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunEvent, RunEventPage } from '../src/index.ts';
import {
  claimChunk,
  claimRun,
  finishRun,
  getSubject,
  listEvents,
  listRuns,
  pageSubjects,
  settleChunk,
} from '../src/index.ts';
import type { Store } from './store.ts';
import { accepted, DECLINED, frozen, NOT_CHECKED, newTenant, OK, openStore, PROBLEM } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

test('turning the pages of runs meets every run once, whatever arrives meanwhile and at whatever instants', async () => {
  await fc.assert(
    fc.asyncProperty(
      // Instants from a small range, so that many runs share one.
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 4, max: 6 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (before, arriving, limit) => {
        const owner = await newTenant(store.db);
        const accept = (second: number) =>
          accepted(store.db, owner, { acceptedAt: new Date(Date.UTC(2026, 10, 1, 0, 0, second)) });
        const there = [];
        for (const second of before) there.push(await accept(second));
        const seen: string[] = [];
        let after: string | undefined;
        const late = [...arriving];
        do {
          const page = await listRuns(store.db, { tenant: owner.tenant, after, limit });
          seen.push(...page.runs.map((run) => run.id));
          after = page.nextAfter;
          if (late.length > 0) await accept(late.pop()!);
        } while (after !== undefined);
        const expected = there
          .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1))
          .map((run) => run.id);
        expect(seen).toEqual(expected);
      },
    ),
    { numRuns: 25 },
  );
});

test('runs are filtered by session, status and runbook, and the cursor goes on within the filter', async () => {
  const owner = await newTenant(store.db);
  const session = { keyId: owner.keyId, name: 'second' };
  const definition = { digest: 'def-2', name: 'other_check', version: '2', declaration: {} };
  const [first, second, third] = [
    await accepted(store.db, owner, { acceptedAt: new Date(1_000) }),
    await accepted(store.db, owner, { acceptedAt: new Date(2_000), definition }),
    await accepted(store.db, owner, { acceptedAt: new Date(3_000), session }),
  ];
  await claimRun(store.db, { runId: second!.id, phase: 'plan', dispatchNo: 0 });
  const ids = async (filter: object) =>
    (await listRuns(store.db, { tenant: owner.tenant, limit: 10, ...filter })).runs.map((run) => run.id);
  expect(await ids({})).toEqual([third!.id, second!.id, first!.id]);
  expect(await ids({ status: 'running' })).toEqual([second!.id]);
  expect(await ids({ runbook: 'fleet_check' })).toEqual([third!.id, first!.id]);
  expect(await ids({ sessionId: owner.sessionId })).toEqual([second!.id, first!.id]);
  expect(await ids({ status: 'pending', after: third!.id })).toEqual([first!.id]);
});

test('pages of subjects meet every subject once, in order, under every filter', async () => {
  const owner = await newTenant(store.db);
  const kinds = [OK, PROBLEM, DECLINED, NOT_CHECKED];
  const subjects = Array.from({ length: 23 }, (_, index) => kinds[index % 4]!);
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [subjects.length]);
  const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
  await settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects });
  const all = async (filter: object, limit: number) => {
    const seen: number[] = [];
    let after: number | undefined;
    do {
      const page = await pageSubjects(store.db, { tenant: owner.tenant, runId: run.id, after, limit, ...filter });
      seen.push(...page!.rows.map((row) => row.ordinal));
      after = page!.nextAfter;
    } while (after !== undefined);
    return seen;
  };
  const where = (keep: (index: number) => boolean) => subjects.map((_, index) => index).filter(keep);
  for (const limit of [1, 4, 23, 50]) {
    expect(await all({}, limit)).toEqual(where(() => true));
    expect(await all({ standing: 'problem' }, limit)).toEqual(where((index) => index % 4 === 1));
    expect(await all({ verdict: 'healthy' }, limit)).toEqual(where((index) => index % 4 === 0));
    expect(await all({ outcome: 'not_checked' }, limit)).toEqual(where((index) => index % 4 === 3));
    expect(await all({ target: 'host-2' }, limit)).toEqual(where((index) => index % 3 === 2));
    expect(await all({ target: 'host-2', standing: 'ok' }, limit)).toEqual(
      where((index) => index % 3 === 2 && index % 4 === 0),
    );
  }
});

test('a subject row comes back as it was settled, with the keys of its columns in their order', async () => {
  const owner = await newTenant(store.db);
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [3]);
  const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
  const columns = { pod: 'a"b\\c{},\nd', restarts: 7, age: null, zone: 'ü' };
  const evidence = [{ key: 'restarts', op: 'gt', threshold: 5, value: 7 }];
  const before = { ...OK, walk: { bytes: 4_294_967_296, sha256: 'aa' } };
  const subject = { ...PROBLEM, reasonCode: 'r', reason: 'NULL', columns, evidence, walk: { bytes: 12, sha256: 'ab' } };
  const subjects = [before, NOT_CHECKED, subject];
  await settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects, walkRef: 'art_segment' });
  const row = await getSubject(store.db, { tenant: owner.tenant, runId: run.id, key: 'subject-2' });
  expect(row).toMatchObject({ reasonCode: 'r', reason: 'NULL', evidence });
  const walk = { walkRef: 'art_segment', walkOffset: 4_294_967_296, walkLength: 12, walkSha256: 'ab' };
  expect(row).toMatchObject(walk);
  expect(JSON.stringify(row!.columns)).toBe(JSON.stringify(columns));
});

const history = async (entriesOnLast: number) => {
  const owner = await newTenant(store.db);
  const run = await accepted(store.db, owner, { form: 'procedure' });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
  await finishRun(store.db, {
    runId: run.id,
    fence,
    status: 'completed',
    answer: { kind: 'envelope', body: {} },
    events: Array.from({ length: entriesOnLast - 1 }, (_, index) => ({
      kind: 'vertex_completed' as const,
      vertexId: `step-${index}`,
      vertexLabel: `step\u0000 ${index}`,
    })),
  });
  return { tenant: owner.tenant, runId: run.id };
};

test('pages of the history lose and repeat nothing, with many entries on one revision', async () => {
  const scope = await history(9);
  const whole = (await listEvents(store.db, { ...scope, limit: 100 }))!;
  expect(whole.entries).toHaveLength(10);
  expect(whole).not.toHaveProperty('nextRevision');
  for (let limit = 1; limit <= 11; limit += 1) {
    const seen: RunEvent[] = [];
    let cursor: { afterRevision?: number; afterEventId?: string } | undefined = {};
    while (cursor !== undefined) {
      const page: RunEventPage = (await listEvents(store.db, { ...scope, ...cursor, limit }))!;
      seen.push(...page.entries);
      cursor =
        page.nextRevision === undefined
          ? undefined
          : { afterRevision: page.nextRevision, afterEventId: page.nextEventId };
    }
    expect(seen, `limit ${limit}`).toEqual(whole.entries);
  }
});

test('a page that ends within a revision stays on it and names its last entry', async () => {
  const scope = await history(5);
  const page = (await listEvents(store.db, { ...scope, limit: 3 }))!;
  expect(page).toMatchObject({ nextRevision: 3, nextEventId: page.entries[2]!.eventId });
  const atTheEdge = (await listEvents(store.db, { ...scope, limit: 1 }))!;
  expect(atTheEdge.nextRevision).toBe(2);
  expect(atTheEdge).not.toHaveProperty('nextEventId');
});

test('event ids are the same at every reading, UUIDs, and of no other run', async () => {
  const [first, second] = [await history(3), await history(3)];
  const ids = async (scope: { tenant: string; runId: string }) =>
    (await listEvents(store.db, { ...scope, limit: 10 }))!.entries.map((entry) => entry.eventId);
  expect(await ids(first)).toEqual(await ids(first));
  expect(new Set([...(await ids(first)), ...(await ids(second))]).size).toBe(8);
  for (const id of await ids(first)) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
});

test('a cursor that is no entry of the run is refused', async () => {
  const [first, second] = [await history(2), await history(2)];
  const foreign = (await listEvents(store.db, { ...second, limit: 1 }))!.entries[0]!.eventId;
  const read = listEvents(store.db, { ...first, afterRevision: 2, afterEventId: foreign, limit: 1 });
  await expect(read).rejects.toMatchObject({ code: 'unknown_cursor' });
});

test('text of the history is printable', async () => {
  const scope = await history(2);
  const entries = (await listEvents(store.db, { ...scope, limit: 10 }))!.entries;
  expect(entries[1]!.vertexLabel).toBe('step 0');
});
