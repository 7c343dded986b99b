/** Runs that ask, and who answers them. */
import { claimRun, forgetWorker } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApi } from '../src/build-api.ts';
import { type Answer, type Ask, expectProblem, type Fixture, openFixture } from './fixture.ts';
import { askForApproval, interrupt, offer, QUESTION, rowOf } from './run-stages.ts';
import { testCatalog } from './test-runbooks.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

/** Accepted with the runner's key, so that the approver's is another one. */
async function accept(runbook = 'asking', options: Ask = {}): Promise<string> {
  const body = { runbook, input: {} };
  const answer = await fixture.ask('/v1/runs', { method: 'POST', body, key: fixture.keys.runner, ...options });
  return answer.body.run_id;
}

async function asked(over: Parameters<typeof interrupt>[2] = {}): Promise<string> {
  const runId = await accept();
  await interrupt(fixture, runId, over);
  return runId;
}

const resume = (runId: string, answer: unknown, options: Ask = {}): Promise<Answer> =>
  fixture.ask(`/v1/runs/${runId}/resume`, {
    method: 'POST',
    body: { resume: answer },
    key: fixture.keys.approver,
    ...options,
  });
const LEFT = { choice: 'left' };

async function auditOf(runId: string) {
  return (await fixture.ask(`/v1/audit?run_id=${runId}`)).body.entries;
}

async function storedAnswer(runId: string): Promise<unknown> {
  const { rows } = await fixture.db.query('select state, answer from muster.interruptions where run_id = $1', [runId]);
  return rows;
}

describe('a question', () => {
  test('is shown with its form, who may answer and until when, and never with the state of the chart', async () => {
    const runId = await asked();
    const answer = await fixture.ask(`/v1/runs/${runId}/interruption`, { key: fixture.keys.reader });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      run_id: runId,
      session_id: expect.any(String),
      number: 1,
      source: 'procedure',
      question: 'Left or right?',
      details: { seen: 3 },
      resume_schema: QUESTION.resumeSchema,
      definition_digest: 'digest-of-asking',
      needed_role: 'approver',
      self_allowed: false,
      opened_at: expect.any(String),
      expires_at: expect.any(String),
    });
    expect(answer.text).not.toContain('sealed');
    const run = (await fixture.ask(`/v1/runs/${runId}`)).body;
    expect(run).toMatchObject({
      run_status: 'interrupted',
      interruption: { number: 1, question: 'Left or right?', needed_role: 'approver' },
    });
    const { entries } = (await fixture.ask(`/v1/runs/${runId}/history`)).body;
    expect(entries.at(-1)).toMatchObject({ kind: 'run_interrupted', message: 'Left or right?' });
  });

  test('is one of a list that pages lose and repeat nothing of, and is gone from it when it is answered', async () => {
    const runIds = [await asked(), await asked(), await asked()];
    const listed = async () => {
      const seen: string[] = [];
      let after = '';
      do {
        const page = (await fixture.ask(`/v1/interruptions?limit=1${after}`)).body;
        seen.push(...page.interruptions.map((one: { run_id: string }) => one.run_id));
        after = page.next_after === undefined ? '' : `&after=${page.next_after}`;
      } while (after !== '');
      return seen;
    };
    const before = await listed();
    expect(before).toEqual([...new Set(before)]);
    expect(before.slice(-3)).toEqual(runIds);
    await resume(runIds[1]!, LEFT);
    expect((await listed()).slice(-2)).toEqual([runIds[0], runIds[2]]);
    expectProblem(await fixture.ask(`/v1/interruptions?after=${runIds[0]}`), 400, 'unknown_cursor');
  });

  test('ends a wait for the run, unless it was seen before; then its answer does', async () => {
    const runId = await accept();
    const waiting = fixture.ask(`/v1/runs/${runId}?wait_ms=30000`);
    while (fixture.changes.waiting < 1) await new Promise((resolve) => setImmediate(resolve));
    await interrupt(fixture, runId);
    const { body } = await waiting;
    expect(body).toMatchObject({ run_status: 'interrupted', interruption: { question: 'Left or right?' } });
    expect((await fixture.ask(`/v1/runs/${runId}?wait_ms=30000`)).body.run_status).toBe('interrupted');
    const seen = fixture.ask(`/v1/runs/${runId}?wait_ms=30000&after_revision=${body.checkpoint_revision}`);
    while (fixture.changes.waiting < 1) await new Promise((resolve) => setImmediate(resolve));
    await resume(runId, LEFT);
    expect((await seen).body).toMatchObject({ run_status: 'running' });
    expect((await seen).body.interruption).toBeUndefined();
  });

  test('that nobody asks is told by the status of the run', async () => {
    const runId = await accept();
    const answer = await fixture.ask(`/v1/runs/${runId}/interruption`);
    expectProblem(answer, 409, 'not_interrupted');
    expect(answer.body.run_status).toBe('pending');
    expectProblem(await resume(runId, LEFT), 409, 'not_interrupted');
  });
});

