import { readdir } from 'node:fs/promises';
import { testDatabase } from '@muster/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database, Migration } from '../src/index.ts';
import {
  claimRun,
  ensurePartitions,
  ensureSession,
  findApiKey,
  interruptRun,
  migrate,
  openDatabase,
  schemaVersion,
  takeDue,
} from '../src/index.ts';
import { MIGRATIONS } from '../src/migrations.ts';

let url: string;
let db: Database;
let drop: () => Promise<void>;

beforeEach(async () => {
  const database = await testDatabase();
  url = database.url;
  drop = () => database.drop();
  db = openDatabase({ url });
});

afterEach(async () => {
  await db.close();
  await drop();
});

const NEWEST = MIGRATIONS.at(-1)!.version;

const step = (version: number, breaking: boolean, sql: string): Migration => ({
  version,
  name: `step_${version}`,
  breaking,
  sql: async () => sql,
});

test('an empty database is at version 0, and a migrated one at the newest step', async () => {
  expect(await schemaVersion(db)).toEqual({ version: 0, name: 'empty', breaking: false });
  const report = await migrate(db);
  expect(report.applied.map((version) => version.version)).toEqual(MIGRATIONS.map((migration) => migration.version));
  expect(await schemaVersion(db)).toEqual(report.current);
});

test('starts at the same time apply every step once, and the others find nothing to do', async () => {
  const starts = Array.from({ length: 5 }, () => openDatabase({ url }));
  try {
    const reports = await Promise.all(starts.map((start) => migrate(start)));
    expect(reports.filter((report) => report.applied.length > 0)).toHaveLength(1);
    for (const report of reports) expect(report.current.version).toBe(MIGRATIONS.at(-1)!.version);
  } finally {
    await Promise.all(starts.map((start) => start.close()));
  }
});

test('the folder of migrations holds exactly the steps that the build knows, numbered without gaps', async () => {
  const files = (await readdir(new URL('../src/migrations', import.meta.url))).sort();
  expect(files).toEqual(
    MIGRATIONS.map((migration) => `${String(migration.version).padStart(4, '0')}_${migration.name}.sql`),
  );
  expect(MIGRATIONS.map((migration) => migration.version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
});

test('a database with an unknown breaking step is refused with both versions, and left as it is', async () => {
  await migrate(db, {
    migrations: [...MIGRATIONS, step(NEWEST + 1, false, 'select 1'), step(NEWEST + 2, true, 'select 1')],
  });
  await expect(migrate(db)).rejects.toMatchObject({
    code: 'schema_too_new',
    message: expect.stringMatching(
      new RegExp(`version ${NEWEST + 2} \\(step_${NEWEST + 2}\\).*up to version ${NEWEST}`),
    ),
  });
  expect((await schemaVersion(db)).version).toBe(NEWEST + 2);
});

test('a newer step that only adds is accepted by an older build', async () => {
  const adds = step(NEWEST + 1, false, 'alter table muster.workers add column zone text');
  await migrate(db, { migrations: [...MIGRATIONS, adds] });
  const { version, name, breaking } = adds;
  expect(await migrate(db)).toEqual({ applied: [], current: { version, name, breaking } });
});

test('a step that fails is undone whole, and the steps before it stay', async () => {
  const broken = step(NEWEST + 1, false, 'create table muster.half (id int); select no_such_function()');
  await expect(migrate(db, { migrations: [...MIGRATIONS, broken] })).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringContaining(`migration ${NEWEST + 1} (step_${NEWEST + 1}) failed`),
  });
  expect((await schemaVersion(db)).version).toBe(NEWEST);
  const { rows } = await db.query(`select to_regclass('muster.half') as half`);
  expect(rows).toEqual([{ half: null }]);
});

