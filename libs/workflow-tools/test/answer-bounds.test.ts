/** What is shown of runs is bounded, in bytes by the contract and in weight by who asks; and no bundle is built half. */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ALLOWED_TRANSITIONS, answerWeight, type RunView } from '../src/index.ts';
import { type Answer, COUNTER, extrasOf, World } from './reference-ports.ts';

const START = { definition_name: 'counter_flow', definition_version: 'v1', input: { count: 1 } };
const MAX = 4800;

const artifacts = (count: number) =>
  Array.from({ length: count }, () => ({ id: `art_${randomUUID()}`, kind: 'walk', digest: 'd'.repeat(64), size: 1 }));

async function heavyRun(over: Partial<RunView> = { artifacts: artifacts(128) }) {
  const world = new World();
  const tools = world.tools({ extras: extrasOf(world), limits: { answerWeight: MAX } });
  const { run_id } = await tools.call('workflow_run_start', START);
  world.runs[0]!.run = { ...world.runs[0]!.run, ...over };
  return { world, tools, run_id: run_id as string };
}

describe('a run with more artifacts than an answer can hold loses the last ones, and says how many', () => {
  const check = (answer: Answer, run: Answer = answer) => {
    expect(answerWeight(answer)).toBeLessThanOrEqual(MAX);
    expect(run.artifacts.length + run.omitted.artifacts).toBe(128);
  };

  test('where it is looked at, waited for and listed', async () => {
    const { tools, run_id } = await heavyRun();
    check(await tools.call('workflow_run_get', { run_id }));
    check(await tools.call('workflow_run_get', { run_id, wait_ms: 0 }));
    const page = await tools.call('workflow_run_list', {});
    check(page, page.runs[0]);
  });

  test('where it is resumed', async () => {
    const { world, tools, run_id } = await heavyRun();
    world.move(run_id, 'interrupted', 'run_interrupted');
    check(await tools.call('workflow_run_resume', { run_id, resume: { go: true } }));
  });

  test('and with no weight to keep it has them all', async () => {
    const { world, tools, run_id } = await heavyRun();
    const run = await world.tools({}, tools.sessionId).call('workflow_run_get', { run_id });
    expect([run.artifacts.length, run.omitted]).toEqual([128, undefined]);
  });
});

test('an answer has every field that its schema requires, and none that a closed one does not name', async () => {
  const { tools, run_id } = await heavyRun();
  const calls: [string, object][] = [
    ['workflow_definition_list', {}],
    ['workflow_run_start', START],
    ['workflow_run_get', { run_id }],
    ['workflow_run_get', { run_id, wait_ms: 0, include: ['envelope'] }],
    ['workflow_run_list', {}],
    ['workflow_run_history', { run_id }],
    ['verdict_rows', { run_id }],
    ['artifact_get', { ref: 'art_1' }],
    ['workflow_run_cancel', { run_id }],
  ];
  for (const [name, args] of calls) {
    const answer = await tools.call(name, args);
    const schema = tools.list.find((tool) => tool.name === name)!.outputSchema;
    expect(z.fromJSONSchema(schema as never).safeParse(answer), name).toMatchObject({ success: true });
  }
});

test('a report of many fields loses some of them, never the ledger because of them', async () => {
  const fields = Array.from({ length: 40 }, (_, index) => [`a_field_of_the_report_${index}`, 'x'.repeat(300)]);
  const not_checked = [{ what: 'disks', why: 'no credential' }];
  const envelope = {
    af_coverage: { not_checked, note: 'A note.', sentence: 'Ran it.' },
    result: { ...Object.fromEntries(fields), rule_version: '1', verdicts: [] },
  };
  const world = new World();
  const wait = async (runId: string) => ({ run: world.move(runId, 'completed', 'run_completed'), envelope });
  const tools = world.tools({ extras: extrasOf(world, { wait }), limits: { answerWeight: MAX } });
  const { run_id } = await tools.call('workflow_run_start', START);
  const answer = await tools.call('workflow_run_get', { run_id, include: ['envelope'] });
  expect(answerWeight(answer)).toBeLessThanOrEqual(MAX);
  expect(answer.envelope.af_coverage.not_checked).toEqual(not_checked);
  const left = Object.keys(answer.envelope.result).filter((name) => name.startsWith('a_field'));
  expect(left.length).toBeGreaterThan(0);
  expect(answer.envelope.omitted.report_fields.count).toBe(40 - left.length);
});

