import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keepDefinition } from '../src/definitions.ts';
import type { AcceptOutcome, RunAcceptance, RunRecord } from '../src/index.ts';
import {
  acceptRun,
  claimRun,
  condemnOldRuns,
  dropEmptyPartitions,
  ensurePartitions,
  finishRun,
  forgetArtifact,
  forgetRuns,
  getDefinition,
  getRun,
  getRunInput,
  requestCancel,
  stageArtifact,
  takeStaleArtifacts,
} from '../src/index.ts';
import { keepInput } from '../src/inputs.ts';
import type { Store, Tenant } from './store.ts';
import {
  acceptance,
  accepted,
  collected,
  completed,
  frozen,
  lockWaited,
  newTenant,
  openStore,
  reread,
} from './store.ts';

let store: Store;
let owner: Tenant;
beforeEach(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterEach(() => store.close());

const LONG_AGO = new Date('2026-01-10T00:00:00Z');
const THRESHOLD = new Date('2026-06-01T00:00:00Z');
const later = (days: number) => new Date(LONG_AGO.getTime() + days * 86_400_000);

const old = (over: Partial<RunAcceptance> = {}, finishedAt = LONG_AGO, sizes: number[] = [2, 1]) =>
  completed(store.db, owner, { acceptedAt: LONG_AGO, ...over }, { finishedAt, sizes });
const condemn = (limit = 100) => condemnOldRuns(store.db, { finishedBefore: THRESHOLD, limit });
const ids = (runs: readonly RunRecord[]) => runs.map((run) => run.id).sort();
const there = async (run: RunRecord) => (await getRun(store.db, { tenant: run.tenant, runId: run.id })) !== undefined;
const count = async (table: string, where = 'true') =>
  (await store.db.query<{ count: number }>(`select count(*) as count from muster.${table} where ${where}`)).rows[0]!
    .count;

const stage = async (run: RunRecord, fence: number) => {
  const ref = `art_${randomUUID()}`;
  await stageArtifact(store.db, {
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
    now: LONG_AGO,
  });
  return ref;
};

/** What the sweeper does: object first, row last. Returns how many. */
const sweep = async () => {
  const stale = await takeStaleArtifacts(store.db, { stagedBefore: new Date(0), limit: 100 });
  for (const { ref } of stale) await forgetArtifact(store.db, ref);
  return stale.length;
};

describe('the choice of what is old', () => {
  test('keeps the newest completed sweep of each scope, and takes the others, the oldest first', async () => {
    const scopes = ['north', 'south'];
    const sweeps = [];
    for (const [index, scopeKey] of [...scopes, ...scopes, ...scopes].entries()) {
      sweeps.push(await old({ scopeKey }, later(index)));
    }
    expect(await condemn(3)).toEqual(sweeps.slice(0, 3).map((run) => run.id));
    expect(await condemn()).toEqual(sweeps.slice(0, 4).map((run) => run.id));
  });

  test('counts as sweeps of a scope only those of its tenant and runbook that checked it whole', async () => {
    const scopeKey = 'north';
    const sweeper = await old({ scopeKey }, LONG_AGO);
    const definition = { digest: 'def-2', name: 'other_check', version: '1.0.0', declaration: {} };
    const other = await old({ scopeKey, definition }, later(1));
    const foreign = await completed(
      store.db,
      await newTenant(store.db),
      { scopeKey, acceptedAt: LONG_AGO },
      { finishedAt: later(1) },
    );
    const dry = await accepted(store.db, owner, { scopeKey, dryRun: true, acceptedAt: LONG_AGO });
    await collected(store.db, (await frozen(store.db, dry, [2])).run, later(2));
    const cancelled = await accepted(store.db, owner, { scopeKey, acceptedAt: LONG_AGO });
    await requestCancel(store.db, { tenant: owner.tenant, runId: cancelled.id });
    await collected(store.db, cancelled, later(3));
    expect((await condemn()).sort()).toEqual(ids([dry, cancelled]));
    for (const run of [sweeper, other, foreign]) expect(await there(run)).toBe(true);
  });

  test('keeps no run over uploads for its scope, because no later run can share that, unless it was given one', async () => {
    const over = { input: { digest: 'upload-1', canonical: '{}' }, uploads: [] };
    expect((await old(over)).scopeKey).toBe('upload-1');
    const { rows } = await store.db.query<{ ref: string }>(
      `insert into muster.artifacts (ref, tenant, session_id, purpose, state, owner, kind, media_type, bytes,
          store_conversation, created_at, committed_at)
        values ('art_up', $1, $2, 'upload', 'committed', 'api', 'input', 'text/plain', 1, 's', now(), now())
        returning ref`,
      [owner.tenant, owner.sessionId],
    );
    const uploads = rows.map((row) => row.ref);
    const bare = await old({ input: { digest: 'upload-2', canonical: '{}' }, uploads });
    expect(bare.scopeKey).toBeNull();
    expect(await condemn()).toEqual([bare.id]);
  });

  test('keeps what is young, not final, or named by another run', async () => {
    const [parent, source] = [await old(), await old()];
    const child = await accepted(store.db, owner, { parentRunId: parent.id, scopeKey: 'x' });
    await accepted(store.db, owner, { rerun: { of: source.id, selection: { only: ['problem'] } }, scopeKey: 'x' });
    await old({}, new Date(THRESHOLD));
    expect(await condemn()).toEqual([]);
    await collected(store.db, (await frozen(store.db, child, [])).run, later(1));
    await old({ scopeKey: 'x' }, later(2));
    expect(await condemn()).toEqual([child.id]);
    expect(await forgetRuns(store.db, [parent.id, child.id])).toEqual([child.id]);
    expect(await condemn()).toEqual([parent.id]);
  });

  test('takes bounded runs, which no scope keeps', async () => {
    const run = await accepted(store.db, owner, { form: 'procedure', acceptedAt: LONG_AGO });
    const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
    const answer = { kind: 'envelope' as const, body: {} };
    await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer, now: LONG_AGO });
    expect(await condemn()).toEqual([run.id]);
  });
});

