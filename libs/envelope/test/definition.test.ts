import { decide, flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DEFAULT_LIMITS, defineRunbook, RunbookDefinitionError, runbookAsTool, standingOf } from '../src/index.ts';
import { does, type State, thrownBy, writes } from './procedures.ts';

const seedOptions = { name: 'check', description: 'Checks.', procedure: writes({}) };

const refusals: [option: string, given: unknown, got: RegExp][] = [
  ['presentation', { presentation: 'table' }, /"table"/],
  ['presentation', { presentation: 'panel ' }, /"panel "/],
  ['presentation', { presentation: null }, /null/],
  ['verdicts.decider', { verdicts: { decider: ' ' } }, /" "/],
  ['verdicts.decider', { verdicts: {} }, /undefined/],
  ['verdicts', { verdicts: 'Posture' }, /"Posture"/],
  ['verdicts.maxRows', { verdicts: { decider: 'd', maxRows: 0 } }, /0/],
  ['verdicts.maxRows', { verdicts: { decider: 'd', maxRows: 1.5 } }, /1\.5/],
  ['verdicts.maxRows', { verdicts: { decider: 'd', maxRows: '5' } }, /"5"/],
  ['walk', { walk: true }, /true/],
  ['walk.cap', { walk: { cap: 0 } }, /0/],
  ['walk.cap', { walk: { cap: Number.POSITIVE_INFINITY } }, /Infinity/],
  ['walk.cap', { walk: { cap: Number.NaN } }, /NaN/],
  ['walk.recording', { walk: { recording: null } }, /null/],
  ['walk.recording', { walk: { recording: [] } }, /an array of 0/],
  ['walk.recording', { walk: { recording: 'yes' } }, /"yes"/],
  ['walk.recording.maxBytes', { walk: { recording: { maxBytes: 0 } } }, /0/],
  ['walk.recording.maxBytes', { walk: { recording: { maxBytes: 2.5 } } }, /2\.5/],
  ['walk.recording.label', { walk: { recording: { label: 7 } } }, /7/],
  ['rules', { rules: null }, /null/],
  ['rules', { rules: { name: '', version: 'v1' } }, /name may not be blank, got ""/],
  ['rules', { rules: { name: 'r', version: ' ' } }, /version may not be blank, got " "/],
  ['rules', { rules: { name: 'r' } }, /version may not be blank, got undefined/],
  ['composedOf', { composedOf: [] }, /an array of 0/],
  ['composedOf', { composedOf: 'inventory' }, /"inventory"/],
  ['composedOf', { composedOf: [''] }, /""/],
  ['composedOf', { composedOf: ['check'] }, /its own ingredient/],
  ['gates', { gates: 'yes' }, /"yes"/],
  ['description', { description: ' ' }, /" "/],
  ['procedure', { procedure: undefined }, /undefined/],
  ['procedure', { procedure: () => ({}) }, /BUILT chart .*got an object/],
  ['procedure', { procedure: () => undefined }, /BUILT chart .*got undefined/],
  ['procedure', { procedure: () => null }, /BUILT chart .*got null/],
  ['procedure', { procedure: () => () => 1 }, /BUILT chart .*got a function/],
  ['procedure', { procedure: () => flowChart('c', () => undefined, 'a') }, /BUILT chart/],
];

/** A refusal names the option, says what it must be, and shows what it got. */
function expectRefusal(error: Error, option: string, got: RegExp): void {
  expect(error).toMatchObject({ name: 'RunbookDefinitionError', code: 'runbook_invalid' });
  expect(error).toBeInstanceOf(RunbookDefinitionError);
  expect(error.message).toContain(`\`${option}\``);
  expect(error.message).not.toMatch(/ must be (,|$)/);
  expect(error.message).toMatch(got);
}