test('rows of the first step, final ones too, come through the second one whole, and with a scope', async () => {
  await migrate(db, { migrations: MIGRATIONS.slice(0, 1) });
  await db.query(
    `insert into muster.api_keys values (gen_random_uuid(), 't', 'k', 'runner', sha256('k'), now());
    insert into muster.sessions select gen_random_uuid(), 't', id, 'default', now() from muster.api_keys;
    insert into muster.definitions values ('d', 'n', '1', '{}', now());
    insert into muster.inputs values ('t', 'i', '{}', now());
    insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest, form,
        priority, now, status, phase, revision, created_at, updated_at)
      select gen_random_uuid(), 't', id, 'n', '1', 'd', 'i', 'fleet', 1, now(), 'pending', 'plan', 1, '2026-11-01', now()
        from muster.sessions, generate_series(1, 2);
    insert into muster.chunks (id, tenant, session_id, run_id, first_ordinal, size, state, plan_fence, items, keys)
      select gen_random_uuid(), 't', session_id, id, 0, 1, 'open', 1, 'x', '[["a",null,null]]' from muster.runs limit 1`,
  );
  const { rows } = await db.query<{ id: string }>('select id from muster.runs order by id limit 1');
  await db.transaction(async (tx) => {
    await tx.query(
      `update muster.runs set status = 'failed', phase = 'done', answer_kind = 'failure', revision = 2, finished_at = now()
        where id = $1`,
      [rows[0]!.id],
    );
    await tx.query(
      `insert into muster.answers select id, tenant, session_id, 'failure', '{}', now() from muster.runs where id = $1`,
      [rows[0]!.id],
    );
  });
  await migrate(db);
  const runs = await db.query('select scope_key, dry_run, deadline_at from muster.runs');
  expect(runs.rows).toEqual([1, 2].map(() => ({ scope_key: 'i', dry_run: false, deadline_at: null })));
  expect((await db.query('select wave, failed_count from muster.chunks')).rows).toEqual([{ wave: 0, failed_count: 0 }]);
});

test('rows of the seventh step, whatever they are at, come through the eighth unchanged, and their runs may ask', async () => {
  await migrate(db, { migrations: MIGRATIONS.slice(0, 7) });
  await db.query(
    `insert into muster.api_keys values (gen_random_uuid(), 't', 'k', 'runner', sha256('mk_old'), now());
    insert into muster.sessions select gen_random_uuid(), 't', id, 'default', now() from muster.api_keys;
    insert into muster.definitions values ('d', 'n', '1', '{}', now());
    insert into muster.inputs values ('t', 'i', '{}', now());
    insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest, form,
        priority, now, status, phase, revision, created_at, updated_at)
      select gen_random_uuid(), 't', session.id, runbook, '1', 'd', 'i', made.form, 1, now(), 'pending', made.phase, 1, '2026-11-01', now()
        from muster.sessions session, (values ('waits', 'procedure', 'procedure'), ('works', 'procedure', 'procedure'),
          ('is assessed', 'fleet', 'plan'), ('is late', 'fleet', 'plan'), ('is cancelled', 'fleet', 'plan'),
          ('is over', 'fleet', 'plan')) as made (runbook, form, phase)`,
  );
  const set = (name: string, assignment: string) =>
    `update muster.runs set revision = 2, ${assignment} where runbook_name = '${name}';`;
  const begun = `status = 'running', started_at = now(), fence = 1, dispatch_no = 1, dispatched_at = now()`;
  const cancelled = `stop_reason = 'cancelled', cancel_requested_at = now(), cancel_reason = 'enough'`;
  const frozen = `phase = 'assess', frozen_at = now(), subjects_total = 1, plan_fence = 1`;
  await db.query(
    set('works', begun) +
      set('is assessed', `${begun}, ${frozen}`) +
      set('is late', `${begun}, stop_reason = 'deadline'`) +
      set('is cancelled', cancelled) +
      set(
        'is over',
        `${cancelled}, status = 'cancelled', phase = 'done', answer_kind = 'failure', finished_at = now()`,
      ) +
      `insert into muster.answers select id, tenant, session_id, 'failure', '{}', now() from muster.runs where phase = 'done'`,
  );
  const rows = async () => (await db.query('select * from muster.runs order by runbook_name')).rows;
  const before = await rows();
  await migrate(db, { migrations: MIGRATIONS.slice(0, 8) });
  expect(await rows()).toEqual(before);
  await migrate(db);
  expect(await findApiKey(db, 'mk_old')).toMatchObject({ name: 'k', tenantWide: false });
  // An older build beside this one makes keys without knowing the column.
  await db.query(
    `insert into muster.api_keys (id, tenant, name, role, key_hash, created_at)
      values (gen_random_uuid(), 't', 'k', 'reader', sha256('mk_beside'), now())`,
  );
  expect(await findApiKey(db, 'mk_beside')).toMatchObject({ tenantWide: false });
  const [waiting] = (await takeDue(db, { window: 10 })).filter(({ kind }) => kind === 'procedure');
  const { run, fence } = (await claimRun(db, { runId: waiting!.id, phase: 'procedure', dispatchNo: 1 }))!;
  expect(run.runbookName).toBe('waits');
  const policy = { role: 'approver', self: false, withinMs: 60_000 } as const;
  const asked = {
    runId: run.id,
    fence,
    question: 'Go on?',
    resumeSchema: {},
    policy,
    checkpoint: Buffer.from('sealed'),
  };
  expect(await interruptRun(db, asked)).toBe('interrupted');
});