describe('forgetting', () => {
  test('waits for the artifacts, takes every row of the run, and leaves those of others', async () => {
    const run = await frozen(store.db, await accepted(store.db, owner, { acceptedAt: LONG_AGO, scopeKey: 'a' }), []);
    const claim = (await claimRun(store.db, { runId: run.run.id, phase: 'collect', dispatchNo: 0 }))!;
    const [kept, left] = [await stage(run.run, claim.fence), await stage(run.run, claim.fence)];
    await finishRun(store.db, {
      runId: run.run.id,
      fence: claim.fence,
      status: 'completed',
      answer: { kind: 'envelope', body: {} },
      artifacts: [{ ref: kept, bytes: 3 }],
      now: LONG_AGO,
    });
    const rowful = await old({ scopeKey: 'a' }, later(1));
    const newest = await old({ scopeKey: 'a' }, later(2));

    const chosen = await condemn();
    expect(chosen).toEqual([run.run.id, rowful.id]);
    expect(await forgetRuns(store.db, chosen)).toEqual([rowful.id]);
    expect(await there(run.run)).toBe(true);
    expect(await count('artifacts', `state = 'deleting' and ref in ('${kept}', '${left}')`)).toBe(2);
    expect(await sweep()).toBe(2);
    expect(await forgetRuns(store.db, chosen)).toEqual([run.run.id]);
    for (const table of ['answers', 'run_events', 'chunks', 'subjects']) {
      expect(await count(table, `run_id <> '${newest.id}'`), table).toBe(0);
      expect(await count(table), table).toBeGreaterThan(0);
    }
    expect(await count('forgotten_runs')).toBe(0);
  });

  test('takes inputs and definitions with the last run that names them', async () => {
    const definition = { digest: 'def-old', name: 'fleet_check', version: '0.9.0', declaration: {} };
    const input = { digest: 'in-old', canonical: '{}' };
    const first = await old({ definition, input, scopeKey: 'a' });
    const second = await old({ definition, input, scopeKey: 'a' }, later(1));
    await old({ scopeKey: 'a' }, later(2));
    await forgetRuns(store.db, [first.id]);
    expect(await count('inputs', `digest = 'in-old'`)).toBe(1);
    expect(await count('definitions', `digest = 'def-old'`)).toBe(1);
    await forgetRuns(store.db, [second.id]);
    expect(await count('inputs', `digest = 'in-old'`)).toBe(0);
    expect(await count('definitions', `digest = 'def-old'`)).toBe(0);
    expect(await count('inputs')).toBe(1);
  });

  test('refuses what is not final, and does nothing the second time', async () => {
    const going = await accepted(store.db, owner);
    const done = await old();
    expect(await forgetRuns(store.db, [going.id, done.id, randomUUID()])).toEqual([done.id]);
    expect(await forgetRuns(store.db, [going.id, done.id])).toEqual([]);
    expect(await there(going)).toBe(true);
  });

  test('that died between a run and its subjects is finished by the next call, over many batches', async () => {
    const run = await old({}, LONG_AGO, [1]);
    await store.db.query(
      `insert into muster.subjects (tenant, session_id, run_created_at, run_id, ordinal, key, outcome, verdict, standing,
          settled_at)
        select $1, $2, $3, $4, place, 'more-' || place, 'verdict', 'healthy', 'ok', now()
          from generate_series(1, 12000) as place`,
      [run.tenant, run.sessionId, run.createdAt, run.id],
    );
    // What one transaction of a call leaves that is killed then.
    await store.db.transaction(async (tx) => {
      await tx.query('delete from muster.runs where id = $1', [run.id]);
      await tx.query('insert into muster.forgotten_runs values ($1, $2)', [run.id, run.createdAt]);
    });
    expect(await count('subjects')).toBe(12_001);
    await Promise.all([forgetRuns(store.db, []), forgetRuns(store.db, [])]);
    expect(await count('subjects')).toBe(0);
    expect(await count('forgotten_runs')).toBe(0);
  });

  /** A run to forget, and an acceptance that shares with it its input, or its definition, and nothing else. */
  const sharing = async (shared: 'input' | 'definition') => {
    const definition = { digest: 'def-old', name: 'fleet_check', version: '0.9.0', declaration: {} };
    const input = { digest: 'in-old', canonical: '{"old":true}' };
    const done = await old({ definition, input });
    return { done, next: acceptance(owner, shared === 'input' ? { input } : { definition }) };
  };

  test.each(['input', 'definition'] as const)(
    'that comes first makes an acceptance with the same %s keep it anew',
    async (shared) => {
      const { done, next } = await sharing(shared);
      let accepting: Promise<AcceptOutcome> | undefined;
      await store.db.transaction(async (tx) => {
        expect(await forgetRuns(tx, [done.id])).toEqual([done.id]);
        accepting = acceptRun(store.db, next);
        await lockWaited(store.db);
      });
      const outcome = await accepting!;
      if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
      const input = await getRunInput(store.db, { tenant: owner.tenant, runId: outcome.run.id });
      expect(input).toEqual({ body: JSON.parse(next.input.canonical) });
      expect(await getDefinition(store.db, outcome.run.definitionDigest)).toMatchObject(next.definition);
    },
  );

  test.each(['input', 'definition'] as const)('that comes second leaves the same %s to the new run', async (shared) => {
    const { done, next } = await sharing(shared);
    let forgetting: Promise<string[]> | undefined;
    await store.db.transaction(async (tx) => {
      // As far as an acceptance has come before it inserts its run.
      await keepDefinition(tx, next.definition, new Date());
      await keepInput(tx, owner.tenant, next.input, new Date());
      forgetting = forgetRuns(store.db, [done.id]);
      await lockWaited(store.db);
      expect((await acceptRun(tx, next)).outcome).toBe('accepted');
    });
    expect(await forgetting).toEqual([done.id]);
    expect(await count('inputs', `digest = 'in-old'`)).toBe(shared === 'input' ? 1 : 0);
    expect(await count('definitions', `digest = 'def-old'`)).toBe(shared === 'definition' ? 1 : 0);
  });

  test('of a run that is named as a parent at the same moment either stays, or the parent is not found', async () => {
    for (let round = 0; round < 15; round += 1) {
      const parent = await old();
      const [outcome, forgotten] = await Promise.all([
        acceptRun(store.db, acceptance(owner, { parentRunId: parent.id })),
        forgetRuns(store.db, [parent.id]),
      ]);
      expect(outcome.outcome).toBe(forgotten.length === 0 ? 'accepted' : 'parent_not_found');
      expect(await there(parent)).toBe(forgotten.length === 0);
    }
  });
});

