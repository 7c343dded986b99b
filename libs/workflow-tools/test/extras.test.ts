/** What goes beyond the seven: additive, and bounded. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowsQuery } from '../src/index.ts';
import { answerWeight, canMove, JsonFault, parseStrictJson, RUN_STATUSES } from '../src/index.ts';
import { type Answer, COUNTER, extrasOf, World } from './reference-ports.ts';

const MAX = 5000;
const START = { definition_name: 'counter_flow', definition_version: 'v1', input: { count: 1 } };

function bounded(world: World, over: Parameters<typeof extrasOf>[1] = {}) {
  return world.tools({ extras: extrasOf(world, over), limits: { answerWeight: MAX } });
}

test('with none of the extras used, the seven answer as without them', async () => {
  const world = new World();
  const tools = bounded(world);
  const { run_id } = await tools.call('workflow_run_start', START);
  const plain = await world.tools({}, tools.sessionId).call('workflow_run_get', { run_id });
  expect(await tools.call('workflow_run_get', { run_id })).toEqual(plain);
  expect(tools.list.map(({ name }) => name).slice(7)).toEqual(['verdict_rows', 'artifact_get']);
});

test('a waited-for run has its counts and when to look again, and its envelope once it is over', async () => {
  const world = new World();
  const counts = { total: 3, settled: 1 };
  const envelope = { af_coverage: { sentence: 'Ran.' }, result: { verdicts: [] } };
  const tools = bounded(world, {
    wait: async (runId) => {
      const { run } = world.runs.find((kept) => kept.run.run_id === runId)!;
      return { run: { ...run, counts }, ...(run.run_status === 'completed' && { envelope }) };
    },
  });
  const { run_id } = await tools.call('workflow_run_start', START);
  const get = () => tools.call('workflow_run_get', { run_id, wait_ms: 10, include: ['envelope'] });
  expect(await get()).toMatchObject({ run_status: 'running', counts, poll_after_ms: expect.any(Number) });
  world.move(run_id, 'completed', 'run_completed');
  const over = await get();
  expect(over).toMatchObject({ run_status: 'completed', envelope });
  expect(over).not.toHaveProperty('poll_after_ms');
  await expect(tools.call('workflow_run_get', { run_id, wait_ms: 30_001 })).rejects.toMatchObject({
    place: 'arguments/wait_ms',
  });
  await expect(tools.call('workflow_run_get', { run_id, include: ['envelop'] })).rejects.toMatchObject({
    nearest: 'envelope',
  });
});

test('a runbook that wants to be a tool is one, whose answer is its envelope', async () => {
  const world = new World();
  world.definitions = [{ ...COUNTER, as_tool: true }];
  const envelope = { af_coverage: { sentence: 'Ran.' }, result: {} };
  const tools = bounded(world, {
    wait: async (runId) => ({ run: world.move(runId, 'completed', 'run_completed'), envelope }),
  });
  const tool = tools.list.at(-1)!;
  expect([tool.name, tool.inputSchema]).toEqual(['runbook_counter_flow', COUNTER.input_schema]);
  expect(await tools.call('runbook_counter_flow', { count: 3 })).toMatchObject({ run_status: 'completed', envelope });
  await expect(tools.call('runbook_counter_flow', { count: 'three' })).rejects.toMatchObject({ code: 'input_invalid' });
  await expect(tools.call('runbook_counter_flow', '{"count":1,"count":2}')).rejects.toMatchObject({
    code: 'invalid_json',
  });
});

test('one that takes longer than the wait answers with the run to go on with', async () => {
  const world = new World();
  world.definitions = [{ ...COUNTER, as_tool: true }];
  const answer = await bounded(world).call('runbook_counter_flow', { count: 3 });
  expect(answer).toMatchObject({ run_id: world.runs[0]!.run.run_id, run_status: 'running', poll_after_ms: 1000 });
});

describe('an answer never weighs more than it may', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 400 });
  const row = fc.record({
    subject: word,
    reason: word,
    columns: fc.dictionary(word, fc.oneof(word, fc.double()), { maxKeys: 12 }),
  });

  test('rows: pages end earlier and go on, and nothing is lost on the way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), async (all) => {
        const world = new World();
        const tools = bounded(world, {
          rows: async (_run, { after = '0', limit }: RowsQuery) => {
            const start = Number(after);
            const more = start + limit < all.length;
            return {
              run_status: 'running',
              rows: all.slice(start, start + limit),
              ...(more && { next_after: String(start + limit) }),
            };
          },
        });
        const { run_id } = await tools.call('workflow_run_start', START);
        const read: unknown[] = [];
        for (let after: string | undefined = '0'; after !== undefined; ) {
          const page: Answer = await tools.call('verdict_rows', { run_id, after, limit: 100 });
          expect(answerWeight(page)).toBeLessThanOrEqual(MAX);
          read.push(...page.rows.map((each: Answer) => each.subject));
          after = page.next_after;
        }
        expect(read).toEqual(all.map(({ subject }) => subject));
      }),
      { numRuns: 60 },
    );
  });

  test('envelopes: what is left out is counted, and the sentence and the counts stay', async () => {
    const entry = fc.record({ what: word, why: word });
    const shape = fc.record({
      verdicts: fc.array(row, { maxLength: 50 }),
      gaps: fc.array(entry, { maxLength: 60 }),
      report: fc.dictionary(
        fc.string({ minLength: 1, maxLength: 20 }).filter((name) => name !== '__proto__'),
        word,
        { maxKeys: 20 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(shape, async ({ verdicts, gaps, report }) => {
        const world = new World();
        const subjects = { total: 50, ok: 50 };
        const envelope = {
          af_coverage: { checked: [], not_checked: gaps, cannot_cover: gaps, note: 'A note.', sentence: 'Ran it.' },
          result: {
            ...report,
            rule_version: '1',
            verdicts,
            rows_shown: verdicts.length,
            rows_total: 900,
            rows_complete: false,
            table: 'x'.repeat(9000),
            subjects,
          },
        };
        const tools = bounded(world, {
          wait: async (runId) => ({ run: world.move(runId, 'completed', 'run_completed'), envelope }),
        });
        const { run_id } = await tools.call('workflow_run_start', START);
        const answer = await tools.call('workflow_run_get', { run_id, wait_ms: 0, include: ['envelope'] });
        expect(answerWeight(answer)).toBeLessThanOrEqual(MAX);
        const { af_coverage: coverage, result, omitted } = answer.envelope;
        expect([coverage.sentence, result.subjects, result.rule_version]).toEqual(['Ran it.', subjects, '1']);
        if (omitted.envelope !== undefined) return;
        expect(result.verdicts.length + (omitted.rows?.count ?? 0)).toBe(verdicts.length);
        expect(result.rows_shown).toBe(result.verdicts.length);
        for (const ledger of ['not_checked', 'cannot_cover']) {
          expect(coverage[ledger].length + (omitted[ledger]?.count ?? 0)).toBe(gaps.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('artifacts: read part by part, they are the bytes that were stored', async () => {
    const media = fc.constantFrom('application/json', 'application/x-ndjson', 'application/octet-stream');
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 9000 }),
          fc.string({ unit: 'grapheme', maxLength: 5000 }).map((text) => new TextEncoder().encode(text)),
        ),
        media,
        async (bytes, media_type) => {
          const world = new World();
          const tools = bounded(world, {
            artifact: async (ref, { offset, length }) => ({
              ref,
              kind: 'k',
              media_type,
              size: bytes.byteLength,
              offset,
              bytes: bytes.subarray(offset, offset + length),
            }),
          });
          const parts: Buffer[] = [];
          for (let offset: number | undefined = 0; offset !== undefined; ) {
            const part: Answer = await tools.call('artifact_get', { ref: 'art_1', offset, length: 4000 });
            expect(answerWeight(part)).toBeLessThanOrEqual(MAX);
            parts.push(part.text === undefined ? Buffer.from(part.base64, 'base64') : Buffer.from(part.text));
            offset = part.next_offset;
          }
          expect(Buffer.concat(parts).equals(Buffer.from(bytes))).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('definitions: those that do not fit are named, and each can be had by its name', async () => {
    const world = new World();
    const input_schema = { ...COUNTER.input_schema, description: 'd'.repeat(900) };
    world.definitions = Array.from({ length: 30 }, (_, index) => ({ ...COUNTER, name: `flow_${index}`, input_schema }));
    const tools = bounded(world);
    const list = await tools.call('workflow_definition_list', {});
    expect(answerWeight(list)).toBeLessThanOrEqual(MAX);
    expect(list.truncated).toBe(true);
    expect([...list.definitions.map((each: Answer) => each.name), ...list.omitted]).toEqual(
      world.definitions.map(({ name }) => name),
    );
    expect(await tools.call('workflow_definition_list', { name: 'flow_29' })).toMatchObject({
      definitions: [{ name: 'flow_29' }],
      truncated: false,
    });
  });

  test('runs: pages end earlier and go on', async () => {
    const world = new World();
    const tools = bounded(world);
    for (let count = 0; count < 60; count += 1) await tools.call('workflow_run_start', START);
    const read: string[] = [];
    for (let page = await tools.call('workflow_run_list', { limit: 100 }); ; ) {
      expect(answerWeight(page)).toBeLessThanOrEqual(MAX);
      read.push(...page.runs.map((run: Answer) => run.run_id));
      if (page.next_after === undefined) break;
      page = await tools.call('workflow_run_list', { limit: 100, after: page.next_after });
    }
    expect(new Set(read).size).toBe(60);
  });
});

describe('strict JSON', () => {
  test('reads what JSON.parse reads, and refuses the rest by an error of its own', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        let value: unknown;
        try {
          value = parseStrictJson(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonFault);
          return;
        }
        expect(value).toEqual(JSON.parse(text));
      }),
    );
  });

  test('never quotes what it refuses', () => {
    expect(() => parseStrictJson('{"token":"s3cr3t"')).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('s3cr3t') }),
    );
  });
});

test('a run that is over goes nowhere, and every other status has a way to an end', () => {
  for (const from of RUN_STATUSES) {
    const ways = RUN_STATUSES.filter((to) => canMove(from, to));
    const over = ['completed', 'cancelled', 'failed'].includes(from);
    expect(ways.length === 0).toBe(over);
    if (!over) expect(ways).toEqual(expect.arrayContaining(['cancelled', 'failed']));
  }
});