describe('the seed door refuses at definition, naming the option and what it got', () => {
  test.each([
    ...refusals,
    ['name', { name: '' }, /""/],
    ['name', { name: undefined }, /undefined/],
    ['resultKind', { resultKind: 7 }, /7/],
    ['keepRecord', { keepRecord: true }, /true/],
    ['resultMapper', { resultMapper: () => 1 }, /a function/],
    ['keepRecordLimit', { keepRecordLimit: 5 }, /5/],
    ['recorders', { recorders: [] }, /an array of 0/],
  ] as typeof refusals)('%s: %j', (option, given, got) => {
    const error = thrownBy(() => runbookAsTool({ ...seedOptions, ...(given as object) }));
    expectRefusal(error, option, got);
  });

  test('the smallest call is accepted, and so are the edges of every dial', () => {
    const dials = [
      {},
      { verdicts: { decider: 'd', maxRows: 1 }, walk: { cap: 1, recording: { maxBytes: 1 } } },
      { walk: { recording: true } },
      { walk: { recording: false } },
      { walk: { recording: {} } },
      { presentation: 'prose' as const },
      { presentation: 'panel' as const },
    ];
    for (const dial of dials) expect(runbookAsTool({ ...seedOptions, ...dial }).name).toBe('check');
  });

  test('a factory that throws is refused by name, with what it said', () => {
    const throwing = () => {
      throw new Error('not today');
    };
    const error = thrownBy(() => runbookAsTool({ ...seedOptions, procedure: throwing }));
    expect(error.message).toContain("'check': `procedure` threw while it was being defined: not today");
  });

  test('a factory that calls tools instead of its stages is refused by name', () => {
    const calling = (tools: { call(name: string): unknown }) => {
      tools.call('inventory');
      return does(() => undefined);
    };
    expect(() => runbookAsTool({ ...seedOptions, procedure: calling })).toThrow(
      /'inventory' while it was being defined/,
    );
  });

  test('the factory is probed once at definition and made anew for each call', async () => {
    let made = 0;
    const tool = runbookAsTool({
      ...seedOptions,
      procedure: (tools) => {
        expect(tools.has('anything')).toBe(false);
        made++;
        return does(() => undefined);
      },
    });
    expect(made).toBe(1);
    await tool.execute({}, { toolCallId: 'c1' });
    await tool.execute({}, { toolCallId: 'c2' });
    expect(made).toBe(3);
  });

  test("the arguments' schema is the declared one, else the chart's own, else an object", () => {
    const declared = { type: 'object', properties: { cluster: { type: 'string' } } };
    const charted = (inputSchema: unknown) => () =>
      Object.assign(
        does(() => undefined),
        { inputSchema },
      );
    const schema = (options: object) => runbookAsTool({ ...seedOptions, ...options }).schema.inputSchema;
    expect(schema({ inputSchema: declared, procedure: charted({ type: 'object' }) })).toBe(declared);
    expect(schema({ procedure: charted(declared) })).toBe(declared);
    expect(schema({ procedure: charted({ safeParse: () => ({}) }) })).toEqual({ type: 'object', properties: {} });
    expect(schema({ procedure: charted({ parse: () => ({}) }) })).toEqual({ type: 'object', properties: {} });
    expect(schema({ procedure: charted(z.object({ a: z.string() })) })).toMatchObject({ required: ['a'] });
    // What a caller has to give: a default is filled in for it.
    const filled = z.object({ a: z.string(), b: z.number().default(3) });
    expect(schema({ procedure: charted(filled) })).toMatchObject({ required: ['a'] });
    expect(schema({})).toEqual({ type: 'object', properties: {} });
  });

  test('an input that JSON Schema cannot tell is refused', () => {
    const procedure = () =>
      Object.assign(
        does(() => undefined),
        { inputSchema: z.object({ at: z.date() }) },
      );
    const error = thrownBy(() => runbookAsTool({ ...seedOptions, procedure }));
    expect(error).toBeInstanceOf(RunbookDefinitionError);
    expect(error.message).toBe('the chart declares an input that JSON Schema cannot tell');
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('what hosts of agents read is carried to the tool as it is', () => {
    const declared = {
      resultKind: 'verdict/check',
      resultClass: 'triage',
      owner: { kind: 'custom', id: 'ops' },
      resultCeiling: { maxChars: 50 },
      argumentsFrom: ['inventory'],
      composedOf: ['inventory'],
      gates: false,
      effect: 'read' as const,
    };
    expect(runbookAsTool({ ...seedOptions, ...declared })).toMatchObject(declared);
  });
});

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

describe('a runbook is refused at definition, naming the option and what it got', () => {
  const rule = (when: unknown, then: unknown = 'fine') => ({
    rules: { name: 'r', version: '1', list: [{ when, then }] },
  });
  test.each<[string, unknown, RegExp]>([
    ...refusals.filter(([option]) => option !== 'procedure'),
    ['name', { name: 'Check' }, /"Check"/],
    ['name', { name: 'check!' }, /"check!"/],
    ['name', { name: '9check' }, /"9check"/],
    ['name', { name: 'c'.repeat(64) }, /a string of 64/],
    ['name', { name: '' }, /""/],
    ['version', { version: '' }, /""/],
    ['resultKind', { resultKind: ' ' }, /" "/],
    ['input', { input: {} }, /an object/],
    ['input', { input: undefined }, /undefined/],
    ['limits', { limits: 5 }, /5/],
    ['limits.chunkSize', { limits: { chunkSize: 0 } }, /0/],
    ['limits.retries', { limits: { retries: 1 } }, /one of chunkSize, concurrency, .*, deadlineMs, errorBudget, got 1/],
    ['limits.chunkSize', { limits: { chunkSize: '5%' } }, /a whole number of at least 1, got "5%"/],
    ['limits.deadlineMs', { limits: { deadlineMs: 0 } }, /0/],
    ['limits.errorBudget', { limits: { errorBudget: '0%' } }, /0%/],
    ['limits.errorBudget', { limits: { errorBudget: '150%' } }, /150%/],
    ['limits.errorBudget', { limits: { errorBudget: -1 } }, /-1/],
    ['limits.errorBudget', { limits: { errorBudget: 2.5 } }, /2\.5/],
    ...['100.5%', '5', '5%%', '5% of all', 'about 5%', '-5%', '5.%', '.5%', 'five%', '1000%', '5.x%'].map(
      (errorBudget): [string, unknown, RegExp] => [
        'limits.errorBudget',
        { limits: { errorBudget } },
        /a whole number of at least 1, or a share like '5%', got "/,
      ],
    ),
    ['verdicts.standings', { verdicts: { decider: 'd', standings: 'ok' } }, /"ok"/],
    ['verdicts.standings.fine', { verdicts: { decider: 'd', standings: { fine: 'good' } } }, /"good"/],
    ['rules.list', { rules: { name: 'r', version: '1', list: {} } }, /an object/],
    ['rules.list[0]', { rules: { name: 'r', version: '1', list: ['x'] } }, /"x"/],
    ['rules.list[0].then', rule({ a: { eq: 1 } }, ''), /""/],
    ['rules.list[0].then', rule({ a: { eq: 1 } }, ' '), /" "/],
    ['rules.list[0].then', rule({ a: { eq: 1 } }, 7), /7/],
    ['rules.list[0].when', rule({}), /an empty one never matches/],
    ['rules.list[0].when.a', rule({ a: {} }), /an object of operators, got an object/],
    ['rules.list[0].when.a.gle', rule({ a: { gle: 1 } }), /operators eq, ne, gt, .*, notIn, got "gle"/],
    ['rules.list[0].when.a.in', rule({ a: { in: 1 } }), /1/],
    ['rules.list[0].when.a.in', rule({ a: { in: [] } }), /never matches/],
    ['rules.list[0].when.a.notIn', rule({ a: { notIn: Array(1001).fill(0) } }), /an array of 1001/],
    ['rules.list[0].when.a.gt', rule({ a: { gt: null } }), /null/],
    ['rules.list[0].when.a.gte', rule({ a: { gte: undefined } }), /undefined/],
    ['rules.list[0].when.a.lt', rule({ a: { lt: Number.NaN } }), /NaN/],
    ['rules.list[0].when.a', rule({ a: { gt: 5, lt: 3 } }), /never matches/],
    ['rules.list[0].when.a', rule({ a: { gt: 5, lte: 5 } }), /never matches/],
    ['rules.list[0].when.a', rule({ a: { gte: 5, lt: 5 } }), /never matches/],
    ['rules.list[0].when.a', rule({ a: { gt: 1, gte: 9, lt: 5 } }), /never matches/],
    ['rules.list[0].when.a', rule({ a: { gt: 5, lt: 9, lte: 3 } }), /never matches/],
    ['rules.list[0].when', rule({ constructor: { eq: 1 } }), /"constructor"/],
    [
      'rules.list[0].label',
      { rules: { name: 'r', version: '1', list: [{ when: { a: { eq: 1 } }, then: 'fine', label: 1 }] } },
      /1/,
    ],
    ['rules.otherwise', { rules: { name: 'r', version: '1', otherwise: ' ' } }, /a branch, or .*" "/],
    ['rules.otherwise', { rules: { name: 'r', version: '1', otherwise: { label: 'x' } } }, /an object/],
    ['rules.otherwise', { rules: { name: 'r', version: '1', otherwise: null } }, /null/],
    ['verdicts.standings', rule({ a: { eq: 1 } }, 'unheard'), /'unheard', which a rule gives/],
  ])('%s: %j', (option, given, got) => {
    const error = thrownBy(() => defineRunbook({ ...state(), fleet: fleetOf(), ...(given as object) }));
    expectRefusal(error, option, got);
  });

  test.each<[string, object, RegExp]>([
    ['both forms', { procedure: writes({}), fleet: fleetOf() }, /exactly one of procedure and fleet/],
    ['no form', {}, /exactly one of procedure and fleet/],
    ['a procedure that is none', { procedure: 'p' }, /`procedure`.*"p"/],
    ['a fleet that is none', { fleet: [] }, /`fleet`.*an array of 0/],
    ['a fleet without a key', { fleet: { ...fleetOf(), key: undefined } }, /`fleet\.key`.*undefined/],
    ['a procedure that is unbuilt', { procedure: () => 1 }, /`procedure`.*BUILT/],
    ['a collect that is none', { fleet: { ...fleetOf(), collect: 1 } }, /`fleet\.collect`.*1/],
    ['a collect that is unbuilt', { fleet: { ...fleetOf(), collect: () => 1 } }, /`fleet\.collect`.*BUILT/],
    ['an identity that is none', { fleet: { ...fleetOf(), identity: 'id' } }, /`fleet\.identity`.*"id"/],
    ['a target that is none', { fleet: { ...fleetOf(), target: null } }, /`fleet\.target`.*null/],
    ['a plan that is unbuilt', { fleet: { ...fleetOf(), plan: () => 1 } }, /`fleet\.plan`.*BUILT/],
    ['an assess that is unbuilt', { fleet: fleetOf((() => 1) as never) }, /`fleet\.assess`.*BUILT/],
    ['a fleet without standings', { fleet: fleetOf(), verdicts: { decider: 'd' } }, /`verdicts\.standings`/],
  ])('%s', (_, given, message) => {
    const error = thrownBy(() => defineRunbook({ ...state(), ...given } as never));
    expect(error).toBeInstanceOf(RunbookDefinitionError);
    expect(error.message).not.toMatch(/ must be (,|$)/);
    expect(error.message).toMatch(message);
  });

  test('nothing at all, by the name that is missing', () => {
    expect(() => defineRunbook(undefined as never)).toThrow(/^runbook 'runbook': `name` must be .*, got undefined$/);
    expect(() => runbookAsTool(undefined as never)).toThrow(/^runbook '\?': `name` must be .*, got undefined$/);
  });

  test('a plan that hands over subjects while it is being defined is told so', async () => {
    let handed: Promise<void> | undefined;
    const plan = (_tools: unknown, subjects: { add(page: never[]): Promise<void> }) => {
      handed = subjects.add([]);
      return writes({})();
    };
    defineRunbook({ ...state(), fleet: { ...fleetOf(), plan } });
    await expect(handed).rejects.toThrow('while the runbook was being defined');
  });

  test.each(['a/b', 'a~1', 'a#2'])('the stage id %s, which would break a path, in any place of a chart', (id) => {
    const root = () => flowChart<State>('c', () => undefined, id).build();
    const later = () =>
      flowChart<State>('c', () => undefined, 'a')
        .addFunction('b', () => undefined, id)
        .build();
    const branch = () =>
      flowChart<State>('c', () => undefined, 'a')
        .addDeciderFunction('D', () => 'x', 'd')
        .addFunctionBranch('x', 'X', () => undefined)
        .addFunctionBranch(id, 'Y', () => undefined)
        .end()
        .build();
    const inner = () =>
      flowChart<State>('c', () => undefined, 'a')
        .addSubFlowChartNext('sub', root(), 'Sub')
        .build();
    const mount = () =>
      flowChart<State>('c', () => undefined, 'a')
        .addSubFlowChartNext(id, later(), 'Sub')
        .build();
    // The substrate itself refuses one of these, for a mount.
    expect(() => runbookAsTool({ ...seedOptions, procedure: mount })).toThrow(/`procedure`/);
    for (const procedure of [root, later, branch, inner]) {
      expect(() => runbookAsTool({ ...seedOptions, procedure })).toThrow(/'check': `procedure` has the stage id/);
    }
    expect(() => defineRunbook({ ...state(), fleet: fleetOf(root) })).toThrow(/`fleet\.assess` has the stage id/);
  });

  test('nested subflows and loops with sound ids are accepted', () => {
    const inner = flowChart<State>('inner', () => undefined, 'in').build();
    const middle = flowChart<State>('mid', () => undefined, 'mid')
      .addSubFlowChartNext('sub', inner, 'Sub')
      .build();
    const procedure = () =>
      flowChart<State>('c', () => undefined, 'a')
        .addSubFlowChartNext('outer', middle, 'Outer')
        .addDeciderFunction(
          'Again?',
          (scope: State) => decide(scope, [{ when: { n: { lt: 0 } }, then: 'again' }], 'done'),
          'ask',
        )
        .addFunctionBranch('again', 'Again', () => undefined)
        .addFunctionBranch('done', 'Done', () => undefined)
        .end()
        .loopTo('a')
        .build();
    expect(runbookAsTool({ ...seedOptions, procedure }).name).toBe('check');
  });

  test('every operator, a list to its limit, a range and a function are accepted in rules', () => {
    const list = [
      { when: { a: { eq: 1, ne: 2, gt: 0, gte: 1, lt: 3, lte: 1 } }, then: 'fine', label: '' },
      { when: { a: { in: Array(1000).fill(0) }, b: { notIn: [] } }, then: 'fine' },
      { when: { a: { gte: 5, lte: 5 } }, then: 'fine' },
      { when: { a: { gt: 'b', lt: 'a' } }, then: 'declined' },
      { when: () => true, then: 'fine' },
    ];
    const rules = { name: 'r', version: '1', list };
    expect(defineRunbook({ ...state(), fleet: fleetOf(), rules }).rules).toBe(rules);
  });

  test.each([
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'isPrototypeOf',
    'propertyIsEnumerable',
    '__defineGetter__',
    '__defineSetter__',
    '__lookupGetter__',
    '__lookupSetter__',
  ])('the key %s, which never matches in the substrate', (key) => {
    const given = rule(JSON.parse(`{"${key}": {"eq": 1}}`));
    expect(() => defineRunbook({ ...state(), fleet: fleetOf(), ...(given as object) })).toThrow(
      /`rules\.list\[0\]\.when`/,
    );
  });

  test.each(['unheard', { branch: 'unheard' }])('a default branch %j that no standing declares', (otherwise) => {
    const rules = { name: 'r', version: '1', otherwise };
    expect(() => defineRunbook({ ...state(), fleet: fleetOf(), rules })).toThrow(/'unheard', which a rule gives/);
  });

  test('a bounded runbook needs no standings, and keeps its probed chart', () => {
    const runbook = defineRunbook({ ...state(), verdicts: { decider: 'd' }, procedure: writes({}, 'bounded') });
    expect(runbook).toMatchObject({
      form: 'procedure',
      charts: { procedure: { buildTimeStructure: { name: 'bounded' } } },
    });
  });

  test('a long value is told by its length, a short one as it is', () => {
    const named = (name: string) => thrownBy(() => defineRunbook({ ...state(), fleet: fleetOf(), name })).message;
    expect(named('A'.repeat(40))).toContain(`got "${'A'.repeat(40)}"`);
    expect(named('A'.repeat(41))).toContain('got a string of 41');
  });

  test('a default branch is accepted as a word and as a word with its label', () => {
    for (const otherwise of ['fine', { branch: 'fine', label: 'all well' }]) {
      const rules = { name: 'r', version: '1', otherwise };
      expect(defineRunbook({ ...state(), fleet: fleetOf(), rules }).rules).toBe(rules);
    }
  });

  test('limits that are left out have their defaults', () => {
    const runbook = defineRunbook({ ...state(), fleet: fleetOf(), limits: { chunkSize: 7 } });
    expect(runbook.limits).toEqual({ ...DEFAULT_LIMITS, chunkSize: 7 });
    expect(Object.isFrozen(runbook)).toBe(true);
    expect(runbook.form).toBe('fleet');
  });

  test('the longest name is accepted, and an error budget as a number and as a share', () => {
    const name = `c${'_0'.repeat(31)}`;
    expect(defineRunbook({ ...state(), fleet: fleetOf(), name }).name).toBe(name);
    for (const errorBudget of [1, 20, '5%', '12.5%', '0.25%', '100%'] as const) {
      const { limits } = defineRunbook({ ...state(), fleet: fleetOf(), limits: { errorBudget } });
      expect(limits.errorBudget).toBe(errorBudget);
    }
  });

  test('a fleet keeps the chart of each of its parts, and of collect only when it has one', () => {
    const parts = { ...fleetOf(writes({}, 'assess')), plan: writes({}, 'plan') };
    const names = (fleet: typeof parts) =>
      Object.entries(defineRunbook({ ...state(), fleet }).charts).map(
        ([part, chart]) => `${part}: ${chart.buildTimeStructure.name}`,
      );
    expect(names(parts)).toEqual(['plan: plan', 'assess: assess']);
    const collect = writes({}, 'collect');
    expect(names({ ...parts, collect } as typeof parts)).toEqual(['plan: plan', 'assess: assess', 'collect: collect']);
  });

  test('a word may stand as declined beside the reserved one', () => {
    const verdicts = { decider: 'd', standings: { unreadable: 'declined' as const } };
    const rules = { name: 'r', version: '1', list: [{ when: { a: { eq: 1 } }, then: 'unreadable' }] };
    expect(standingOf(defineRunbook({ ...state(), fleet: fleetOf(), verdicts, rules }).verdicts, 'unreadable')).toBe(
      'declined',
    );
  });

  test('declined always has its standing, and what a prototype has is none', () => {
    const verdicts = { decider: 'd', standings: { fine: 'ok' as const } };
    expect(standingOf(verdicts, 'declined')).toBe('declined');
    expect(standingOf(verdicts, 'fine')).toBe('ok');
    expect(standingOf(verdicts, 'constructor')).toBeUndefined();
    expect(standingOf({ decider: 'd' }, 'fine')).toBeUndefined();
  });
});
