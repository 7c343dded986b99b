/** What stands behind the agent's tools: sessions that last, and use cases that are bound to one. */
import { randomUUID } from 'node:crypto';
import { findApiKey, openDatabase } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiDeps } from '../src/api-deps.ts';
import type { Caller } from '../src/caller.ts';
import type { ToolCall } from '../src/mcp/agent-tools.ts';
import { explainRefusal } from '../src/mcp/explain-refusal.ts';
import { WorkflowPorts } from '../src/mcp/workflow-ports.ts';
import { RunChanges } from '../src/run-changes.ts';
import { type Fixture, openFixture } from './fixture.ts';
import { assess, finish, keepArtifact } from './run-stages.ts';
import { testCatalog } from './test-runbooks.ts';

let fixture: Fixture;
let deps: ApiDeps;
beforeAll(async () => {
  fixture = await openFixture();
  deps = { ...fixture, catalog: testCatalog, uploadMaxBytes: 1000 };
});
afterAll(() => fixture.close());

async function callerOf(key: keyof Fixture['keys'], over: Partial<Caller> = {}): Promise<Caller> {
  const { id, tenant, role } = (await findApiKey(fixture.db, fixture.keys[key]))!;
  return { keyId: id, tenant, role, tenantWide: false, ...over };
}

interface Opened {
  readonly key?: keyof Fixture['keys'];
  readonly session?: string;
  readonly over?: Partial<Caller>;
  readonly starts?: boolean;
  readonly call?: Partial<ToolCall>;
  readonly deps?: ApiDeps;
}

async function open({ key = 'runner', session = 'default', over, starts = true, call, deps: on = deps }: Opened = {}) {
  const { signal } = new AbortController();
  const caller = await callerOf(key, over);
  const quiet = { onRun: () => undefined, onError: () => undefined, onProgress: undefined, signal };
  return WorkflowPorts.open(on, { caller, session, ...quiet, ...call }, { starts });
}

const ANYTHING = { name: 'anything', version: '1.0.0', input: { a: 1 } };
const FLEET = { name: 'fleet_check', version: '1.2.0', input: {} };
const refusal = async (asked: Promise<unknown>) =>
  explainRefusal(
    await asked.then(
      () => undefined,
      (error) => error,
    ),
  );

describe('a session', () => {
  test('is the same row for whoever comes with the same key and name, on whatever process', async () => {
    const first = await open({ session: 'lasting' });
    const { run_id } = await first.start(ANYTHING);
    const db = openDatabase({ url: fixture.databaseUrl, maxConnections: 2 });
    const replica = { ...deps, db, changes: new RunChanges(db, { maxWaiters: 10, onError: () => undefined }) };
    try {
      const again = await open({ session: 'lasting', starts: false, deps: replica });
      expect(again.sessionId).toBe(first.sessionId);
      expect((await again.list({ limit: 10 })).runs.map((run) => run.run_id)).toEqual([run_id]);
      expect(await again.get(run_id)).toEqual(await first.get(run_id));
    } finally {
      await replica.changes.close();
      await db.close();
    }
  });

  test('that REST has named is the one that the tools see, and the other way round', async () => {
    const headers = { 'muster-session': 'both-doors' };
    const body = { runbook: 'anything', input: {} };
    const { body: run } = await fixture.ask('/v1/runs', { method: 'POST', body, headers, key: fixture.keys.runner });
    const ports = await open({ session: 'both-doors', starts: false });
    expect(await ports.get(run.run_id)).toEqual(run);
    const started = await ports.start(ANYTHING);
    const { body: page } = await fixture.ask('/v1/runs?session=both-doors', { key: fixture.keys.runner });
    expect(page.runs.map((one: { run_id: string }) => one.run_id)).toEqual([started.run_id, run.run_id]);
  });

  test('is made by a start and by nothing else', async () => {
    const count = async () => (await fixture.db.query('select 1 from muster.sessions')).rows.length;
    const before = await count();
    const looking = await open({ session: 'never-there', starts: false });
    expect(await looking.list({ limit: 10 })).toEqual({ runs: [] });
    expect(await count()).toBe(before);
    await open({ session: 'made', starts: true });
    expect(await count()).toBe(before + 1);
  });

  test('eight first starts at once make one', async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => open({ session: 'at-once' })));
    expect(new Set(opened.map(({ sessionId }) => sessionId)).size).toBe(1);
  });
});

