import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimChunk, claimRun, freezeRun, rebuildDispatch, settleChunk, takeDue, writeChunks } from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, names, newTenant, OK, openStore, times } from './store.ts';

let store: Store;
let owner: Tenant;
beforeEach(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterEach(() => store.close());

/** A sweep with one chunk of two subjects for each of the waves. */
const sweep = async (waves: readonly number[]) => {
  const run = await accepted(store.db, owner);
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const chunks = waves.map((wave, index) => ({
    id: randomUUID(),
    firstOrdinal: index * 2,
    size: 2,
    items: Buffer.from('items'),
    keys: names(index * 2, 2),
    wave,
  }));
  await writeChunks(store.db, { runId: run.id, fence, chunks });
  await freezeRun(store.db, { runId: run.id, fence, total: waves.length * 2, planSummary: null });
  return { run, chunks };
};

const due = async (window = 100) => (await takeDue(store.db, { window })).map((item) => item.id);

const settle = async (chunkId: string, remainder?: string) => {
  const { fence, chunk } = (await claimChunk(store.db, { chunkId, dispatchNo: 99 }))!;
  const covered = remainder === undefined ? chunk.size : 1;
  await settleChunk(store.db, {
    chunkId,
    fence,
    subjects: times(covered, OK),
    ...(remainder !== undefined && { remainder: { id: remainder, items: Buffer.from('rest') } }),
  });
};

test('the canary goes first: nothing else is sent until all of it is settled, its remainders too', async () => {
  const { chunks } = await sweep([1, 0, 1, 0]);
  const [, first, , second] = chunks.map((chunk) => chunk.id);
  expect(await due()).toEqual([first, second]);
  expect(await due()).toEqual([]);
  await settle(first!);
  expect(await due()).toEqual([]);
  const rest = randomUUID();
  await settle(second!, rest);
  expect(await due()).toEqual([rest]);
  expect(await due()).toEqual([]);
  await settle(rest);
  expect(await due()).toEqual([chunks[0]!.id, chunks[2]!.id]);
});

test('the rest of a chunk stays in its wave, and holds up nothing of the same', async () => {
  const { chunks } = await sweep([0, 1, 1]);
  const [canary, second, third] = chunks.map((chunk) => chunk.id);
  expect(await due()).toEqual([canary]);
  await settle(canary!);
  expect(await due(1)).toEqual([second]);
  const rest = randomUUID();
  await settle(second!, rest);
  expect(await due()).toEqual([rest, third]);
});

test('the canary of one run holds no other run back', async () => {
  const slow = await sweep([0, 1]);
  expect(await due()).toEqual([slow.chunks[0]!.id]);
  const other = await sweep([0]);
  expect(await due()).toEqual([other.chunks[0]!.id]);
});

test('a sweep that is sent anew after the queue was lost begins with what is left of its canary', async () => {
  const { chunks } = await sweep([0, 0, 1]);
  await due();
  await settle(chunks[0]!.id);
  await rebuildDispatch(store.db);
  expect(await due()).toEqual([chunks[1]!.id]);
});

test('whatever the waves and the window, chunks are sent once, and never before a lower wave is settled', async () => {
  const cases = fc.record({
    waves: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 10 }),
    window: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ waves, window }) => {
      const { chunks } = await sweep(waves);
      const open = new Map<string, number>(chunks.map((chunk) => [chunk.id, chunk.wave]));
      const sent: string[] = [];
      for (let flying = await due(window); flying.length > 0; flying = await due(window)) {
        expect(new Set(flying.map((id) => open.get(id)))).toEqual(new Set([Math.min(...open.values())]));
        for (const id of flying) {
          await settle(id);
          open.delete(id);
        }
        sent.push(...flying);
      }
      expect(sent.sort()).toEqual(chunks.map((chunk) => chunk.id).sort());
    }),
    { numRuns: 20 },
  );
});
