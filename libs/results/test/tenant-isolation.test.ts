import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChunkSummary, RunScope } from '../src/index.ts';
import {
  acceptRun,
  answerInterruption,
  chunkSummaries,
  claimChunk,
  claimRun,
  commitUpload,
  countOutcomes,
  findArtifact,
  findSession,
  finishRun,
  getAnswer,
  getOpenInterruption,
  getRun,
  getRunInput,
  getRuns,
  getSubject,
  headRows,
  interruptRun,
  listApiKeys,
  listAudit,
  listEvents,
  listOpenInterruptions,
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
/** Another run of the owner's, which waits for an answer. */
let asking: string;

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
  asking = (await accepted(db, owner, { form: 'procedure' })).id;
  const asked = (await claimRun(db, { runId: asking, phase: 'procedure', dispatchNo: 0 }))!;
  const policy = { role: 'runner', self: true, withinMs: 3_600_000 } as const;
  const question = { question: 'Go on?', resumeSchema: {}, policy, checkpoint: Buffer.from('sealed') };
  await interruptRun(db, { runId: asking, fence: asked.fence, ...question });
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

const answer = { answer: '{}', digest: 'd', allowSelf: true };

test('a question is shown to its tenant and its session, and to nobody else, and nobody else answers it', async () => {
  const seenIn = async (tenant: string, sessionId?: string) => [
    (await getOpenInterruption(store.db, { tenant, sessionId, runId: asking }))?.runId,
    ...(await listOpenInterruptions(store.db, { tenant, sessionId, limit: 10 })).interruptions.map((one) => one.runId),
  ];
  expect(await seenIn(owner.tenant)).toEqual([asking, asking]);
  expect(await seenIn(owner.tenant, owner.sessionId)).toEqual([asking, asking]);
  for (const [tenant, sessionId] of [
    [stranger.tenant, undefined],
    [stranger.tenant, owner.sessionId],
    [owner.tenant, stranger.sessionId],
  ] as const) {
    expect(await seenIn(tenant, sessionId)).toEqual([undefined]);
    const by = { keyId: stranger.keyId, role: 'admin' as const };
    const given = await answerInterruption(store.db, { tenant, sessionId, runId: asking, by, ...answer });
    expect(given).toEqual({ outcome: 'not_found' });
  }
  const { id } = (await getOpenInterruption(store.db, { tenant: owner.tenant, runId: asking }))!;
  for (const place of [{ tenant: stranger.tenant }, { tenant: owner.tenant, sessionId: stranger.sessionId }]) {
    const turned = listOpenInterruptions(store.db, { ...place, after: id, limit: 10 });
    await expect(turned).rejects.toMatchObject({ code: 'unknown_cursor' });
  }
});

test('the audit and runs by their ids are given to their tenant alone', async () => {
  const by = { keyId: owner.keyId, role: 'runner' as const };
  const own = { tenant: owner.tenant, runId: asking };
  expect(await answerInterruption(store.db, { ...own, by, ...answer })).toMatchObject({ outcome: 'resumed' });
  expect((await listAudit(store.db, { ...own, limit: 10 })).entries).toMatchObject([{ runId: asking }]);
  expect(await listAudit(store.db, { ...own, tenant: stranger.tenant, limit: 10 })).toEqual({ entries: [] });
  expect(await getRuns(store.db, { tenant: owner.tenant, ids: [asking] })).toMatchObject([{ id: asking }]);
  expect(await getRuns(store.db, { tenant: stranger.tenant, ids: [asking] })).toEqual([]);
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