describe('an answer', () => {
  test('lets the run go on, is stored in its canonical form, and is in the audit with its key', async () => {
    const runId = await asked();
    const answer = await resume(runId, { weight: 2, choice: 'left' });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ run_id: runId, run_status: 'running' });
    expect(await storedAnswer(runId)).toEqual([{ state: 'answered', answer: { choice: 'left', weight: 2 } }]);
    const [entry, ...others] = await auditOf(runId);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      action: 'run_resumed',
      details: { number: 1, answer: { choice: 'left', weight: 2 } },
    });
    const keys = (await fixture.ask('/v1/keys')).body.keys;
    expect(keys.find((key: { key_id: string }) => key.key_id === entry.key_id).name).toBe('approver of acme');
  });

  test('counts once, however many come at the same time', async () => {
    const runId = await asked();
    const answers = await Promise.all(Array.from({ length: 12 }, () => resume(runId, LEFT)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 202)) expectProblem(answer, 409, 'not_interrupted');
    expect(await auditOf(runId)).toHaveLength(1);
  });

  test('to a question that was answered by now does not answer the one behind it', async () => {
    const runId = await asked();
    await resume(runId, LEFT);
    const { fence } = (await claimRun(fixture.db, { runId, phase: 'procedure', dispatchNo: 2 }))!;
    expect(fence).toBeGreaterThan(1);
    await interrupt(fixture, runId, { question: 'And now?' });
    const late = await resume(runId, LEFT, { body: { resume: LEFT, number: 1 } });
    expectProblem(late, 409, 'not_interrupted');
    expect(late.body.detail).toBe('question 1 is not open; the run asks question 2');
    expect((await resume(runId, LEFT, { body: { resume: LEFT, number: 2 } })).status).toBe(202);
  });

  test.each<[string, unknown, string]>([
    ['an unknown choice', { choice: 'secret-word' }, 'resume/choice'],
    ['a field that is not asked for', { choice: 'left', 'secret-word': 1 }, 'resume/secret-word'],
    ['too much', { choice: 'left', weight: 11 }, 'resume/weight'],
    ['nothing', {}, 'resume/choice'],
  ])('that does not fit the schema is refused by its place: %s', async (_what, answer, path) => {
    const runId = await asked();
    const refused = await resume(runId, answer);
    expectProblem(refused, 422, 'resume_invalid');
    expect(refused.body.errors).toEqual([{ path, expected: expect.any(String) }]);
    if (!path.endsWith('secret-word')) expect(refused.text).not.toContain('secret-word');
    expect(await storedAnswer(runId)).toEqual([{ state: 'open', answer: null }]);
  });

  test.each<[string, string, number, string]>([
    ['a list', '{"resume": []}', 400, 'invalid_request'],
    ['no answer', '{}', 400, 'invalid_request'],
    ['an unknown field', '{"resume": {"choice": "left"}, "why": 1}', 400, 'invalid_request'],
    ['a key twice', '{"resume": {"choice": "left", "choice": "right"}}', 400, 'invalid_json'],
    ['a prototype', '{"resume": {"choice": "left", "__proto__": {}}}', 400, 'invalid_json'],
    ['a number that JSON cannot write', '{"resume": {"choice": "left", "weight": -1e999}}', 422, 'resume_invalid'],
    ['more than an answer may have', `{"resume": {"choice": "${'x'.repeat(70_000)}"}}`, 422, 'resume_invalid'],
  ])('that is none is refused: %s', async (_what, raw, status, code) => {
    const runId = await asked();
    const headers = { 'content-type': 'application/json' };
    expectProblem(await resume(runId, undefined, { raw, body: undefined, headers }), status, code);
  });

  test('is checked against the recorded schema where the definition has gone from the API', async () => {
    const runId = await asked();
    const { api } = buildApi({
      db: fixture.db,
      artifacts: fixture.artifacts,
      catalog: { ...testCatalog, byName: new Map(), byDigest: new Map() },
      logger: fixture.logger,
      uploadMaxBytes: 1,
    });
    try {
      const send = (answer: unknown) =>
        api.inject({
          method: 'POST',
          url: `/v1/runs/${runId}/resume`,
          headers: { authorization: `Bearer ${fixture.keys.approver}` },
          payload: { resume: answer as object },
        });
      const refused = await send({ choice: 'up' });
      expect(refused.json()).toMatchObject({ code: 'resume_invalid', errors: [{ path: 'resume/choice' }] });
      expect((await send({ choice: 'left', more: 1 })).json()).toMatchObject({ code: 'resume_invalid' });
      expect((await send(LEFT)).statusCode).toBe(202);
    } finally {
      await api.close();
    }
  });
});

