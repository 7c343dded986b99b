import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  claimChunk,
  claimRun,
  commitUpload,
  findArtifact,
  finishRun,
  forgetArtifact,
  freezeRun,
  listRunArtifacts,
  settleChunk,
  stageArtifact,
  stageUpload,
  takeStaleArtifacts,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, frozen, newTenant, OK, openStore } from './store.ts';

let store: Store;
let owner: Tenant;
const LATER = new Date(Date.now() + 3_600_000);

beforeAll(async () => {
  store = await openStore();
});
beforeEach(async () => {
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

const newRef = () => `art_${randomUUID()}`;
const base = () => ({
  tenant: owner.tenant,
  sessionId: owner.sessionId,
  owner: 'worker-1',
  kind: 'recording/chart-walk',
  mediaType: 'application/x-ndjson',
  storeConversation: 'conversation',
});
const stage = async (attempt: { runId: string; chunkId?: string; fence: number }) => {
  const ref = newRef();
  await stageArtifact(store.db, { ...base(), ...attempt, ref, purpose: 'walk' });
  return ref;
};
const stale = async (query: { stagedBefore?: Date; uploadsUnusedBefore?: Date } = {}) => {
  const taken = await takeStaleArtifacts(store.db, { stagedBefore: LATER, limit: 1000, ...query });
  return taken.filter((artifact) => artifact.tenant === owner.tenant).map((artifact) => artifact.ref);
};
const found = (ref: string) => findArtifact(store.db, { tenant: owner.tenant, ref });

test('an artifact is found once its attempt has settled, with its size and digest', async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1]);
  const chunkId = chunkIds[0]!;
  const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
  const ref = await stage({ runId: run.id, chunkId, fence });
  expect(await found(ref)).toBeUndefined();
  const artifacts = [{ ref, bytes: 77, digest: 'sha-256:ab' }];
  await settleChunk(store.db, { chunkId, fence, subjects: [OK], artifacts });
  expect(await found(ref)).toMatchObject({ state: 'committed', bytes: 77, digest: 'sha-256:ab', chunkId });
  expect(await stale()).toEqual([]);
});

test('what an attempt may still commit is never condemned; what it may not is, and comes until it is forgotten', async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1]);
  const chunkId = chunkIds[0]!;
  const first = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
  const abandoned = await stage({ runId: run.id, chunkId, fence: first.fence });
  expect(await stale()).toEqual([]);
  const second = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
  const current = await stage({ runId: run.id, chunkId, fence: second.fence });
  expect(await stale({ stagedBefore: new Date(0) })).toEqual([]);
  expect(await stale()).toEqual([abandoned]);
  expect(await stale()).toEqual([abandoned]);
  expect(await forgetArtifact(store.db, current)).toBe(false);
  expect(await forgetArtifact(store.db, abandoned)).toBe(true);
  expect(await forgetArtifact(store.db, abandoned)).toBe(false);
  const unused = await stage({ runId: run.id, chunkId, fence: second.fence });
  const artifacts = [{ ref: current, bytes: 1 }];
  expect(await settleChunk(store.db, { chunkId, fence: second.fence, subjects: [OK], artifacts })).toBe('settled');
  expect(await stale()).toEqual([unused]);
});

test("a run's own artifacts are committed with its answer, and the leftovers of its attempts are condemned", async () => {
  const { run } = await frozen(store.db, await accepted(store.db, owner), []);
  const first = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
  const lost = await stage({ runId: run.id, fence: first.fence });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
  const [kept, unused] = [await stage({ runId: run.id, fence }), await stage({ runId: run.id, fence })];
  const finish = {
    runId: run.id,
    fence,
    status: 'completed' as const,
    answer: { kind: 'envelope' as const, body: {} },
  };
  await expect(finishRun(store.db, { ...finish, artifacts: [{ ref: lost, bytes: 1 }] })).rejects.toMatchObject({
    code: 'artifact_not_staged',
  });
  expect(await finishRun(store.db, { ...finish, artifacts: [{ ref: kept, bytes: 1 }] })).toBe('finished');
  const listed = await listRunArtifacts(store.db, { tenant: owner.tenant, runId: run.id, limit: 128 });
  expect(listed.map((artifact) => artifact.ref)).toEqual([kept]);
  expect((await stale()).sort()).toEqual([lost, unused].sort());
});

test('what a plan staged is committed when its denominator is frozen, by the attempt that freezes it', async () => {
  const run = await accepted(store.db, owner);
  const first = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const lost = await stage({ runId: run.id, fence: first.fence });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const ref = await stage({ runId: run.id, fence });
  const freeze = (refs: string[]) =>
    freezeRun(store.db, {
      runId: run.id,
      fence,
      total: 0,
      planSummary: null,
      artifacts: refs.map((staged) => ({ ref: staged, bytes: 1 })),
    });
  await expect(freeze([lost])).rejects.toMatchObject({ code: 'artifact_not_staged' });
  expect(await freeze([ref])).toBe(true);
  expect(await found(ref)).toMatchObject({ state: 'committed' });
  expect(await stale()).toEqual([lost]);
});

test('a settlement and a sweep at the same time leave no committed row that is condemned', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    const ref = await stage({ runId: run.id, chunkId, fence });
    const artifacts = [{ ref, bytes: 1 }];
    await Promise.all([settleChunk(store.db, { chunkId, fence, subjects: [OK], artifacts }), stale(), stale()]);
    expect(await found(ref)).toMatchObject({ state: 'committed' });
  }
});

test('uploads that were never finished, or never used, are condemned when they are old enough', async () => {
  const [open, unused, used, kept] = [newRef(), newRef(), newRef(), newRef()];
  for (const ref of [open, unused, used, kept]) {
    await stageUpload(store.db, { ...base(), ref, keep: ref === kept });
    if (ref !== open) await commitUpload(store.db, { ref, tenant: owner.tenant, bytes: 1 });
  }
  await accepted(store.db, owner, { uploads: [used] });
  expect(await stale({ stagedBefore: new Date(0) })).toEqual([]);
  expect(await stale()).toEqual([open]);
  expect((await stale({ uploadsUnusedBefore: LATER })).sort()).toEqual([open, unused].sort());
  expect(await commitUpload(store.db, { ref: open, tenant: owner.tenant, bytes: 1 })).toBe(false);
  expect(await found(unused)).toBeUndefined();
  expect(await found(used)).toBeDefined();
});
