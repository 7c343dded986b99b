import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';
import { assess, ENVELOPE, finish } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

async function accept(runbook = 'fleet_check', headers: Record<string, string> = {}): Promise<string> {
  const answer = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook, input: {} }, headers });
  return answer.body.run_id;
}

describe('one run', () => {
  test('a planned run shows how its subjects ended, and they add up', async () => {
    const runId = await accept();
    await assess(fixture, runId);
    const { body } = await fixture.ask(`/v1/runs/${runId}`);
    expect(body).toMatchObject({ run_status: 'running', phase: 'collect' });
    expect(body.subjects).toEqual({
      total: 6,
      settled: 6,
      ok: 2,
      problem: 1,
      declined: 1,
      not_checked: 1,
      cannot_cover: 1,
    });
  });

  test('a run that does not exist is not found on any of its paths', async () => {
    const stranger = '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11';
    for (const path of ['', '/rows', '/envelope', '/answer', '/history', '/events', '/interruption']) {
      expectProblem(await fixture.ask(`/v1/runs/${stranger}${path}`), 404, 'run_not_found');
    }
    expectProblem(await fixture.ask(`/v1/runs/${stranger}/cancel`, { method: 'POST' }), 404, 'run_not_found');
  });

  test.each(['x', '00000000-0000-0000-0000-000000000000', '%00', '1'.repeat(200)])(
    'an id that is no id is refused: %s',
    async (runId) => {
      expectProblem(await fixture.ask(`/v1/runs/${runId}`), 400, 'invalid_request');
    },
  );
});

describe('lists', () => {
  test('pages are newest first and lose or repeat nothing while runs arrive', async () => {
    const headers = { 'muster-session': 'paging' };
    const made: string[] = [];
    for (let index = 0; index < 7; index += 1) made.push(await accept('fleet_check', headers));
    const seen: string[] = [];
    let after = '';
    do {
      const page = await fixture.ask(`/v1/runs?session=paging&limit=3${after}`);
      seen.push(...page.body.runs.map((run: { run_id: string }) => run.run_id));
      after = page.body.next_after === undefined ? '' : `&after=${page.body.next_after}`;
      await accept('fleet_check', headers);
    } while (after !== '');
    expect(seen).toEqual(made.toReversed());
  });

  test('filters narrow down, and a session without runs has none', async () => {
    const runId = await accept('anything', { 'muster-session': 'filters' });
    const list = async (query: string) =>
      (await fixture.ask(`/v1/runs?${query}`)).body.runs.map((run: { run_id: string }) => run.run_id);
    expect(await list('session=filters&runbook=anything&status=pending')).toEqual([runId]);
    expect(await list('session=filters&runbook=fleet_check')).toEqual([]);
    expect(await list('session=filters&status=failed')).toEqual([]);
    expect(await list('session=never-used')).toEqual([]);
    const { session_id } = (await fixture.ask(`/v1/runs/${runId}`)).body;
    expect(await list(`session=${session_id}`)).toEqual([runId]);
  });

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=1&limit=2',
    'status=done',
    'colour=red',
    'after=x',
    'runbook=a%00b',
  ])('a query that does not fit is refused: %s', async (query) => {
    expectProblem(await fixture.ask(`/v1/runs?${query}`), 400, 'invalid_request');
  });

  test('a cursor that names no run of the tenant is refused', async () => {
    const answer = await fixture.ask('/v1/runs?after=6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11');
    expectProblem(answer, 400, 'unknown_cursor');
  });
});

describe('rows of a fleet', () => {
  let runId: string;
  beforeAll(async () => {
    runId = await accept();
    await assess(fixture, runId);
  });
  const rows = async (query: string) => (await fixture.ask(`/v1/runs/${runId}/rows?${query}`)).body;

  test('each subject is one row, in the order of the plan, with its columns in theirs', async () => {
    const page = await rows('');
    expect(page).toMatchObject({ run_id: runId, run_status: 'running' });
    expect(page.rows.map((row: { subject: string; outcome: string }) => [row.subject, row.outcome])).toEqual([
      ['host-0', 'verdict'],
      ['host-1', 'verdict'],
      ['host-2', 'declined'],
      ['host-3', 'not_checked'],
      ['host-4', 'cannot_cover'],
      ['host-5', 'verdict'],
    ]);
    expect(page.rows[1]).toEqual({
      ordinal: 1,
      subject: 'host-1',
      target: 'north',
      outcome: 'verdict',
      verdict: 'broken',
      standing: 'problem',
      reason: 'disk full',
      columns: { z: 3, a: null },
    });
    expect(Object.keys(page.rows[0].columns)).toEqual(['z', 'a']);
  });

  test('evidence comes when it is asked for', async () => {
    expect((await rows('include=evidence')).rows[1].evidence).toEqual([
      { key: 'disk', op: 'gt', threshold: 90, actual: 97 },
    ]);
  });

  test('filters and pages together give every fitting row once', async () => {
    const seen: string[] = [];
    let after = '';
    do {
      const page = await rows(`standing=ok&limit=1${after}`);
      seen.push(...page.rows.map((row: { subject: string }) => row.subject));
      after = page.next_after === undefined ? '' : `&after=${page.next_after}`;
    } while (after !== '');
    expect(seen).toEqual(['host-0', 'host-5']);
    expect((await rows('verdict=broken')).rows).toHaveLength(1);
    expect((await rows('outcome=cannot_cover')).rows).toHaveLength(1);
    expect((await rows('target=north&standing=ok')).rows).toHaveLength(1);
    expect((await rows('verdict=none')).rows).toEqual([]);
  });

  test.each(['MTIz', 'cm93czotMQ', '%20', 'cm93czox%20'])('a cursor from elsewhere is refused: %s', async (after) => {
    const answer = await fixture.ask(`/v1/runs/${runId}/rows?after=${after}`);
    expectProblem(answer, 400, 'unknown_cursor');
  });
});