describe('who may answer', () => {
  test('keys below the role that the question names may not', async () => {
    const runId = await asked();
    const other = await accept('asking', { key: fixture.keys.admin });
    await interrupt(fixture, other);
    const refused = await resume(other, LEFT, { key: fixture.keys.runner });
    expectProblem(refused, 403, 'forbidden');
    expect(refused.body.needed_role).toBe('approver');
    expect((await resume(runId, LEFT, { key: fixture.keys.admin })).status).toBe(202);
    const admins = await asked({ policy: { ...QUESTION.policy, role: 'admin' } });
    expectProblem(await resume(admins, LEFT), 403, 'forbidden');
  });

  test('the key that started the run may not, unless the question says so', async () => {
    const policy = { ...QUESTION.policy, role: 'runner' } as const;
    const runId = await asked({ policy });
    // Who may answer is looked at before what is answered.
    expectProblem(await resume(runId, { wrong: 1 }, { key: fixture.keys.runner }), 403, 'self_approval');
    expect(await storedAnswer(runId)).toEqual([{ state: 'open', answer: null }]);
    const open = await asked({ policy: { ...policy, self: true } });
    expect((await resume(open, LEFT, { key: fixture.keys.runner })).status).toBe(202);
  });

  test('the key that started the run may where the installation says so', async () => {
    const lax = await openFixture({ selfApproval: 'allow' });
    try {
      const body = { runbook: 'asking', input: {} };
      const started = await lax.ask('/v1/runs', { method: 'POST', body });
      await interrupt(lax, started.body.run_id);
      const url = `/v1/runs/${started.body.run_id}/resume`;
      expect((await lax.ask(url, { method: 'POST', body: { resume: LEFT } })).status).toBe(202);
    } finally {
      await lax.close();
    }
  });

  test('another tenant finds no run, no question and no entry of the audit', async () => {
    const runId = await asked();
    const { other } = fixture.keys;
    expectProblem(await resume(runId, LEFT, { key: other }), 404, 'run_not_found');
    expectProblem(await fixture.ask(`/v1/runs/${runId}/interruption`, { key: other }), 404, 'run_not_found');
    await resume(runId, LEFT);
    for (const url of ['/v1/interruptions', `/v1/audit?run_id=${runId}`]) {
      expect((await fixture.ask(url, { key: other })).text).not.toContain(runId);
    }
  });
});

