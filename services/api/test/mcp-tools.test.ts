/** The list of tools, and how a call gets to its tool. */
import { encode as encodeOlder } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiDeps } from '../src/api-deps.ts';
import type { ToolCall } from '../src/mcp/agent-tools.ts';
import { explainRefusal } from '../src/mcp/explain-refusal.ts';
import { sessionTools } from '../src/mcp/session-tools.ts';
import { type BundledTool, workflowAgentTools } from '../src/mcp/workflow-agent-tools.ts';
import { type Fixture, openFixture } from './fixture.ts';
import { testCatalog } from './test-runbooks.ts';

let fixture: Fixture;
let deps: ApiDeps;
beforeAll(async () => {
  fixture = await openFixture();
  deps = { ...fixture, catalog: testCatalog, uploadMaxBytes: 1000 };
});
afterAll(() => fixture.close());

const tool = (name: string, over: Partial<BundledTool> = {}): BundledTool => ({
  name,
  description: 'A tool.',
  inputSchema: { type: 'object', additionalProperties: false, properties: {} },
  invoke: async (json) => ({ name, json }),
  ...over,
});
const call: ToolCall = {
  caller: { tenant: 'acme', keyId: '6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11', role: 'runner', tenantWide: false },
  session: 'default',
  signal: new AbortController().signal,
  onRun: () => undefined,
  onError: () => undefined,
  onProgress: undefined,
};
const tokens = (value: unknown) =>
  Math.max(encode(JSON.stringify(value)).length, encodeOlder(JSON.stringify(value)).length);

describe('the list', () => {
  test('is bounded in tokens by leaving out runbooks, and the log names them', async () => {
    const properties = { Xq_z9Kf7: { type: 'string', description: '漢字の説明 ✓ f81d4fae-7dec' } };
    const inputSchema = { type: 'object' as const, additionalProperties: false, properties };
    const runbooks = Array.from({ length: 40 }, (_, at) => tool(`runbook_${at}`, { inputSchema }));
    const tools = workflowAgentTools(deps, (ports) => [...sessionTools(ports), ...runbooks]);
    const names = tools.listing.map(({ name }) => name);
    const kept = names.filter((name) => name.startsWith('runbook_'));
    expect(names.slice(0, 2)).toEqual(['workflow_definition_list', 'workflow_run_start']);
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.length).toBeLessThan(40);
    expect(tokens(tools.listing)).toBeLessThan(3000);
    const left = runbooks.map(({ name }) => name).slice(kept.length);
    expect(fixture.logs.map((line) => JSON.parse(line).tools)).toContainEqual(left);
  });
});

describe('a call', () => {
  test('gets to its tool with its arguments as JSON', async () => {
    const tools = workflowAgentTools(deps, () => [tool('one'), tool('two')]);
    expect(await tools.call('two', { a: [1, 'x', null] }, call)).toEqual({ name: 'two', json: '{"a":[1,"x",null]}' });
  });

  test('with a number that JSON cannot write is refused and not changed', async () => {
    const tools = workflowAgentTools(deps, () => [tool('one')]);
    const error = await tools.call('one', { a: [JSON.parse('1e999')] }, call).catch((thrown: unknown) => thrown);
    expect(explainRefusal(error)).toMatchObject({ code: 'input_invalid', place: 'arguments', retryable: false });
  });

  test('that the tool refuses is told in the words of the tool', () => {
    const error = Object.assign(new Error('limit is too large'), {
      name: 'WorkflowToolError',
      code: 'invalid_arguments',
      place: 'limit',
      expected: 'at most 100',
      retryable: false,
      secret: 'not for the wire',
    });
    expect(explainRefusal(error)).toEqual({
      code: 'invalid_arguments',
      message: 'limit is too large',
      place: 'limit',
      expected: 'at most 100',
      retryable: false,
    });
  });
});
