/** A run's history under readers who turn its pages while others write it. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunEvent, RunRecord } from '../src/index.ts';
import { deriveEventId, listEvents } from '../src/index.ts';
import { appendEvents } from '../src/run-events.ts';
import { RUN_COLUMNS } from '../src/run-record.ts';
import { lockRun } from '../src/runs.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, newTenant, openStore } from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

/** A change of a run with so many entries, made as every change is made; one that fails leaves no trace. */
async function change(run: RunRecord, entries: number, fails: boolean): Promise<void> {
  const writing = store.db.transaction(async (tx) => {
    await lockRun(tx, run.id);
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set revision = revision + 1 where id = $1 returning ${RUN_COLUMNS}`,
      [run.id],
    );
    const events = Array.from({ length: entries }, (_, nth) => ({
      kind: 'vertex_completed' as const,
      vertexId: `step-${nth}`,
    }));
    await appendEvents(tx, rows[0]!, events, new Date());
    if (fails) throw new Error('undone');
  });
  await (fails ? expect(writing).rejects.toThrow('undone') : writing);
}

/** Turns pages of these sizes, by turns, until `isOver` and nothing more follows. */
async function readAlong(run: RunRecord, sizes: readonly number[], isOver: () => boolean): Promise<RunEvent[]> {
  const seen: RunEvent[] = [];
  let cursor: { afterRevision?: number | undefined; afterEventId?: string | undefined } = {};
  for (let turn = 0; ; turn += 1) {
    const wasOver = isOver();
    const limit = sizes[turn % sizes.length]!;
    const page = (await listEvents(store.db, { tenant: run.tenant, runId: run.id, ...cursor, limit }))!;
    seen.push(...page.entries);
    const last = page.entries.at(-1);
    if (page.nextRevision !== undefined) {
      cursor = { afterRevision: page.nextRevision, afterEventId: page.nextEventId };
    } else {
      if (wasOver) return seen;
      // At the end for now: the revision that was read last is read whole.
      if (last !== undefined) cursor = { afterRevision: last.revision };
    }
  }
}

const changes = fc.array(fc.record({ entries: fc.integer({ min: 1, max: 6 }), fails: fc.boolean() }), {
  minLength: 1,
  maxLength: 5,
});
const pageSizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

test('readers who turn pages of any size while others write lose nothing, repeat nothing and see the same ids', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { minLength: 2, maxLength: 4 }),
      fc.array(pageSizes, { minLength: 2, maxLength: 3 }),
      async (writers, readers) => {
        const run = await accepted(store.db, owner);
        let writing = writers.length;
        const written = writers.map(async (own) => {
          for (const { entries, fails } of own) await change(run, entries, fails);
          writing -= 1;
        });
        const reading = readers.map((sizes) => readAlong(run, sizes, () => writing === 0));
        await Promise.all(written);
        const kept = writers.flat().filter(({ fails }) => !fails);
        const whole = (await listEvents(store.db, { tenant: run.tenant, runId: run.id, limit: 1000 }))!.entries;
        expect(whole).toHaveLength(kept.reduce((sum, { entries }) => sum + entries, 0));
        expect(new Set(whole.map(({ revision }) => revision)).size).toBe(kept.length);
        for (const seen of await Promise.all(reading)) expect(seen).toEqual(whole);
        expect(new Set(whole.map(({ eventId }) => eventId)).size).toBe(whole.length);
        for (const { revision, seq, eventId } of whole) expect(eventId).toBe(deriveEventId(run.id, revision, seq));
      },
    ),
    { numRuns: 15 },
  );
});