describe('answers', () => {
  test('while a run goes on there is no answer', async () => {
    const runId = await accept();
    for (const path of ['envelope', 'answer']) {
      const answer = await fixture.ask(`/v1/runs/${runId}/${path}`);
      expectProblem(answer, 409, 'run_not_final');
      expect(answer.body.run_status).toBe('pending');
    }
  });

  test('the envelope comes with its keys in the order in which they were stored', async () => {
    const runId = await accept();
    await assess(fixture, runId);
    await finish(fixture, runId);
    expect((await fixture.ask(`/v1/runs/${runId}/envelope`)).text).toBe(JSON.stringify(ENVELOPE));
    const answer = await fixture.ask(`/v1/runs/${runId}/answer`);
    expect(answer.text).toBe(JSON.stringify({ kind: 'envelope', body: ENVELOPE }));
  });

  test('an absence is given verbatim', async () => {
    const runId = await accept('anything');
    const body = { af_absent: true, looked_for: 'x', checked: [{ what: 'y' }], ['__proto__']: { odd: 1 } };
    await finish(fixture, runId, { kind: 'absence', body });
    expect((await fixture.ask(`/v1/runs/${runId}/envelope`)).text).toBe(JSON.stringify(body));
    expect((await fixture.ask(`/v1/runs/${runId}`)).body.answer_kind).toBe('absence');
  });

  test('a failure has no envelope, and its code is told', async () => {
    const runId = await accept('anything');
    await finish(fixture, runId, { kind: 'failure', body: { code: 'ledger_mismatch', message: 'sums differ' } });
    const envelope = await fixture.ask(`/v1/runs/${runId}/envelope`);
    expectProblem(envelope, 409, 'run_failed');
    expect(envelope.body.failure).toEqual({ code: 'ledger_mismatch', message: 'sums differ' });
    const answer = await fixture.ask(`/v1/runs/${runId}/answer`);
    expect(answer.body).toEqual({ kind: 'failure', body: { code: 'ledger_mismatch', message: 'sums differ' } });
  });

  test("a procedure's rows can be read when it has ended, all of them and by their filters", async () => {
    const runId = await accept('anything');
    expect((await fixture.ask(`/v1/runs/${runId}/rows`)).body.rows).toEqual([]);
    await finish(fixture, runId, undefined, [
      { key: 'a', outcome: 'verdict', verdict: 'fine', standing: 'ok', reason: 'ok', columns: { zeta: 1, alpha: 2 } },
      { key: 'b', outcome: 'declined', verdict: 'declined', standing: 'declined', columns: {} },
      { key: 'c', outcome: 'verdict', verdict: 'fine', standing: 'ok', columns: {} },
    ]);
    const page = (await fixture.ask(`/v1/runs/${runId}/rows?limit=2`)).body;
    expect(page.rows).toEqual([
      {
        ordinal: 0,
        subject: 'a',
        outcome: 'verdict',
        verdict: 'fine',
        standing: 'ok',
        reason: 'ok',
        columns: { zeta: 1, alpha: 2 },
      },
      { ordinal: 1, subject: 'b', outcome: 'declined', verdict: 'declined', standing: 'declined', columns: {} },
    ]);
    const rest = await fixture.ask(`/v1/runs/${runId}/rows?limit=2&after=${page.next_after}`);
    expect(rest.body.rows.map((row: { subject: string }) => row.subject)).toEqual(['c']);
    expect(rest.body.next_after).toBeUndefined();
    const fine = await fixture.ask(`/v1/runs/${runId}/rows?standing=ok`);
    expect(fine.body.rows.map((row: { subject: string }) => row.subject)).toEqual(['a', 'c']);
  });
});