describe('a run of another session', () => {
  test('is not found, whatever is asked of it, as if it had never been; a tenant-wide key has it', async () => {
    const owner = await open({ session: 'owner' });
    const { run_id } = await owner.start(FLEET);
    await assess(fixture, run_id);
    await finish(fixture, run_id);
    const { run_id: procedure } = await owner.start(ANYTHING);
    const { ref } = await keepArtifact(fixture, procedure, Buffer.from('0123456789'));
    const strangers = [
      await open({ session: 'stranger' }),
      await open({ session: 'owner', key: 'approver' }),
      await open({ session: 'owner', key: 'other', over: { tenantWide: true } }),
    ];
    const rows = { limit: 10, evidence: false };
    for (const stranger of strangers) {
      for (const id of [run_id, randomUUID()]) {
        const asks = [
          () => stranger.get(id),
          () => stranger.wait(id, 0),
          () => stranger.cancel(id, 'x'),
          () => stranger.resume(id, {}),
          () => stranger.history(id, { limit: 10 }),
          () => stranger.rows(id, rows),
        ];
        for (const ask of asks) {
          const expected = { code: 'run_not_found', message: 'there is no such run', retryable: false };
          expect(await refusal(ask())).toEqual(expected);
        }
      }
      expect(await refusal(stranger.artifact(ref, { offset: 0, length: 5 }))).toMatchObject({
        code: 'artifact_not_found',
      });
      expect((await stranger.list({ limit: 10 })).runs).not.toContainEqual(expect.objectContaining({ run_id }));
      expect(await refusal(stranger.start({ ...ANYTHING, parentRunId: run_id }))).toMatchObject({
        code: 'unknown_parent_run',
      });
    }
    const auditor = await open({ session: 'its-own', key: 'approver', over: { tenantWide: true }, starts: false });
    expect(await auditor.get(run_id)).toMatchObject({ run_id, run_status: 'completed' });
    expect((await auditor.list({ limit: 100 })).runs).toContainEqual(expect.objectContaining({ run_id }));
    expect((await auditor.rows(run_id, rows)).rows).toHaveLength(6);
    const { bytes, offset } = await auditor.artifact(ref, { offset: 8, length: 5 });
    expect([Buffer.from(bytes).toString(), offset]).toEqual(['89', 8]);
    expect((await owner.artifact(ref, { offset: 90, length: 5 })).bytes).toHaveLength(0);
  });
});

describe('a start', () => {
  test('is there for everybody when it is answered, and is the same run for the same idempotency key', async () => {
    const ports = await open({ session: 'starts' });
    const asked = { ...ANYTHING, idempotencyKey: 'once' };
    const [one, other] = await Promise.all([ports.start(asked), ports.start(asked)]);
    expect(one.run_id).toBe(other.run_id);
    expect(await refusal(ports.start({ ...asked, input: { a: 2 } }))).toMatchObject({ code: 'idempotency_conflict' });
    expect((await (await open({ session: 'starts', starts: false })).list({ limit: 10 })).runs).toHaveLength(1);
  });

  test('is not for readers, nor is anything else that changes a run', async () => {
    const ports = await open({ key: 'reader' });
    const runId = randomUUID();
    for (const ask of [() => ports.start(ANYTHING), () => ports.cancel(runId, 'x'), () => ports.resume(runId, {})]) {
      const expected = { code: 'forbidden', message: expect.stringContaining('role runner'), retryable: false };
      expect(await refusal(ask())).toEqual(expected);
    }
  });
});

describe('a refusal teaches', () => {
  test.each<[string, (ports: WorkflowPorts) => Promise<unknown>, object]>([
    [
      'a misspelt runbook',
      (ports) => ports.checkInput('fleet_chek', '1', {}),
      { code: 'unknown_runbook', nearest: 'fleet_check' },
    ],
    [
      'another version',
      (ports) => ports.checkInput('fleet_check', '9', {}),
      { code: 'unknown_runbook_version', nearest: '1.2.0' },
    ],
    [
      'a wrong input',
      (ports) => ports.checkInput('fleet_check', '1.2.0', { limit: 0 }),
      { code: 'input_invalid', place: 'input/limit', expected: 'at least 1' },
    ],
    [
      'an unknown field',
      (ports) => ports.start({ ...FLEET, input: { limti: 1 } }),
      { code: 'input_invalid', place: 'input/limti', expected: 'no such field' },
    ],
  ])('%s', async (_what, ask, expected) => {
    expect(await refusal(ask(await open()))).toMatchObject({ ...expected, retryable: false });
  });
});

describe('waiting', () => {
  test('ends with the run, and has its envelope', async () => {
    const ports = await open({ session: 'waits' });
    const { run_id } = await ports.start(FLEET);
    const waiting = ports.wait(run_id, 30_000);
    await assess(fixture, run_id);
    await finish(fixture, run_id);
    const { run, outcome, isOver } = await waiting;
    expect(run).toMatchObject({ run_id, run_status: 'completed', subjects: { total: 6 } });
    expect(outcome).toMatchObject({ envelope: { result: { rows_total: 7 } } });
    expect(isOver).toBe(true);
  });

  test('tells of changes, and ends with what is known when its caller goes away', async () => {
    const away = new AbortController();
    const told = Promise.withResolvers<string>();
    const call = { signal: away.signal, onProgress: (run: { phase: string }) => told.resolve(run.phase) };
    const ports = await open({ session: 'leaves', call });
    const { run_id } = await ports.start(FLEET);
    const waiting = ports.wait(run_id, 30_000);
    await assess(fixture, run_id);
    expect(await told.promise).toMatch(/plan|assess|collect/);
    away.abort();
    expect(await waiting).toMatchObject({ run: { run_status: 'running' }, outcome: {}, isOver: false });
  });
});
