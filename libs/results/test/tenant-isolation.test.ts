import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChunkSummary, RunScope } from '../src/index.ts';
import {
  acceptRun,
  chunkSummaries,
  claimChunk,
  claimRun,
  commitUpload,
  countOutcomes,
  findArtifact,
  findSession,
  finishRun,
  getAnswer,
  getRun,
  getRunInput,
  getSubject,
  headRows,
  listApiKeys,
  listEvents,
  listRunArtifacts,
  listRuns,
  listRunUploads,
  notCheckedGroups,
  pageSubjects,
  requestCancel,
  revokeApiKey,
  runProgress,
  settleChunk,
  stageArtifact,
  stageUpload,
  startCollect,
  subjectKeysOf,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { acceptance, accepted, frozen, NOT_CHECKED, newTenant, OK, openStore } from './store.ts';

let store: Store;
let owner: Tenant;
let stranger: Tenant;
let runId: string;

beforeAll(async () => {
  store = await openStore();
  const { db } = store;
  owner = await newTenant(db);
  stranger = await newTenant(db);
  const base = { tenant: owner.tenant, sessionId: owner.sessionId, owner: 'w', kind: 'k', mediaType: 'text/plain' };
  await stageUpload(db, { ...base, ref: 'art_upload', storeConversation: 's', keep: true });
  await commitUpload(db, { ref: 'art_upload', tenant: owner.tenant, bytes: 1 });
  const { run, chunkIds } = await frozen(db, await accepted(db, owner, { uploads: ['art_upload'] }), [2]);
  runId = run.id;
  const chunkId = chunkIds[0]!;
  const { fence } = (await claimChunk(db, { chunkId, dispatchNo: 0 }))!;
  await settleChunk(db, { chunkId, fence, subjects: [OK, NOT_CHECKED] });
  await startCollect(db, runId);
  const claim = (await claimRun(db, { runId, phase: 'collect', dispatchNo: 0 }))!;
  const artifact = { ...base, ref: 'art_walk', runId, fence: claim.fence, purpose: 'walk', storeConversation: runId };
  await stageArtifact(db, artifact);
  await finishRun(db, {
    runId,
    fence: claim.fence,
    status: 'completed',
    answer: { kind: 'envelope', body: { secret: true } },
    artifacts: [{ ref: 'art_walk', bytes: 3 }],
  });
});
afterAll(() => store.close());

/** Every reading function, and what it gives of the run in a scope: nothing is undefined or empty. */
const readers: [name: string, read: (scope: RunScope) => Promise<unknown>][] = [
  ['getRun', (scope) => getRun(store.db, scope)],
  ['getRunInput', (scope) => getRunInput(store.db, scope)],
  ['getAnswer', (scope) => getAnswer(store.db, scope)],
  ['pageSubjects', async (scope) => (await pageSubjects(store.db, { ...scope, limit: 10 }))?.rows],
  ['getSubject', (scope) => getSubject(store.db, { ...scope, key: 'subject-0' })],
  ['runProgress', (scope) => runProgress(store.db, scope)],
  ['listEvents', async (scope) => (await listEvents(store.db, { ...scope, limit: 10 }))?.entries],
  ['headRows', (scope) => headRows(store.db, { ...scope, limit: 10 })],
  ['notCheckedGroups', async (scope) => (await notCheckedGroups(store.db, scope)).groups],
  ['countOutcomes', async (scope) => (await countOutcomes(store.db, scope)).total || undefined],
  ['listRunArtifacts', (scope) => listRunArtifacts(store.db, { ...scope, limit: 10 })],
  ['listRunUploads', (scope) => listRunUploads(store.db, scope)],
  [
    'chunkSummaries',
    async (scope) => {
      const found: ChunkSummary[] = [];
      for await (const summary of chunkSummaries(store.db, scope)) found.push(summary);
      return found;
    },
  ],
  [
    'subjectKeysOf',
    async (scope) => {
      const found: string[] = [];
      for await (const key of subjectKeysOf(store.db, scope)) found.push(key);
      return found;
    },
  ],
  [
    'listRuns',
    async ({ tenant, sessionId }) =>
      (await listRuns(store.db, { tenant, sessionId, limit: 100 })).runs.filter((run) => run.id === runId),
  ],
  ['findArtifact', ({ tenant, sessionId }) => findArtifact(store.db, { tenant, sessionId, ref: 'art_walk' })],
  [
    'requestCancel',
    async (scope) => {
      const { outcome } = await requestCancel(store.db, scope);
      return outcome === 'not_found' ? undefined : outcome;
    },
  ],
];

const isNothing = (seen: unknown) => seen === undefined || (Array.isArray(seen) && seen.length === 0);

describe.each(readers)('%s', (_name, read) => {
  test('gives the run to its tenant and its session', async () => {
    expect(await read({ tenant: owner.tenant, runId })).toSatisfy((seen) => !isNothing(seen));
    expect(await read({ tenant: owner.tenant, sessionId: owner.sessionId, runId })).toSatisfy(
      (seen) => !isNothing(seen),
    );
  });

  test('gives nothing of it to another tenant, or to another session', async () => {
    expect(await read({ tenant: stranger.tenant, runId })).toSatisfy(isNothing);
    expect(await read({ tenant: stranger.tenant, sessionId: owner.sessionId, runId })).toSatisfy(isNothing);
    expect(await read({ tenant: owner.tenant, sessionId: stranger.sessionId, runId })).toSatisfy(isNothing);
  });
});

test('a cursor of another tenant is unknown, not empty', async () => {
  const foreign = listRuns(store.db, { tenant: stranger.tenant, after: runId, limit: 10 });
  await expect(foreign).rejects.toMatchObject({ code: 'unknown_cursor' });
});

test('keys and sessions of another tenant are neither listed, found nor revoked', async () => {
  const keys = await listApiKeys(store.db, { tenant: stranger.tenant, limit: 10 });
  expect(keys.map((key) => key.id)).toEqual([stranger.keyId]);
  expect(await revokeApiKey(store.db, { tenant: stranger.tenant, id: owner.keyId })).toBe(false);
  expect(await findSession(store.db, stranger.tenant, { id: owner.sessionId })).toBeUndefined();
});

test('a run of another tenant is no source of a rerun', async () => {
  const rerun = { of: runId, selection: {} };
  expect(await acceptRun(store.db, acceptance(stranger, { rerun }))).toEqual({ outcome: 'rerun_source_not_found' });
});

test('an upload of another tenant cannot be finished', async () => {
  const base = { tenant: owner.tenant, sessionId: owner.sessionId, owner: 'w', kind: 'k', mediaType: 'text/plain' };
  await stageUpload(store.db, { ...base, ref: 'art_open', storeConversation: 's' });
  expect(await commitUpload(store.db, { ref: 'art_open', tenant: stranger.tenant, bytes: 1 })).toBe(false);
});