describe('history', () => {
  test('pages of one entry read the whole history without loss or repeat', async () => {
    const runId = await accept();
    await assess(fixture, runId);
    await finish(fixture, runId);
    const whole = (await fixture.ask(`/v1/runs/${runId}/history`)).body;
    expect(whole.entries.map((entry: { kind: string }) => entry.kind)).toEqual([
      'run_started',
      'vertex_completed',
      'vertex_completed',
      'run_completed',
    ]);
    const seen: unknown[] = [];
    let query = '';
    for (let page = 0; page < 10; page += 1) {
      const { body } = await fixture.ask(`/v1/runs/${runId}/history?limit=1${query}`);
      seen.push(...body.entries);
      if (body.next_revision === undefined) break;
      const event = body.next_event_id === undefined ? '' : `&after_event_id=${body.next_event_id}`;
      query = `&after_revision=${body.next_revision}${event}`;
    }
    expect(seen).toEqual(whole.entries);
  });

  test('the activity cursor of a run is behind everything that has happened', async () => {
    const runId = await accept('anything');
    await finish(fixture, runId);
    const { activity_cursor } = (await fixture.ask(`/v1/runs/${runId}`)).body;
    const after = await fixture.ask(`/v1/runs/${runId}/history?after_revision=${activity_cursor}`);
    expect(after.body.entries).toEqual([]);
  });

  test('an event id of another run is no cursor', async () => {
    const runId = await accept('anything');
    await finish(fixture, runId);
    const other = await accept('anything');
    const { entries } = (await fixture.ask(`/v1/runs/${runId}/history`)).body;
    const answer = await fixture.ask(`/v1/runs/${other}/history?after_event_id=${entries[0].event_id}`);
    expectProblem(answer, 400, 'unknown_cursor');
  });
});

describe('cancelling', () => {
  const cancel = (runId: string, options = {}) =>
    fixture.ask(`/v1/runs/${runId}/cancel`, { method: 'POST', key: fixture.keys.runner, ...options });

  test('the first cancel is a request, the second one changes nothing', async () => {
    const runId = await accept();
    const first = await cancel(runId, { body: { reason: '  wrong\u0000 cluster ' } });
    expect(first).toMatchObject({ status: 202, body: { run_id: runId, run_status: 'pending', idempotent: false } });
    const second = await cancel(runId);
    expect(second).toMatchObject({ status: 200, body: { run_id: runId, run_status: 'pending', idempotent: true } });
    expect((await fixture.ask(`/v1/runs/${runId}`)).body.cancel_requested_at).toEqual(expect.any(String));
    const { rows } = await fixture.db.query('select cancel_reason from muster.runs where id = $1', [runId]);
    expect(rows).toEqual([{ cancel_reason: 'wrong cluster' }]);
  });

  test('a run that is over in another way cannot be cancelled', async () => {
    const runId = await accept('anything');
    await finish(fixture, runId);
    const answer = await cancel(runId);
    expectProblem(answer, 409, 'run_final');
    expect(answer.body.run_status).toBe('completed');
  });

  test.each<[string, object]>([
    ['a reason of 513 bytes', { body: { reason: 'é'.repeat(257) } }],
    ['an unknown field', { body: { why: 'x' } }],
    ['a list', { body: [] }],
  ])('%s is refused', async (_what, options) => {
    const runId = await accept();
    expectProblem(await cancel(runId, options), 400, 'invalid_request');
    expect((await fixture.ask(`/v1/runs/${runId}`)).body.cancel_requested_at).toBeUndefined();
  });
});

describe('runbooks', () => {
  test('a runbook says what it judges, its words and its input', async () => {
    const list = (await fixture.ask('/v1/runbooks', { key: fixture.keys.reader })).body.runbooks;
    expect(list.map((runbook: { name: string }) => runbook.name)).toEqual([
      'fleet_check',
      'anything',
      'asking',
      'approved_fleet',
    ]);
    const one = (await fixture.ask('/v1/runbooks/fleet_check')).body;
    expect(one).toEqual(list[0]);
    expect(one).toMatchObject({
      form: 'fleet',
      result_kind: 'verdict/fleet-check',
      rules: { name: 'fleet-rules', version: '3' },
      verdicts: { fine: 'ok', broken: 'problem' },
      definition_digest: 'digest-of-fleet_check',
      resume_supported: false,
    });
    expect(one.input_schema).toMatchObject({ type: 'object', additionalProperties: false });
  });

  test('an unknown one is not found', async () => {
    expectProblem(await fixture.ask('/v1/runbooks/fleetcheck'), 404, 'unknown_runbook');
  });
});
