/** Arguments are decoded strictly, whatever they are, and a refusal teaches without repeating what was given. */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonFault, parseStrictJson, WorkflowToolError } from '../src/index.ts';
import { extrasOf, World } from './reference-ports.ts';

const START = { definition_name: 'counter_flow', definition_version: 'v1', input: { count: 1 } };
const world = new World();
const tools = world.tools({ extras: extrasOf(world) });
const names = tools.list.map(({ name }) => name);

const refusal = (name: string, args: unknown) =>
  tools.call(name, args).then(
    () => undefined,
    (error: WorkflowToolError) => error,
  );

describe('a refusal says', () => {
  test.each([
    ['what is missing', 'workflow_run_get', {}, 'arguments/run_id', 'text (it is required)'],
    ['what type was expected', 'workflow_run_get', { run_id: 5 }, 'arguments/run_id', 'text'],
    ['that null is no value', 'workflow_run_get', { run_id: null }, 'arguments/run_id', 'text'],
    ['that a list is no object', 'workflow_run_start', { ...START, input: [1] }, 'arguments/input', 'one JSON object'],
    ['that half is not whole', 'workflow_run_list', { limit: 1.5 }, 'arguments/limit', 'a whole number'],
    ['how many there may be', 'workflow_run_list', { limit: 101 }, 'arguments/limit', 'at most 100'],
    ['that it takes no fields', 'workflow_definition_list', { all: true }, 'arguments/all', 'only name'],
  ])('%s', async (_what, name, args, place, expected) => {
    expect(await refusal(name, args)).toMatchObject({ code: 'invalid_arguments', place, expected, retryable: false });
  });

  test('each unknown field by its name, before what is missing because of it', async () => {
    const { definition_name, ...rest } = START;
    const error = await refusal('workflow_run_start', { definiton_name: definition_name, ...rest, colour: 1 });
    expect(error).toMatchObject({ place: 'arguments/definiton_name', nearest: 'definition_name' });
    expect(error?.message).toBe("arguments: there is no field 'definiton_name', 'colour'");
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, 1]));
    expect((await refusal('workflow_run_list', many))?.message).toMatch(/'f9' and 20 more$/);
  });

  test('nothing of the values, whatever was given', async () => {
    const secret = fc.constant('s3cr3t-value');
    const value = fc.oneof(secret, fc.array(secret), fc.dictionary(fc.constant('deep'), secret));
    const field = fc.constantFrom('run_id', 'limit', 'after', 'resume', 'reason', 'definition_name', 'wait_ms');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), fc.dictionary(field, value), async (name, args) => {
        const error = await refusal(name, args);
        if (error === undefined) return;
        const { message, place, expected, nearest } = error;
        expect(JSON.stringify({ message, place, expected, nearest })).not.toContain('s3cr3t');
      }),
    );
  });
});

test.each([
  ['workflow_run_cancel', 'reason'],
  ['verdict_rows', 'verdict'],
  ['verdict_rows', 'target'],
  ['verdict_rows', 'after'],
  ['artifact_get', 'ref'],
  ['workflow_run_start', 'definition_name'],
])('%s takes only one line without control characters as %s', async (name, field) => {
  const base = name === 'workflow_run_start' ? START : name === 'artifact_get' ? {} : { run_id: randomUUID() };
  for (const text of ['a\u0000b', 'a\u001b[2Jb', 'a\nb', 'a\ud800b', 'a\u2028b']) {
    expect(await refusal(name, { ...base, [field]: text })).toMatchObject({
      code: 'invalid_arguments',
      place: `arguments/${field}`,
    });
  }
});

test('a reason is bounded in bytes, after it was trimmed', async () => {
  const { run_id } = await tools.call('workflow_run_start', START);
  expect(await refusal('workflow_run_cancel', { run_id, reason: 'é'.repeat(257) })).toMatchObject({
    place: 'arguments/reason',
  });
  await tools.call('workflow_run_cancel', { run_id, reason: ` ${'é'.repeat(256)}\n` });
  expect(world.calls.at(-1)).toBe(`cancel ${'é'.repeat(256)}`);
});

test('text longer than 2 MiB is refused before it is read', async () => {
  expect(await refusal('workflow_run_list', ' '.repeat(2 * 1024 * 1024 + 1))).toMatchObject({ code: 'invalid_json' });
});

test('an input of 256 KiB goes through, also where each of its characters is escaped', async () => {
  const text = '\\u0041'.repeat(256 * 1024 - 30);
  const json = `{"definition_name":"counter_flow","definition_version":"v1","input":{"count":1,"t":"${text}"}}`;
  expect(await tools.call('workflow_run_start', json)).toMatchObject({ run_status: 'running' });
});

test('whatever text a tool is given, it answers or refuses by an error of its own', async () => {
  const json = fc.oneof(
    fc.string(),
    fc.json(),
    fc.dictionary(fc.string(), fc.jsonValue()).map((v) => JSON.stringify(v)),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), json, async (name, text) => {
      const error = await refusal(name, text);
      if (error === undefined) return;
      expect(error).toBeInstanceOf(WorkflowToolError);
      expect(error.message).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }),
    { numRuns: 300 },
  );
});

test('bytes are decoded like text, and refused where they are no UTF-8', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (bytes) => {
      const tool = tools.list.find(({ name }) => name === 'workflow_run_list')!;
      const error = await tool.invoke(bytes).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: expect.stringMatching(/^invalid_(json|arguments)$/) });
    }),
  );
});

test('a key that stands twice is found at every depth and by every spelling', () => {
  const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((text) => text !== '__proto__');
  const escaped = (text: string) =>
    [...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  fc.assert(
    fc.property(
      key,
      fc.nat({ max: 30 }),
      fc.boolean(),
      fc.jsonValue({ maxDepth: 2 }),
      (name, depth, spelled, value) => {
        const again = spelled ? `"${escaped(name)}"` : JSON.stringify(name);
        const inner = `{${JSON.stringify(name)}:1,${again}:2}`;
        // What stands before it does not hide it.
        const before = JSON.stringify(value).replaceAll('__proto__', 'proto');
        const text = `${`[${before},{"a":`.repeat(depth)}${inner}${'}]'.repeat(depth)}`;
        expect(() => parseStrictJson(text)).toThrow(JsonFault);
        expect(parseStrictJson(text.replace(inner, '{}'))).toBeDefined();
      },
    ),
  );
});