describe('old partitions', () => {
  const parts = async () => {
    const { rows } = await store.db.query<{ name: string }>(
      `select relname as name from pg_class where relname like 'subjects\\_2%' and relkind = 'r' order by relname`,
    );
    return rows.map((row) => row.name);
  };

  test('are dropped when they are over and empty; the others and the default one stay', async () => {
    await ensurePartitions(store.db, LONG_AGO);
    const run = await old({}, LONG_AGO, [2]);
    const before = new Date('2026-03-01T00:00:00Z');
    expect(await dropEmptyPartitions(store.db, { before })).toEqual(['subjects_2026_02']);
    expect(await forgetRuns(store.db, [run.id])).toEqual([run.id]);
    expect(await dropEmptyPartitions(store.db, { before: new Date('2026-01-31T23:59:59Z') })).toEqual([]);
    expect(await dropEmptyPartitions(store.db, { before })).toEqual(['subjects_2026_01']);
    expect(await dropEmptyPartitions(store.db, { before })).toEqual([]);
    expect(await parts()).toContain('subjects_2026_03');
    expect(await count('subjects_default')).toBe(0);
  });

  test('that are gone are no loss: a run of their month keeps its rows in the default one', async () => {
    await ensurePartitions(store.db, LONG_AGO);
    await dropEmptyPartitions(store.db, { before: new Date('2026-02-01T00:00:00Z') });
    const run = await old({}, LONG_AGO, [2]);
    expect(await count('subjects_default', `run_id = '${run.id}'`)).toBe(2);
    expect((await reread(store.db, run)).status).toBe('completed');
  });

  test('that get a row at the last moment stay', async () => {
    await ensurePartitions(store.db, LONG_AGO);
    let dropping: Promise<string[]> | undefined;
    await store.db.transaction(async (tx) => {
      await tx.query(
        `insert into muster.subjects (tenant, session_id, run_created_at, run_id, ordinal, key, outcome, verdict, standing,
          settled_at) values ($1, $2, $3, $2, 0, 'late', 'verdict', 'healthy', 'ok', now())`,
        [owner.tenant, owner.sessionId, LONG_AGO],
      );
      dropping = dropEmptyPartitions(store.db, { before: new Date('2026-02-01T00:00:00Z') });
      await lockWaited(store.db);
    });
    expect(await dropping).toEqual([]);
    expect(await count('subjects', `key = 'late'`)).toBe(1);
  });

  test('that a reader holds are left for the next call', async () => {
    await ensurePartitions(store.db, LONG_AGO);
    const before = new Date('2026-02-01T00:00:00Z');
    await store.db.transaction(async (tx) => {
      await tx.query('select count(*) from muster.subjects');
      expect(await dropEmptyPartitions(store.db, { before })).toEqual([]);
    });
    expect(await dropEmptyPartitions(store.db, { before })).toEqual(['subjects_2026_01']);
  });
});
