/** The contract of each of the seven tools, and of each of its refusals. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Answer, COUNTER, type Tools, World } from './reference-ports.ts';

const SEVEN = [
  'workflow_definition_list',
  'workflow_run_start',
  'workflow_run_get',
  'workflow_run_list',
  'workflow_run_resume',
  'workflow_run_cancel',
  'workflow_run_history',
];
const START = { definition_name: 'counter_flow', definition_version: 'v1', input: { count: 1 } };

let world: World;
let tools: Tools;
beforeEach(() => {
  world = new World();
  tools = world.tools();
});

async function started(): Promise<string> {
  return (await tools.call('workflow_run_start', START)).run_id as string;
}

describe('the bundle', () => {
  test('has exactly the seven, in their order, each closed and described within 256 bytes', () => {
    expect(tools.list.map(({ name }) => name)).toEqual(SEVEN);
    for (const { description, inputSchema } of tools.list) {
      expect(Buffer.byteLength(description)).toBeLessThanOrEqual(256);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });

  test.each([
    ['supervisor.start', (options: Answer) => delete options.supervisor.start],
    ['supervisor.history', (options: Answer) => delete options.supervisor.history],
    [
      'inputs.put',
      (options: Answer) => {
        options.inputs = undefined;
      },
    ],
    [
      'sessionId',
      (options: Answer) => {
        options.sessionId = '00000000-0000-0000-0000-000000000000';
      },
    ],
    [
      'sessionId',
      (options: Answer) => {
        options.sessionId = 'mine';
      },
    ],
  ])('is not built without %s', (what, take) => {
    const options = world.options(randomUUID());
    take(options);
    expect(() => world.tools(options as never, options.sessionId)).toThrow(
      expect.objectContaining({ code: 'bundle_invalid', message: expect.stringContaining(what) }),
    );
  });

  test.each([
    ['an open object', { type: 'object', properties: { a: { type: 'string' } } }],
    [
      'an open object further in',
      { type: 'object', properties: { a: { type: 'object', properties: { b: {} } } }, additionalProperties: false },
    ],
    [
      'a reference to elsewhere',
      { type: 'object', properties: { a: { $ref: 'https://example.test/schema.json' } }, additionalProperties: false },
    ],
    [
      'more than 64 KiB',
      { type: 'object', properties: {}, additionalProperties: false, description: 'x'.repeat(70_000) },
    ],
  ])('takes no definition whose schema has %s', (_what, input_schema) => {
    world.definitions = [{ ...COUNTER, input_schema }];
    expect(() => world.tools()).toThrow(expect.objectContaining({ code: 'bundle_invalid' }));
  });
});

describe('arguments are decoded strictly', () => {
  test.each([
    ['no JSON', '{', 'invalid_json', 'arguments'],
    ['a second value', '{"run_id":"x"} {}', 'invalid_json', 'arguments'],
    ['a key twice', '{"limit":1,"limit":2}', 'invalid_json', 'arguments'],
    ['__proto__', '{"__proto__":{}}', 'invalid_json', 'arguments'],
    ['a list', '[]', 'invalid_arguments', 'arguments'],
    ['a field that is not there', '{"limits":1}', 'invalid_arguments', 'arguments/limits'],
    ['a wrong type', '{"limit":"5"}', 'invalid_arguments', 'arguments/limit'],
    ['too much', '{"limit":101}', 'invalid_arguments', 'arguments/limit'],
    ['too little', '{"limit":0}', 'invalid_arguments', 'arguments/limit'],
    ['half of one', '{"limit":1.5}', 'invalid_arguments', 'arguments/limit'],
    ['no UUID', '{"after":"run-1"}', 'invalid_arguments', 'arguments/after'],
    ['the zero UUID', '{"after":"00000000-0000-0000-0000-000000000000"}', 'invalid_arguments', 'arguments/after'],
  ])('%s', async (_what, json, code, place) => {
    await expect(tools.call('workflow_run_list', json)).rejects.toMatchObject({ code, place, retryable: false });
  });

  test('a field that is spelled wrongly is told with the nearest', async () => {
    await expect(tools.call('workflow_run_list', { limitt: 5 })).rejects.toMatchObject({ nearest: 'limit' });
  });

  test('bytes that are no UTF-8 are refused', async () => {
    const tool = tools.list.find(({ name }) => name === 'workflow_run_list')!;
    await expect(tool.invoke(new Uint8Array([0x7b, 0xff, 0x7d]))).rejects.toMatchObject({ code: 'invalid_json' });
  });

  test.each(SEVEN.filter((name) => name.includes('_run_')))('%s refuses unknown fields by name', async (name) => {
    const run_id = await started();
    const args = {
      ...(name.endsWith('start') ? START : name.endsWith('list') ? {} : { run_id }),
      ...(name.endsWith('resume') && { resume: {} }),
    };
    await expect(tools.call(name, { ...args, surprise: 1 })).rejects.toMatchObject({
      code: 'invalid_arguments',
      place: 'arguments/surprise',
    });
  });
});

describe('workflow_definition_list', () => {
  test('gives name, version, description, schema and whether it can be resumed', async () => {
    expect(await tools.call('workflow_definition_list', {})).toEqual({
      definitions: [
        {
          name: 'counter_flow',
          version: 'v1',
          description: 'Counts.',
          input_schema: COUNTER.input_schema,
          resume_supported: true,
        },
      ],
      truncated: false,
    });
    await expect(tools.call('workflow_definition_list', { name: 'counter_flow' })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
  });

  test('stops at a hundred, and says so', async () => {
    world.definitions = Array.from({ length: 101 }, (_, index) => ({ ...COUNTER, name: `flow_${index}` }));
    const { definitions, truncated } = await world.tools().call('workflow_definition_list', {});
    expect([definitions.length, truncated]).toEqual([100, true]);
  });
});

describe('workflow_run_start', () => {
  test('goes through its steps in their order, and answers the safe run after the seed is durable', async () => {
    const run = await tools.call('workflow_run_start', START);
    expect(world.calls).toEqual(['validateInput', 'put', 'create', 'start']);
    expect(run).toMatchObject({
      definition_name: 'counter_flow',
      definition_version: 'v1',
      run_status: 'running',
      checkpoint_revision: 2,
      activity_cursor: 2,
    });
    expect(JSON.stringify(run)).not.toContain('secret');
    expect(Object.keys(run)).not.toContain('input');
  });

  test('keeps the input by the digest of its canonical form', async () => {
    await tools.call('workflow_run_start', { ...START, input: { count: 1 } });
    await tools.call(
      'workflow_run_start',
      '{"input":{"count":1},"definition_version":"v1","definition_name":"counter_flow"}',
    );
    expect([...world.inputs.values()]).toEqual(['{"count":1}']);
    expect([...world.inputs.keys()][0]).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each(['validateInput', 'put', 'create', 'start'])(
    'is an error when %s fails, and goes no further',
    async (step) => {
      world.failing = step;
      await expect(tools.call('workflow_run_start', START)).rejects.toThrow(`the step ${step} failed`);
      expect(world.calls.at(-1)).toBe(step);
    },
  );

  test.each([
    ['another name', { definition_name: 'counter_flaw' }, { code: 'unknown_runbook', nearest: 'counter_flow' }],
    ['another version', { definition_version: 'v2' }, { code: 'unknown_runbook_version', nearest: 'v1' }],
    ['an input that does not fit', { input: {} }, { code: 'input_invalid' }],
    ['an input that is a list', { input: [] }, { code: 'invalid_arguments', place: 'arguments/input' }],
    ['a parent of nowhere', { parent_run_id: randomUUID() }, { code: 'unknown_parent_run' }],
    [
      'too many properties',
      { input: Object.fromEntries(Array.from({ length: 4097 }, (_, index) => [`k${index}`, 1])) },
      { code: 'input_out_of_bounds' },
    ],
    ['too many bytes', { input: { count: 1, more: 'x'.repeat(300_000) } }, { code: 'input_out_of_bounds' }],
    [
      'too many levels',
      { input: JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`) },
      { code: 'input_out_of_bounds' },
    ],
  ])('refuses %s before anything is stored', async (_what, over, refusal) => {
    await expect(tools.call('workflow_run_start', { ...START, ...over })).rejects.toMatchObject(refusal);
    expect([world.inputs.size, world.runs.length]).toEqual([0, 0]);
  });

  test('takes a parent of the same session, and none of another', async () => {
    const parent_run_id = await started();
    expect(await tools.call('workflow_run_start', { ...START, parent_run_id })).toMatchObject({ parent_run_id });
    await expect(world.tools().call('workflow_run_start', { ...START, parent_run_id })).rejects.toMatchObject({
      code: 'unknown_parent_run',
    });
  });
});

describe('prepareRun', () => {
  const prepared = (prepareRun: (run: Answer) => Answer | undefined) =>
    world.tools({ prepareRun: prepareRun as never }).call('workflow_run_start', START);

  test('may fill the artifact namespace', async () => {
    const artifact_run_id = randomUUID();
    await prepared((run) => ({
      ...run,
      artifact_session_id: run.session_id,
      artifact_run_id,
      parent_artifact_input: { ref: 'art_1' },
    }));
    expect(world.created[0]).toMatchObject({ artifact_run_id, parent_artifact_input: { ref: 'art_1' } });
  });

  test.each([
    ['run_id', randomUUID()],
    ['session_id', randomUUID()],
    ['definition_version', 'v2'],
    ['input_digest', 'another'],
    ['run_status', 'running'],
    ['created_at', '2020-01-01T00:00:00Z'],
    ['parent_run_id', randomUUID()],
    ['owner', 'somebody'],
  ])('may not change %s', async (field, value) => {
    await expect(prepared((run) => ({ ...run, [field]: value }))).rejects.toMatchObject({
      code: 'prepare_run_overreach',
      message: expect.stringContaining(field),
    });
    // Nor in place.
    await expect(prepared((run) => Object.assign(run, { [field]: value }))).rejects.toMatchObject({
      code: 'prepare_run_overreach',
    });
    expect(world.created).toEqual([]);
  });

  test('must give a run back', async () => {
    await expect(prepared(() => undefined)).rejects.toMatchObject({ code: 'prepare_run_overreach' });
  });
});

test.each(['workflow_run_get', 'workflow_run_resume', 'workflow_run_cancel', 'workflow_run_history'])(
  'to %s, a run of another session is not found, like one that does not exist',
  async (name) => {
    const run_id = await started();
    const more = name.endsWith('resume') ? { resume: { go: true } } : {};
    const errors = await Promise.all(
      [run_id, randomUUID()].map((id) =>
        world
          .tools()
          .call(name, { run_id: id, ...more })
          .catch((error) => error),
      ),
    );
    const told = errors.map(({ code, message, place }) => ({ code, message, place }));
    expect(told[0]).toMatchObject({ code: 'run_not_found' });
    expect(told[0]).toEqual(told[1]);
  },
);

test('workflow_run_get gives the safe run and nothing that the registry keeps beside it', async () => {
  const run_id = await started();
  const run = await tools.call('workflow_run_get', { run_id });
  expect(Object.keys(run)).toEqual([
    'run_id',
    'definition_name',
    'definition_version',
    'run_status',
    'checkpoint_revision',
    'activity_cursor',
    'created_at',
    'updated_at',
  ]);
});

test('a run shows at most 128 artifacts, and its record is never over 64 KiB', async () => {
  const run_id = await started();
  const artifact = { id: 'art_1', kind: 'recording/chart-walk', digest: 'd'.repeat(100), size: 1 };
  world.runs[0]!.run = { ...world.runs[0]!.run, artifacts: Array.from({ length: 200 }, () => artifact) };
  expect((await tools.call('workflow_run_get', { run_id })).artifacts).toHaveLength(128);
  world.runs[0]!.run = {
    ...world.runs[0]!.run,
    artifacts: Array.from({ length: 128 }, () => ({ ...artifact, kind: 'k'.repeat(2000) })),
  };
  const run = await tools.call('workflow_run_get', { run_id });
  expect(Buffer.byteLength(JSON.stringify(run))).toBeLessThanOrEqual(64 * 1024);
});

test('workflow_run_list pages through the session, newest first, whatever arrives between', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.unshift(await started());
  const first = await tools.call('workflow_run_list', { limit: 2 });
  expect(first.runs.map((run: Answer) => run.run_id)).toEqual(ids.slice(0, 2));
  await started();
  const second = await tools.call('workflow_run_list', { limit: 50, after: first.next_after });
  expect(second.runs.map((run: Answer) => run.run_id)).toEqual(ids.slice(2));
  expect(second.next_after).toBeUndefined();
});

describe('workflow_run_resume', () => {
  test('lets an interrupted run go on, with the canonical answer', async () => {
    const run_id = await started();
    world.move(run_id, 'interrupted', 'run_interrupted');
    expect(await tools.call('workflow_run_resume', { run_id, resume: { go: true } })).toMatchObject({
      run_status: 'running',
    });
    expect(world.calls.slice(-2)).toEqual(['validateResume', 'resume {"go":true}']);
  });

  test.each(['running', 'completed', 'cancelled', 'failed'] as const)('refuses a run that is %s', async (status) => {
    const run_id = await started();
    if (status !== 'running') world.move(run_id, status, `run_${status}`);
    await expect(tools.call('workflow_run_resume', { run_id, resume: { go: true } })).rejects.toMatchObject({
      code: 'not_interrupted',
      message: expect.stringContaining(status),
    });
  });

  test('refuses an answer that does not fit, and the run stays interrupted', async () => {
    const run_id = await started();
    world.move(run_id, 'interrupted', 'run_interrupted');
    await expect(tools.call('workflow_run_resume', { run_id, resume: {} })).rejects.toMatchObject({
      code: 'resume_invalid',
    });
    await expect(tools.call('workflow_run_resume', { run_id, resume: 'yes' })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    expect(await tools.call('workflow_run_get', { run_id })).toMatchObject({ run_status: 'interrupted' });
  });
});

describe('workflow_run_cancel', () => {
  test.each([
    ['a reason', { reason: '  enough  ' }, 'cancel enough'],
    ['a blank one', { reason: '   ' }, 'cancel cancel requested'],
    ['none', {}, 'cancel cancel requested'],
  ])('with %s', async (_what, more, call) => {
    const run_id = await started();
    expect(await tools.call('workflow_run_cancel', { run_id, ...more })).toEqual({
      run_id,
      run_status: 'cancelled',
      idempotent: false,
    });
    expect(world.calls.at(-1)).toBe(call);
  });

  test('of a cancelled run is idempotent, and asks nobody', async () => {
    const run_id = await started();
    await tools.call('workflow_run_cancel', { run_id });
    const before = world.calls.length;
    expect(await tools.call('workflow_run_cancel', { run_id })).toEqual({
      run_id,
      run_status: 'cancelled',
      idempotent: true,
    });
    expect(world.calls).toHaveLength(before);
  });

  test.each(['completed', 'failed'] as const)('of a %s run is a conflict', async (status) => {
    const run_id = await started();
    world.move(run_id, status, `run_${status}`);
    await expect(tools.call('workflow_run_cancel', { run_id })).rejects.toMatchObject({ code: 'run_final' });
  });

  test('takes a reason of 512 bytes and no more', async () => {
    const run_id = await started();
    await expect(tools.call('workflow_run_cancel', { run_id, reason: 'é'.repeat(257) })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    expect(await tools.call('workflow_run_cancel', { run_id, reason: 'é'.repeat(256) })).toMatchObject({
      idempotent: false,
    });
  });
});

describe('workflow_run_history', () => {
  test.each([1, 2, 3, 100])('read with both cursors in pages of %i, loses and repeats nothing', async (limit) => {
    const run_id = await started();
    for (const kind of ['a', 'b', 'c']) world.tell(run_id, 3, 'vertex_completed', kind);
    world.tell(run_id, 4, 'vertex_completed', 'd');
    const read: string[] = [];
    let cursor: { after_revision?: number; after_event_id?: string } | undefined = {};
    while (cursor !== undefined) {
      const page = await tools.call('workflow_run_history', { run_id, limit, ...cursor });
      read.push(...page.entries.map((entry: Answer) => entry.message ?? entry.kind));
      cursor =
        page.next_revision === undefined
          ? undefined
          : {
              after_revision: page.next_revision,
              ...(page.next_event_id !== undefined && { after_event_id: page.next_event_id }),
            };
    }
    expect(read).toEqual(['run_started', 'a', 'b', 'c', 'd']);
  });

  test('bounds and cleans text', async () => {
    const run_id = await started();
    world.tell(run_id, 3, 'vertex_completed', `\u001b[31m${'m'.repeat(2000)}\u0007`);
    const { entries } = await tools.call('workflow_run_history', { run_id });
    expect(entries[1].message).toMatch(/^m{509}…$/);
  });
});
