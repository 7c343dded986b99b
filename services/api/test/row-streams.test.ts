/** All rows of a run in one stream, as NDJSON and as CSV. */
import { claimChunk, claimRun, freezeRun, packSubjects, settleChunk, writeChunks } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';
import { assess, SUBJECTS } from './run-stages.ts';

let fixture: Fixture;
let runId: string;
beforeAll(async () => {
  fixture = await openFixture();
  runId = await accept();
  await assess(fixture, runId);
});
afterAll(() => fixture.close());

async function accept(): Promise<string> {
  const answer = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook: 'fleet_check', input: {} } });
  return answer.body.run_id;
}

const rows = (query = '', headers: Record<string, string> = {}) =>
  fixture.ask(`/v1/runs/${runId}/rows${query}`, { headers });

describe('NDJSON', () => {
  test('it has exactly the rows that the pages have, one a line, in their order', async () => {
    const answer = await rows('', { accept: 'application/x-ndjson' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(answer.headers['muster-run-status']).toBe('running');
    expect(answer.text.endsWith('\n')).toBe(true);
    const lines = answer.text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual((await rows()).body.rows);
    // The runbook's own columns keep their order.
    expect(lines[1]).toContain('"columns":{"z":3,"a":null}');
  });

  test('filters narrow it down, and evidence comes when it is asked for', async () => {
    const { text } = await rows('?format=ndjson&standing=problem&include=evidence');
    expect(JSON.parse(text)).toMatchObject({ subject: 'host-1', evidence: [{ key: 'disk', actual: 97 }] });
    expect((await rows('?format=ndjson&verdict=unheard-of')).text).toBe('');
  });
});

describe('CSV', () => {
  test('it has a header, a line for each row, and every column that some row has', async () => {
    const answer = await rows('', { accept: 'text/csv' });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(answer.headers['content-disposition']).toBe(`attachment; filename="rows-${runId}.csv"`);
    expect(answer.text.split('\r\n')).toEqual([
      'ordinal,subject,identity,target,outcome,verdict,standing,reason,reason_code,columns.z,columns.a,other_columns',
      '0,host-0,,north,verdict,fine,ok,all is well,,1,2,',
      '1,host-1,,north,verdict,broken,problem,disk full,,3,,',
      '2,host-2,,north,declined,declined,declined,no signal,,,,',
      '3,host-3,,south,not_checked,,,the run was cancelled,cancelled,,,',
      '4,host-4,,south,cannot_cover,,,no access,no_access,,,',
      '5,host-5,,south,verdict,fine,ok,,,,,',
      '',
    ]);
  });

  test('a run without rows is a header', async () => {
    const empty = await accept();
    const { text } = await fixture.ask(`/v1/runs/${empty}/rows?format=csv`);
    expect(text).toBe('ordinal,subject,identity,target,outcome,verdict,standing,reason,reason_code,other_columns\r\n');
  });
});

test('more rows than a page holds all come, once and in order', async () => {
  const many = 2_345;
  const { db } = fixture;
  const large = await accept();
  const { fence } = (await claimRun(db, { runId: large, phase: 'plan', dispatchNo: 1 }))!;
  const keys = Array.from({ length: many }, (_, index) => [`host-${index}`, null, null] as const);
  await writeChunks(db, {
    runId: large,
    fence,
    chunks: [{ firstOrdinal: 0, size: many, items: Buffer.from('encrypted'), keys }],
  });
  await freezeRun(db, { runId: large, fence, total: many, planSummary: {} });
  const { rows: chunks } = await db.query<{ id: string }>('select id from muster.chunks where run_id = $1', [large]);
  const chunk = (await claimChunk(db, { chunkId: chunks[0]!.id, dispatchNo: 1 }))!;
  // Only the last one has the column, so the header is known late.
  const subjects = Array.from({ length: many }, (_, index) => ({
    ...SUBJECTS[0]!,
    columns: index === many - 1 ? { late: '=1+1' } : { early: index },
  }));
  await settleChunk(db, { chunkId: chunks[0]!.id, fence: chunk.fence, subjects: packSubjects(subjects) });

  const ndjson = (await fixture.ask(`/v1/runs/${large}/rows?format=ndjson`)).text.trimEnd().split('\n');
  expect(ndjson.map((line) => JSON.parse(line).ordinal)).toEqual(keys.map((_, index) => index));
  const csv = (await fixture.ask(`/v1/runs/${large}/rows?format=csv`)).text.split('\r\n');
  expect(csv).toHaveLength(many + 2);
  expect(csv[0]).toMatch(/,columns\.early,columns\.late,other_columns$/);
  expect(csv[many]).toMatch(/,,'=1\+1,$/);
});

describe('refusals', () => {
  test.each(['?format=csv&limit=5', '?format=ndjson&after=cm93czow'])('a stream has no pages: %s', async (query) => {
    const answer = await rows(query);
    expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.errors[0].expected).toMatch(/always the whole run/);
  });

  test('a form that there is not is refused, and a run of another tenant is not found in any form', async () => {
    expectProblem(await rows('?format=xml'), 400, 'invalid_request');
    for (const format of ['json', 'ndjson', 'csv']) {
      const url = `/v1/runs/${runId}/rows?format=${format}`;
      expectProblem(await fixture.ask(url, { key: fixture.keys.other }), 404, 'run_not_found');
    }
  });

  test('HEAD says what GET would send, and reads no rows', async () => {
    const answer = await fixture.ask(`/v1/runs/${runId}/rows?format=csv`, { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
  });
});
