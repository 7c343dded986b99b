import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AcceptOutcome } from '../src/index.ts';
import {
  acceptRun,
  claimRun,
  commitUpload,
  finishRun,
  getDefinition,
  getRunInput,
  listenForHints,
  listRuns,
  listRunUploads,
  requestCancel,
  stageUpload,
  takeStaleArtifacts,
} from '../src/index.ts';
import { lockUploads } from '../src/uploads.ts';
import type { Store, Tenant } from './store.ts';
import { acceptance, accepted, lockWaited, newTenant, openStore, reread } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

const upload = async (owner: Tenant, over: { keep?: boolean; committed?: boolean } = {}) => {
  const ref = `art_${randomUUID().replaceAll('-', '').slice(0, 22)}`;
  await stageUpload(store.db, {
    ref,
    tenant: owner.tenant,
    sessionId: owner.sessionId,
    owner: 'api-1',
    kind: 'input',
    mediaType: 'application/json',
    storeConversation: owner.sessionId,
    keep: over.keep,
  });
  if (over.committed !== false) await commitUpload(store.db, { ref, tenant: owner.tenant, bytes: 12 });
  return ref;
};

const finish = async (runId: string, tenant: string) => {
  await requestCancel(store.db, { tenant, runId });
  const claim = await claimRun(store.db, { runId, phase: 'collect', dispatchNo: 0 });
  const answer = { kind: 'envelope' as const, body: {} };
  expect(await finishRun(store.db, { runId, fence: claim!.fence, status: 'cancelled', answer })).toBe('finished');
};

const condemned = async () => {
  const stale = await takeStaleArtifacts(store.db, { stagedBefore: new Date(0), limit: 100 });
  return stale.map((artifact) => artifact.ref);
};

test('an accepted run is pending at revision 1, with its input and definition', async () => {
  const owner = await newTenant(store.db);
  const run = await accepted(store.db, owner, { priority: 0 });
  expect(run).toMatchObject({ status: 'pending', phase: 'plan', revision: 1, fence: 0, priority: 0, answerKind: null });
  expect(run.now).toEqual(new Date('2026-11-30T12:00:00Z'));
  expect(await getRunInput(store.db, { tenant: owner.tenant, runId: run.id })).toEqual({ body: { cluster: 'north' } });
  expect(await getDefinition(store.db, run.definitionDigest)).toMatchObject({ name: 'fleet_check', version: '1.0.0' });
});

test('a session that is chosen by name is made by the first run and used by the next', async () => {
  const owner = await newTenant(store.db);
  const session = { keyId: owner.keyId, name: 'nightly' };
  const runs = await Promise.all([1, 2, 3].map(() => accepted(store.db, owner, { session })));
  expect(new Set(runs.map((run) => run.sessionId)).size).toBe(1);
  expect(runs[0]!.sessionId).not.toBe(owner.sessionId);
});

test('the same key and body give the same run, another body is a conflict, another session is another run', async () => {
  const owner = await newTenant(store.db);
  const idempotency = { key: 'k-1', digest: 'body-a' };
  const run = await accepted(store.db, owner, { idempotency });
  expect(await acceptRun(store.db, acceptance(owner, { idempotency }))).toEqual({ outcome: 'replayed', run });
  expect(await acceptRun(store.db, acceptance(owner, { idempotency: { key: 'k-1', digest: 'body-b' } }))).toEqual({
    outcome: 'conflict',
    runId: run.id,
  });
  const session = { keyId: owner.keyId, name: 'other' };
  expect((await accepted(store.db, owner, { idempotency, session })).id).not.toBe(run.id);
});

test('ten requests at once with one key make one run', async () => {
  const owner = await newTenant(store.db);
  const session = { keyId: owner.keyId, name: 'hooks' };
  const idempotency = { key: 'k-2', digest: 'body' };
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => acceptRun(store.db, acceptance(owner, { session, idempotency }))),
  );
  expect(outcomes.filter((outcome) => outcome.outcome === 'accepted')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome.outcome === 'replayed')).toHaveLength(9);
  expect((await listRuns(store.db, { tenant: owner.tenant, limit: 100 })).runs).toHaveLength(1);
});

test('a parent must be a run of the same session', async () => {
  const owner = await newTenant(store.db);
  const parent = await accepted(store.db, owner);
  expect((await accepted(store.db, owner, { parentRunId: parent.id })).parentRunId).toBe(parent.id);
  for (const over of [
    { parentRunId: randomUUID() },
    { parentRunId: parent.id, session: { keyId: owner.keyId, name: 'elsewhere' } },
  ]) {
    expect(await acceptRun(store.db, acceptance(owner, over))).toEqual({ outcome: 'parent_not_found' });
  }
  const stranger = await newTenant(store.db);
  expect(await acceptRun(store.db, acceptance(stranger, { parentRunId: parent.id }))).toEqual({
    outcome: 'parent_not_found',
  });
  expect(await acceptRun(store.db, acceptance(stranger, { session: { id: owner.sessionId } }))).toEqual({
    outcome: 'session_not_found',
  });
});

