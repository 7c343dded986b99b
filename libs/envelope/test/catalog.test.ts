import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  assertComposedOf,
  assertGates,
  createCatalog,
  defineRunbook,
  defineTool,
  type ToolDefinition,
} from '../src/index.ts';
import { thrownBy, writes } from './procedures.ts';

const state = () => ({
  name: 'check',
  version: '1.0.0',
  description: 'Checks.',
  resultKind: 'verdict/check',
  rules: { name: 'r', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' as const } },
  input: z.strictObject({}),
});
const fleetOf = (assess = writes({})) => ({ plan: writes({}), key: () => 'k', assess, row: () => ({}) });

describe('a tool is refused where it is defined', () => {
  const tool = { name: 'tool', description: 'd', execute: () => 1 };
  test.each<[string, object, RegExp]>([
    ['name', { name: ' ' }, /^tool '\?': `name`.*" "/],
    ['a name that is no text', { name: 7 }, /`name`.*7/],
    ['description', { description: '' }, /`description`.*""/],
    ['a blank description', { description: ' ' }, /`description`.*" "/],
    ['a description that is no text', { description: undefined }, /`description`.*undefined/],
    ['execute', { execute: 'x' }, /`execute` must be a function, got "x"/],
    ['inputSchema', { inputSchema: 'object' }, /`inputSchema`.*"object"/],
    ['composedOf', { composedOf: [] }, /`composedOf`.*an array of 0/],
    ['an ingredient that is no text', { composedOf: ['a', 7] }, /`composedOf`.*7/],
    ['a blank ingredient', { composedOf: [' '] }, /`composedOf`.*" "/],
    ['itself as an ingredient', { composedOf: ['tool'] }, /its own ingredient/],
    ['gates', { gates: 'yes' }, /`gates`.*"yes"/],
    ['effect', { effect: 'delete' }, /`effect`.*"delete"/],
    ['checkIn', { checkIn: true }, /`checkIn`.*true/],
    ['an empty list of needs', { needs: [] }, /`needs`.*an array of 0/],
    ['a need without a name', { needs: { credential: '' } }, /`needs\.credential`.*""/],
    ['a need from nowhere', { needs: { credential: 'k', from: {} } }, /`needs\.from`.*an object/],
    ['a need from two places', { needs: [{ credential: 'k', from: { env: 'A', file: 'b' } }] }, /`needs\[0\]\.from`/],
    ['a need from an empty command', { needs: { credential: 'k', from: { command: [] } } }, /`needs\.from`/],
    ['a need from a command with a blank part', { needs: { credential: 'k', from: { command: ['x', ' '] } } }, /from/],
    ['a need with a blank name', { needs: { credential: ' ' } }, /`needs\.credential`.*" "/],
    ['a mode of a need', { needs: { credential: 'k', mode: 'both' } }, /`needs\.mode`.*"both"/],
    ['a target flag of a need', { needs: { credential: 'k', perTarget: 1 } }, /`needs\.perTarget`.*1/],
    ['a need that is none', { needs: [null] }, /`needs\[0\]\.credential`.*undefined/],
  ])('%s', (_, given, message) => {
    const error = thrownBy(() => defineTool({ ...tool, ...given } as ToolDefinition));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).not.toMatch(/ must be (,|$)/);
    expect(error.message).toMatch(message);
  });

  test('nothing at all, by the name that is missing', () => {
    expect(() => defineTool(undefined as never)).toThrow(/^tool '\?': `name` must be .*, got undefined$/);
  });

  test.each(['read', 'write'] as const)('the effect %s is accepted', (effect) => {
    expect(defineTool({ ...tool, effect }).effect).toBe(effect);
  });

  test('what is accepted comes back frozen, with its schema', () => {
    const made = defineTool({
      ...tool,
      composedOf: ['a', 'b'],
      gates: true,
      needs: { credential: 'k', from: { command: ['x'] }, mode: 'machine' },
    });
    expect(made).toMatchObject({ composedOf: ['a', 'b'], gates: true, schema: { name: 'tool', description: 'd' } });
    expect(Object.isFrozen(made)).toBe(true);
  });

  test('the asserts serve whoever makes a tool by hand', () => {
    expect(assertComposedOf('t', undefined)).toBeUndefined();
    expect(assertComposedOf('t', ['a'])).toBeUndefined();
    expect(() => assertComposedOf('t', ['t'])).toThrow(/its own ingredient/);
    expect([assertGates('t', undefined), assertGates('t', true), assertGates('t', false)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(() => assertGates('t', 1)).toThrow(/`gates`.*1/);
  });
});

describe('a catalog is checked whole when it is built', () => {
  const tool = (name: string, more: object = {}) => defineTool({ name, description: 'd', execute: () => 1, ...more });
  const runbook = (more: object = {}) => defineRunbook({ ...state(), fleet: fleetOf(), ...more });

  test('what fits is found by name', () => {
    const catalog = createCatalog({
      runbooks: [runbook({ composedOf: ['a', 'host'] })],
      tools: [tool('a')],
      hostTools: ['host'],
    });
    expect([...catalog.runbooks.keys(), ...catalog.tools.keys()]).toEqual(['check', 'a']);
  });

  test.each<[string, Parameters<typeof createCatalog>[0], RegExp]>([
    [
      'an ingredient that is not there',
      { runbooks: [runbook({ composedOf: ['renamed'] })] },
      /'check'.*composedOf ingredient 'renamed'.*no tool is registered/,
    ],
    [
      'an ingredient of a tool, beside all that there is',
      { runbooks: [], tools: [tool('c'), tool('a', { composedOf: ['b', 'd'] })], hostTools: ['b2'] },
      /'a'.*ingredient 'b', 'd', which is not registered; registered are a, b2, c$/,
    ],
    ['two runbooks of one name', { runbooks: [runbook(), runbook()] }, /two runbooks are named 'check'/],
    ['two tools of one name', { runbooks: [], tools: [tool('a'), tool('a')] }, /two tools are named 'a'/],
    ["a tool of the host's name", { runbooks: [], tools: [tool('a')], hostTools: ['a'] }, /'a' is the host's own/],
    [
      'a runbook over a tool that gates',
      { runbooks: [runbook({ composedOf: ['a'] })], tools: [tool('a', { gates: true })] },
      /'check'.*'a', which gates/,
    ],
    [
      'a tool over a tool that gates',
      { runbooks: [], tools: [tool('b', { composedOf: ['a'] }), tool('a', { gates: true })] },
      /'b'.*'a', which gates/,
    ],
    [
      'a handmade tool with a gate that is none',
      { runbooks: [], tools: [{ ...tool('a'), gates: 'no' } as never] },
      /`gates`.*"no"/,
    ],
    [
      'a handmade tool composed of itself',
      { runbooks: [], tools: [{ ...tool('a'), composedOf: ['a'] }] },
      /its own ingredient/,
    ],
  ])('%s fails the build', (_, options, message) => {
    const error = thrownBy(() => createCatalog(options));
    expect(error).toMatchObject({ name: 'CatalogError', code: 'catalog_invalid' });
    expect(error.message).toMatch(message);
  });

  test('a tool that declares no gate is an ingredient like any other', () => {
    const tools = [tool('a', { gates: false }), tool('b', { composedOf: ['a'] })];
    expect(createCatalog({ runbooks: [], tools }).tools.size).toBe(2);
  });
});