describe('an answer that comes too late or too early', () => {
  test('is refused when the time to answer is over', async () => {
    const runId = await asked({ now: new Date(Date.now() - QUESTION.policy.withinMs - 1) });
    expectProblem(await resume(runId, LEFT), 409, 'resume_expired');
  });

  test('is refused while the run is being stopped', async () => {
    const runId = await asked();
    const cancelled = await fixture.ask(`/v1/runs/${runId}/cancel`, { method: 'POST' });
    expect(cancelled.body.run_status).toBe('interrupted');
    expectProblem(await resume(runId, LEFT), 409, 'run_stopping');
  });

  test('of a cancel and an answer at once, one is refused or the run is stopped after it went on', async () => {
    const runId = await asked();
    const [cancelled, resumed] = await Promise.all([
      fixture.ask(`/v1/runs/${runId}/cancel`, { method: 'POST' }),
      resume(runId, LEFT),
    ]);
    expect(cancelled.status).toBe(202);
    if (resumed.status !== 202) expectProblem(resumed, 409, 'run_stopping');
    expect((await rowOf(fixture, runId)).stopReason).toBe('cancelled');
  });

  test('is refused, to be sent again, while no worker has the definition that asked', async () => {
    const runId = await asked();
    await forgetWorker(fixture.db, 'worker of digest-of-asking');
    const refused = await resume(runId, LEFT);
    expectProblem(refused, 409, 'definition_not_offered');
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.body.definition_digest).toBe('digest-of-asking');
    await offer(fixture, 'digest-of-asking');
    expect((await resume(runId, LEFT)).status).toBe(202);
  });
});

describe('a fleet that asks for approval', () => {
  test('goes on to be assessed when somebody approves', async () => {
    const runId = await accept('approved_fleet');
    await askForApproval(fixture, runId);
    const shown = (await fixture.ask(`/v1/runs/${runId}/interruption`)).body;
    expect(shown).toMatchObject({ source: 'approval', question: 'Assess 1 hosts?' });
    expect((await resume(runId, { approved: true })).body).toMatchObject({ run_status: 'running', phase: 'assess' });
  });

  test('is sent to its end when somebody says no, with the reason', async () => {
    const runId = await accept('approved_fleet');
    await askForApproval(fixture, runId);
    expect((await resume(runId, { approved: false, reason: 'too many' })).status).toBe(202);
    const run = await rowOf(fixture, runId);
    expect(run).toMatchObject({ stopReason: 'refused', cancelReason: 'not approved: too many' });
    const [entry] = await auditOf(runId);
    expect(entry).toMatchObject({
      action: 'run_refused',
      details: { answer: { approved: false, reason: 'too many' } },
    });
    expectProblem(await resume(runId, { approved: true }), 409, 'run_stopping');
  });
});

test('a runbook says whether it may ask, and in which form it is answered', async () => {
  const { runbooks } = (await fixture.ask('/v1/runbooks')).body;
  const resumable = runbooks.map((one: Record<string, unknown>) => [
    one.name,
    one.resume_supported,
    !!one.resume_schema,
  ]);
  expect(resumable).toEqual([
    ['fleet_check', false, false],
    ['anything', false, false],
    ['asking', true, true],
    ['approved_fleet', true, true],
  ]);
  const runId = await asked();
  const { rows } = await fixture.db.query<{ declaration: { resume_schema: unknown } }>(
    'select declaration from muster.definitions join muster.runs on definition_digest = digest where id = $1',
    [runId],
  );
  expect(rows[0]!.declaration.resume_schema).toMatchObject({ additionalProperties: false, required: ['choice'] });
});

test('what admins do is in the audit, and pages of it lose and repeat nothing', async () => {
  const made = await fixture.ask('/v1/keys', {
    method: 'POST',
    body: { name: 'agent', role: 'runner', tenant_wide: true },
  });
  expect(made.body).toMatchObject({ role: 'runner', tenant_wide: true });
  await fixture.ask(`/v1/keys/${made.body.key_id}`, { method: 'DELETE' });
  const quota = { max_open_runs: null, max_subjects_per_run: 5, max_in_flight_chunks: null };
  await fixture.ask('/v1/quota', { method: 'PUT', body: quota });
  const whole = (await fixture.ask('/v1/audit?limit=100')).body;
  expect(whole.entries.slice(0, 3)).toMatchObject([
    { action: 'quota_set', details: quota },
    { action: 'key_revoked', details: { key_id: made.body.key_id } },
    { action: 'key_made', details: { key_id: made.body.key_id, name: 'agent', role: 'runner', tenant_wide: true } },
  ]);
  expect(JSON.stringify(whole)).not.toContain(made.body.key);
  const seen: unknown[] = [];
  let after = '';
  do {
    const page = (await fixture.ask(`/v1/audit?limit=3${after}`)).body;
    seen.push(...page.entries);
    after = page.next_after === undefined ? '' : `&after=${page.next_after}`;
  } while (after !== '');
  expect(seen).toEqual(whole.entries);
});