test('refs that are missing, unfinished or foreign are named, and nothing is written', async () => {
  const owner = await newTenant(store.db);
  const good = await upload(owner);
  const unfinished = await upload(owner, { committed: false });
  const foreign = await upload(await newTenant(store.db));
  const uploads = [good, unfinished, foreign, 'art_nothing'];
  const definition = { digest: 'def-unseen', name: 'x', version: '1', declaration: {} };
  expect(await acceptRun(store.db, acceptance(owner, { uploads, definition }))).toEqual({
    outcome: 'missing_refs',
    refs: [unfinished, foreign, 'art_nothing'],
  });
  expect((await listRuns(store.db, { tenant: owner.tenant, limit: 10 })).runs).toEqual([]);
  expect(await getDefinition(store.db, 'def-unseen')).toBeUndefined();
});

test('uploads go when the last run that uses them is sealed, unless kept', async () => {
  const owner = await newTenant(store.db);
  const [shared, kept] = [await upload(owner), await upload(owner, { keep: true })];
  const first = await accepted(store.db, owner, { uploads: [shared, kept] });
  const second = await accepted(store.db, owner, { uploads: [shared] });
  const scope = { tenant: owner.tenant, runId: first.id };
  expect((await listRunUploads(store.db, scope)).map((artifact) => artifact.ref).sort()).toEqual([shared, kept].sort());
  await finish(first.id, owner.tenant);
  expect(await condemned()).not.toContain(shared);
  await finish(second.id, owner.tenant);
  expect(await condemned()).toContain(shared);
  expect(await condemned()).not.toContain(kept);
});

test('two runs that share an upload and are sealed at the same time leave nothing behind', async () => {
  const owner = await newTenant(store.db);
  for (let round = 0; round < 10; round += 1) {
    const ref = await upload(owner);
    const runs = [
      await accepted(store.db, owner, { uploads: [ref] }),
      await accepted(store.db, owner, { uploads: [ref] }),
    ];
    await Promise.all(runs.map((run) => finish(run.id, owner.tenant)));
    expect(await condemned()).toContain(ref);
  }
});

test('a run that claims an upload while its last run is sealed gets it whole or is told that it is missing', async () => {
  const owner = await newTenant(store.db);
  const outcomes: AcceptOutcome['outcome'][] = [];
  for (let round = 0; round < 15; round += 1) {
    const ref = await upload(owner);
    const first = await accepted(store.db, owner, { uploads: [ref] });
    const [second] = await Promise.all([
      acceptRun(store.db, acceptance(owner, { uploads: [ref] })),
      finish(first.id, owner.tenant),
    ]);
    outcomes.push(second.outcome);
    expect((await condemned()).includes(ref)).toBe(second.outcome === 'missing_refs');
  }
  expect(outcomes.every((outcome) => outcome === 'accepted' || outcome === 'missing_refs')).toBe(true);
});

test('an upload that a run is claiming cannot be condemned before the run is there', async () => {
  const owner = await newTenant(store.db);
  const ref = await upload(owner);
  const first = await accepted(store.db, owner, { uploads: [ref] });
  let sealing: Promise<void> | undefined;
  await store.db.transaction(async (tx) => {
    await lockUploads(tx, { tenant: owner.tenant, sessionId: owner.sessionId, refs: [ref] });
    sealing = finish(first.id, owner.tenant);
    await lockWaited(store.db);
    expect((await acceptRun(tx, acceptance(owner, { uploads: [ref] }))).outcome).toBe('accepted');
  });
  await sealing;
  expect(await condemned()).not.toContain(ref);
});

test('a replay finds its run also when the uploads are gone', async () => {
  const owner = await newTenant(store.db);
  const idempotency = { key: 'k-3', digest: 'body' };
  const uploads = [await upload(owner)];
  const run = await accepted(store.db, owner, { uploads, idempotency });
  await finish(run.id, owner.tenant);
  expect(await acceptRun(store.db, acceptance(owner, { uploads, idempotency }))).toEqual({
    outcome: 'replayed',
    run: await reread(store.db, run),
  });
});

test('acceptance wakes the dispatcher', async () => {
  const owner = await newTenant(store.db);
  let heard = Promise.withResolvers<void>();
  const listening = heard.promise;
  const listener = listenForHints(store.db, { onDue: () => heard.resolve() });
  await listening;
  heard = Promise.withResolvers<void>();
  await accepted(store.db, owner);
  await heard.promise;
  await listener.stop();
});