test('sessions and runs of the eighth step come through the ninth unchanged, and a build of then works beside it', async () => {
  await migrate(db, { migrations: MIGRATIONS.slice(0, 8) });
  const runOf = (name: string) =>
    `insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest, form,
        priority, now, status, phase, revision, created_at, updated_at)
      select gen_random_uuid(), 't', id, '${name}', '1', 'd', 'i', 'procedure', 1, now(), 'pending', 'procedure', 1,
        '2026-11-01', now() from muster.sessions where owner_key_id is not null`;
  await db.query(
    `insert into muster.api_keys (id, tenant, name, role, key_hash, created_at)
      values (gen_random_uuid(), 't', 'k', 'runner', sha256('mk_old'), now());
    insert into muster.sessions select gen_random_uuid(), 't', id, 'default', now() from muster.api_keys;
    insert into muster.definitions values ('d', 'n', '1', '{}', now());
    insert into muster.inputs values ('t', 'i', '{}', now());
    ${runOf('before')}`,
  );
  const rows = async () => [
    (await db.query('select * from muster.sessions')).rows,
    (await db.query('select * from muster.runs')).rows,
  ];
  const before = await rows();
  await migrate(db, { migrations: MIGRATIONS.slice(0, 9) });
  expect(await rows()).toEqual(before);
  // A session of Muster's own, as a newer build makes one, and what an older build does beside it.
  await ensureSession(db, { tenant: 't', keyId: null, name: 'schedule:nightly' });
  const { rows: keys } = await db.query<{ id: string }>('select id from muster.api_keys');
  const insert = `insert into muster.sessions (id, tenant, owner_key_id, name, created_at)
    values (gen_random_uuid(), 't', $1, $2, now()) on conflict (tenant, owner_key_id, name) do nothing`;
  expect((await db.query(insert, [keys[0]!.id, 'default'])).rowCount).toBe(0);
  expect((await db.query(insert, [keys[0]!.id, 'schedule:nightly'])).rowCount).toBe(1);
  await db.query(runOf('after'));
});

test('partitions are made for this month and the next two, once, over the turn of the year', async () => {
  await migrate(db, { now: new Date('2026-03-05T00:00:00Z') });
  const now = new Date('2026-11-30T23:59:59Z');
  const made = await Promise.all([ensurePartitions(db, now), ensurePartitions(db, now)]);
  expect(made.flat().sort()).toEqual(['subjects_2026_11', 'subjects_2026_12', 'subjects_2027_01']);
  expect(await ensurePartitions(db, now)).toEqual([]);
});

test('rows that came before the partition of their month are moved into it', async () => {
  await migrate(db, { now: new Date('2026-03-05T00:00:00Z') });
  await db.query(
    `insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, outcome, verdict,
      standing, settled_at)
    select 't', gen_random_uuid(), at, gen_random_uuid(), gen_random_uuid(), 0, 'key', 'verdict', 'healthy', 'ok', at
      from unnest($1::timestamptz[]) as late (at)`,
    [['2026-10-31T23:59:59.999Z', '2026-11-01T00:00:00Z', '2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z']],
  );
  await ensurePartitions(db, new Date('2026-11-15T00:00:00Z'));
  const { rows } = await db.query(
    `select relname as part, count(*) as count from muster.subjects
      join pg_class on pg_class.oid = subjects.tableoid group by 1 order by 1`,
  );
  expect(rows).toEqual([
    { part: 'subjects_2026_11', count: 2 },
    { part: 'subjects_2026_12', count: 1 },
    { part: 'subjects_default', count: 1 },
  ]);
});