test('a question keeps its words, and what had no room beside them is named', async () => {
  const question = 'q'.repeat(512);
  const details = { what: 'd'.repeat(8000) };
  const { world, tools, run_id } = await heavyRun({ interruption: { number: 1, question, details } });
  world.move(run_id, 'interrupted', 'run_interrupted');
  const answer = await tools.call('workflow_run_get', { run_id, wait_ms: 0, include: ['envelope'] });
  expect(answerWeight(answer)).toBeLessThanOrEqual(MAX);
  expect(answer.interruption).toEqual({ number: 1, question, omitted: ['details'] });
});

test('text is one line, bounded in bytes: labels 128, messages and summaries 512, descriptions 1,024', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), async (piece) => {
      const text = piece.repeat(10);
      const world = new World();
      world.definitions = [{ ...COUNTER, description: text, as_tool: true }];
      const tools = world.tools({ extras: extrasOf(world) });
      const { run_id } = await tools.call('workflow_run_start', START);
      const kept = world.runs[0]!;
      kept.run = { ...kept.run, status_summary: text };
      kept.events.push({ ...kept.events[0]!, vertex_id: text, vertex_label: text, message: text });
      const { status_summary } = await tools.call('workflow_run_get', { run_id });
      const [, entry] = (await tools.call('workflow_run_history', { run_id })).entries;
      const { description } = (await tools.call('workflow_definition_list', {})).definitions[0];
      for (const [shown, maxBytes] of [
        [entry.vertex_id, 128],
        [entry.vertex_label, 128],
        [entry.message, 512],
        [status_summary, 512],
        [description, 1024],
        [tools.list.at(-1)!.description, 256],
      ] as const) {
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(maxBytes);
        expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        expect(shown.isWellFormed()).toBe(true);
      }
    }),
  );
});

describe('a bundle fails closed', () => {
  test('when an extra is there by half', () => {
    const world = new World();
    const { rows: _rows, ...half } = extrasOf(world);
    expect(() => world.tools({ extras: half as never })).toThrow(
      expect.objectContaining({ code: 'bundle_invalid', message: 'extras.rows is missing' }),
    );
  });

  test('when two tools would have one name', () => {
    const world = new World();
    world.definitions = ['v1', 'v2'].map((version) => ({ ...COUNTER, version, as_tool: true }));
    expect(() => world.tools({ extras: extrasOf(world) })).toThrow(expect.objectContaining({ code: 'bundle_invalid' }));
  });

  test.each(['', 'run-1', '00000000-0000-0000-0000-000000000000'])('newId that gives %j starts nothing', async (id) => {
    const world = new World();
    await expect(world.tools({ newId: () => id }).call('workflow_run_start', START)).rejects.toMatchObject({
      code: 'new_id_invalid',
    });
    expect(world.runs).toEqual([]);
  });

  test.each<[string, Answer]>([
    ['a record over 64 KiB', { parent_artifact_input: 'x'.repeat(66_000) }],
    ['what is no JSON', { parent_artifact_input: 1n }],
    ['a name that is none', { artifact_run_id: 5 }],
    ['a name of two lines', { artifact_session_id: 'a\nb' }],
  ])('prepareRun that makes %s is refused', async (_what, over) => {
    const world = new World();
    const tools = world.tools({ prepareRun: (run) => ({ ...run, ...over }) });
    await expect(tools.call('workflow_run_start', START)).rejects.toMatchObject({ code: 'prepare_run_overreach' });
    expect(world.created).toEqual([]);
  });

  test('nobody can change which way a run may go', () => {
    expect(() => (ALLOWED_TRANSITIONS.completed as string[]).push('running')).toThrow(TypeError);
  });
});
