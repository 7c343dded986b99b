import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord } from '../src/index.ts';
import { claimChunk, claimRun, finishRun, settleChunk } from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, frozen, newTenant, OK, openStore, refusal, times } from './store.ts';

let store: Store;
let owner: Tenant;

beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

const setRun = (run: RunRecord, assignment: string) =>
  refusal(store.db.query(`update muster.runs set ${assignment} where id = $1`, [run.id]));

const running = async () => {
  const run = await accepted(store.db, owner);
  return (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!.run;
};

const finished = async () => {
  const run = await running();
  const answer = { kind: 'absence' as const, body: { af_absent: true } };
  expect(await finishRun(store.db, { runId: run.id, fence: run.fence, status: 'completed', answer })).toBe('finished');
  return run;
};

describe('the database refuses a run that', () => {
  const cases: [what: string, assignment: string, refusedBy: string][] = [
    ['is final but not done', `status = 'failed', revision = revision + 1`, 'runs_final_is_done'],
    ['is done but not final', `phase = 'done', finished_at = now(), answer_kind = 'failure'`, 'runs_final_is_done'],
    [
      'is final without an end',
      `status = 'failed', phase = 'done', answer_kind = 'failure', revision = revision + 1`,
      'runs_final_has_end',
    ],
    [
      'is final without an answer',
      `status = 'failed', phase = 'done', finished_at = now(), revision = revision + 1`,
      'runs_final_has_answer',
    ],
    [
      'names an answer that is not there',
      `status = 'failed', phase = 'done', finished_at = now(), answer_kind = 'failure', revision = revision + 1`,
      'runs_answer_exists',
    ],
    [
      'completes with a failure',
      `status = 'completed', phase = 'done', finished_at = now(), answer_kind = 'failure', revision = revision + 1`,
      'runs_completed_says_something',
    ],
    [
      'is cancelled though nobody asked',
      `status = 'cancelled', phase = 'done', finished_at = now(), answer_kind = 'failure', revision = revision + 1`,
      'runs_cancelled_was_asked',
    ],
    ['assesses what was not frozen', `phase = 'assess'`, 'runs_assess_is_frozen'],
    ['collects what was neither frozen nor stopped', `phase = 'collect'`, 'runs_collect_is_frozen_or_stopped'],
    ['is frozen without a total', `frozen_at = now(), phase = 'assess'`, 'runs_frozen_whole'],
    ['plans what is frozen', `frozen_at = now(), subjects_total = 1, plan_fence = 1`, 'runs_plan_is_open'],
    ['is a fleet in the phase of a procedure', `phase = 'procedure'`, 'runs_form_has_its_phases'],
    [
      'has a cancel without a reason',
      `cancel_requested_at = now(), stop_reason = 'cancelled'`,
      'runs_cancel_has_reason',
    ],
    ['has a cancel that does not stop it', `cancel_requested_at = now(), cancel_reason = 'why'`, 'runs_stop_by_cancel'],
    ['runs without having started', `started_at = null`, 'runs_running_is_started'],
    ['has a word nobody knows as its status', `status = 'paused', revision = revision + 1`, 'MU005'],
    ['has a mark over 100', 'progress_mark = 101', 'runs_progress_mark_check'],
    ['has an idempotency key without a digest', `idempotency_key = 'k'`, 'runs_idempotency_whole'],
    ['has a lower revision', 'revision = revision - 1', 'MU004'],
    ['has a lower fence', 'fence = fence - 1', 'MU004'],
    ['changes its tenant', `tenant = 'other'`, 'MU003'],
    ['changes its instant', `now = now + interval '1 hour'`, 'MU003'],
    ['changes its scope', `scope_key = 'other'`, 'MU003'],
    ['becomes a dry run', 'dry_run = true', 'MU003'],
    ['becomes a rerun', `rerun_of = id, rerun_selection = '{}'`, 'MU003'],
    ['has two error budgets', 'error_budget_count = 1, error_budget_percent = 1', 'runs_one_error_budget'],
    ['has a budget of less than nothing', 'error_budget_count = -1', 'runs_error_budget_count_check'],
    ['has a budget of more than all', 'error_budget_percent = 101', 'runs_error_budget_percent_check'],
    ['has a canary of nothing', 'canary_percent = 0', 'runs_canary_percent_check'],
    ['changes its status without a revision', `status = 'interrupted'`, 'MU006'],
  ];
  test.each(cases)('%s', async (_what, assignment, refusedBy) => {
    expect(await setRun(await running(), assignment)).toBe(refusedBy);
  });

  test('begins in any other way than pending, at revision 1 and without a fence', async () => {
    const run = await accepted(store.db, owner);
    for (const [column, value] of [
      ['status', `'running'`],
      ['revision', '2'],
      ['fence', '1'],
    ] as const) {
      const copied = refusal(
        store.db.query(
          `insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest,
            input_digest, form, priority, now, status, phase, revision, fence, created_at, updated_at)
          select gen_random_uuid(), tenant, session_id, runbook_name, runbook_version, definition_digest,
            input_digest, form, priority, now, ${column === 'status' ? value : 'status'}, phase,
            ${column === 'revision' ? value : 'revision'}, ${column === 'fence' ? value : 'fence'}, created_at, updated_at
          from muster.runs where id = $1`,
          [run.id],
        ),
      );
      expect(await copied, column).toBe('MU001');
    }
  });

  test('stands in a session of another tenant, or has its parent in another session', async () => {
    const other = await newTenant(store.db);
    const parent = await accepted(store.db, other);
    const insert = (sessionId: string, parentId: string | null) =>
      refusal(
        store.db.query(
          `insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest,
            input_digest, form, priority, now, status, phase, revision, parent_run_id, created_at, updated_at)
          select gen_random_uuid(), $1, $2, runbook_name, runbook_version, definition_digest, input_digest, form,
            priority, now, status, phase, revision, $3, created_at, updated_at from muster.runs where id = $4`,
          [owner.tenant, sessionId, parentId, parent.id],
        ),
      );
    await accepted(store.db, owner);
    expect(await insert(other.sessionId, null)).toBe('runs_tenant_session_id_fkey');
    expect(await insert(owner.sessionId, parent.id)).toBe('runs_tenant_session_id_parent_run_id_fkey');
    expect(await insert(owner.sessionId, null)).toBe('accepted');
  });
});

describe('the life of a run', () => {
  const statuses = ['pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed'];
  const allowed: Record<string, string[]> = {
    pending: ['running', 'cancelled', 'failed'],
    running: ['interrupted', 'completed', 'cancelled', 'failed'],
    interrupted: ['running', 'cancelled', 'failed'],
  };
  const into = (status: string) => {
    const started = status === 'running' || status === 'interrupted' ? ', started_at = now()' : '';
    return `status = '${status}', revision = revision + 1${started}`;
  };

  test.each(Object.keys(allowed))('from %s only the allowed changes get past the guard', async (from) => {
    for (const to of statuses.filter((status) => status !== from)) {
      const run = await accepted(store.db, owner);
      if (from !== 'pending') expect(await setRun(run, into('running'))).toBe('accepted');
      if (from === 'interrupted') expect(await setRun(run, into('interrupted'))).toBe('accepted');
      const refusedBy = await setRun(run, into(to));
      // A final status needs an answer besides: whatever refuses it then, it is not the guard of the changes.
      if (allowed[from]!.includes(to)) expect(refusedBy, `${from} to ${to}`).not.toBe('MU005');
      else expect(refusedBy, `${from} to ${to}`).toBe('MU005');
    }
  });

  test('a final run never changes, not even in a column that nobody reads', async () => {
    const run = await finished();
    for (const assignment of [
      `status = 'running'`,
      `status_summary = 'other'`,
      `answer_kind = 'envelope'`,
      'dispatch_no = dispatch_no + 1',
      'revision = revision + 1',
    ]) {
      expect(await setRun(run, assignment), assignment).toBe('MU002');
    }
  });

  test('an answer never changes, is given once, and stays as long as its run', async () => {
    const run = await finished();
    const answers = (sql: string) => refusal(store.db.query(sql, [run.id]));
    expect(await answers(`update muster.answers set body = '{}' where run_id = $1`)).toBe('MU008');
    expect(await answers('delete from muster.answers where run_id = $1')).toBe('MU011');
    expect(
      await answers(
        `insert into muster.answers select run_id, tenant, session_id, 'failure', '{}', now() from muster.answers
          where run_id = $1`,
      ),
    ).toBe('answers_pkey');
  });

  test('history never changes, and goes only with its run', async () => {
    const run = await finished();
    const events = (sql: string) => refusal(store.db.query(sql, [run.id]));
    expect(await events(`update muster.run_events set message = 'other' where run_id = $1`)).toBe('MU008');
    expect(await events('delete from muster.run_events where run_id = $1')).toBe('MU011');
  });

  test('a run that is not final is not deleted', async () => {
    const run = await running();
    expect(await refusal(store.db.query('delete from muster.runs where id = $1', [run.id]))).toBe('MU010');
  });

  test('a frozen denominator never changes', async () => {
    const { run } = await frozen(store.db, await accepted(store.db, owner), [2]);
    expect(await setRun(run, 'subjects_total = 3')).toBe('MU007');
  });
});

describe('the database refuses a chunk that', () => {
  const cases: [what: string, assignment: string, refusedBy: string][] = [
    ['is settled with items', `state = 'settled', settled_at = now(), ok_count = 2`, 'chunks_items_until_settled'],
    ['is settled without an end', `state = 'settled', items = null, ok_count = 2`, 'chunks_settled_has_end'],
    [
      'is settled and does not add up',
      `state = 'settled', items = null, settled_at = now(), ok_count = 1`,
      'chunks_settled_adds_up',
    ],
    ['is open and counts', 'ok_count = 1', 'chunks_settled_adds_up'],
    ['is open and says something', `summary = '{}'`, 'chunks_open_says_nothing'],
    ['has another number of keys than subjects', 'size = 3', 'chunks_keys_match_size'],
    ['is empty', `size = 0, keys = '[]'`, 'chunks_size_check'],
    ['has a lower fence', 'fence = -1', 'MU004'],
    ['has a wave below the first', 'wave = -1', 'chunks_wave_check'],
    ['failed more than it left unchecked', 'failed_count = 1', 'chunks_failed_were_not_checked'],
  ];
  test.each(cases)('%s', async (_what, assignment, refusedBy) => {
    const { chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
    expect(await refusal(store.db.query(`update muster.chunks set ${assignment} where id = $1`, chunkIds))).toBe(
      refusedBy,
    );
  });

  test('is settled and changes', async () => {
    const { chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
    const chunkId = chunkIds[0]!;
    const claim = await claimChunk(store.db, { chunkId, dispatchNo: 0 });
    await settleChunk(store.db, { chunkId, fence: claim!.fence, subjects: times(2, OK) });
    expect(await refusal(store.db.query(`update muster.chunks set walk_ref = 'x' where id = $1`, [chunkId]))).toBe(
      'MU009',
    );
  });
});

describe('the database refuses a subject row that', () => {
  const base = { outcome: 'verdict', verdict: 'healthy', standing: 'ok' };
  const gap = { outcome: 'not_checked', verdict: null, standing: null, reason_code: 'late' };
  const cases: [what: string, row: Record<string, unknown>, refusedBy: string][] = [
    ['has a verdict without a standing', { ...base, standing: null }, 'subjects_verdict_is_whole'],
    ['was not checked and has a verdict', { ...gap, verdict: 'ok', standing: 'ok' }, 'subjects_verdict_is_whole'],
    ['was not checked without a reason', { ...gap, reason_code: null }, 'subjects_gap_has_reason'],
    ['is declined and stands otherwise', { ...base, outcome: 'declined' }, 'subjects_declined_stands_declined'],
    ['has a verdict and stands declined', { ...base, standing: 'declined' }, 'subjects_declined_stands_declined'],
    ['has half a walk', { ...base, walk_ref: 'art' }, 'subjects_walk_is_whole'],
    ['ends in no known way', { ...base, outcome: 'lost', reason_code: 'lost' }, 'subjects_outcome_check'],
  ];
  const insert = (row: Record<string, unknown>) =>
    store.db.query(
      `insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, outcome, verdict,
        standing, reason_code, walk_ref, settled_at)
      values ($1, $2, '2026-01-01T00:00:00Z', $3, $3, $4, $5, $6, $7, $8, $9, $10, now())`,
      [
        owner.tenant,
        owner.sessionId,
        row.run_id ?? randomUUID(),
        row.ordinal ?? 0,
        row.key ?? 'key',
        row.outcome,
        row.verdict,
        row.standing,
        row.reason_code ?? null,
        row.walk_ref ?? null,
      ],
    );
  test.each(cases)('%s', async (_what, row, refusedBy) => {
    expect(await refusal(insert(row))).toBe(refusedBy);
  });

  test('is there already, by ordinal or by key, and one that changes', async () => {
    const run_id = randomUUID();
    await insert({ ...base, run_id });
    expect(await refusal(insert({ ...base, run_id, key: 'other' }))).toMatch(/pkey$/);
    expect(await refusal(insert({ ...base, run_id, ordinal: 1 }))).toMatch(/key_key$/);
    const changed = store.db.query(`update muster.subjects set verdict = 'other' where run_id = $1`, [run_id]);
    expect(await refusal(changed)).toBe('MU008');
  });
});
