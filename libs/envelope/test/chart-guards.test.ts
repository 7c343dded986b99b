import { type DecideRule, decide, flowChart } from 'footprintjs';
import { ScopeFacade } from 'footprintjs/advanced';
import { describe, expect, test, vi } from 'vitest';
import { absent, evidenceLines, normalizeFacts, RunFailure, type ToolDispatch } from '../src/index.ts';
import { MemorySink } from './memory-sink.ts';
import { answer, CALL, type State, toolsThat } from './procedures.ts';
import { runToAnswer } from './run-to-answer.ts';

type Branch = (item: unknown, index: number) => ReturnType<typeof read>;

const read = (facts: State, stage: (scope: State) => void = () => undefined, id = 'read') =>
  flowChart<State>(
    'Read',
    (scope) => {
      Object.assign(scope, facts);
      stage(scope);
    },
    id,
  ).build();

function fanOut(items: unknown[], branch: Branch, more: { maxBranches?: number; failFast?: boolean } = {}) {
  return flowChart<State>('check', (scope) => void Object.assign(scope, { items }), 'start')
    .addParallelForEach<unknown>('Each item', 'each', {
      items: (scope: State) => scope.items as unknown[],
      branch: branch as never,
      maxBranches: 10,
      into: 'results',
      ...more,
    })
    .addFunction(
      'Collect',
      (scope: State) => void Object.assign(scope, { report: { count: (scope.results as unknown[]).length } }),
      'collect',
    )
    .build();
}

const failing =
  (when: (item: unknown) => boolean, error: () => Error): Branch =>
  (item) =>
    read({}, () => {
      if (when(item)) throw error();
    });

describe('fan-outs', () => {
  test('over their declared bound are refused by name, at one item too many', async () => {
    const items = Array.from({ length: 11 }, (_, n) => n);
    const refused = answer({ procedure: () => fanOut(items, () => read({})) });
    await expect(refused).rejects.toMatchObject({ code: 'fan_out_over_bound' });
    await expect(refused).rejects.toThrow(/'Each item' was given 11 items and declared at most 10/);
    expect(await refused.catch((error: unknown) => error)).toBeInstanceOf(RunFailure);
    const { result } = await answer({ procedure: () => fanOut(items.slice(1), () => read({})) });
    expect(result.count).toBe(10);
  });

  test('of more than five hundred items lose none', async () => {
    const items = Array.from({ length: 520 }, (_, n) => n);
    const { result, af_coverage } = await answer({
      procedure: () => fanOut(items, () => read({}), { maxBranches: 520 }),
    });
    expect(result.count).toBe(520);
    expect(af_coverage.not_checked).toBeUndefined();
  });

  test('declare each branch that failed, by place and by the name and code of its error', async () => {
    const { result, af_coverage } = await answer({
      procedure: () =>
        fanOut(['a', 'boom', 'b', 'boom', 'bang'], (item, index) =>
          item === 'bang'
            ? failing(
                () => true,
                () => new TypeError('secret'),
              )(item, index)
            : failing(
                (it) => it === 'boom',
                () => Object.assign(new Error('secret'), { code: 'E1' }),
              )(item, index),
        ),
    });
    expect(result.count).toBe(5);
    expect(af_coverage.not_checked).toEqual([
      {
        what: "2 item(s) of the fan-out 'Each item' (each), counted from 0: 1, 3",
        why: 'the branch failed: Error (E1)',
      },
      { what: "1 item(s) of the fan-out 'Each item' (each), counted from 0: 4", why: 'the branch failed: TypeError' },
    ]);
    expect(JSON.stringify(af_coverage)).not.toContain('secret');
  });

  test('name at most twenty items of a kind, and count the rest', async () => {
    const items = Array.from({ length: 25 }, (_, n) => n);
    const { af_coverage } = await answer({
      procedure: () =>
        fanOut(
          items,
          failing(
            () => true,
            () => new Error('x'),
          ),
          { maxBranches: 25 },
        ),
    });
    expect(af_coverage.not_checked?.[0]?.what).toMatch(/^25 item\(s\) .*: 0, 1, .*, 19 and 5 more$/);
  });

  test('inside branches are guarded like the outer one', async () => {
    const outer = (items: unknown[]) =>
      fanOut(['x'], () =>
        fanOut(
          items,
          failing(
            (item) => item === 'boom',
            () => new Error('x'),
          ),
        ),
      );
    const { af_coverage } = await answer({ procedure: () => outer(['a', 'boom']) });
    expect(af_coverage.not_checked).toEqual([
      {
        what: "1 item(s) of the fan-out 'Each item' (each~0/each), counted from 0: 1",
        why: 'the branch failed: Error',
      },
    ]);
    await expect(answer({ procedure: () => outer(Array(11).fill('a')) })).rejects.toMatchObject({
      code: 'fan_out_over_bound',
    });
    const misnamed = () => fanOut(['x'], () => fanOut(['y'], () => read({}, undefined, 'a/b')));
    await expect(answer({ procedure: misnamed })).rejects.toMatchObject({ code: 'chart_invalid' });
  });

  test('inside each other lose no item of many', async () => {
    const inner = Array.from({ length: 30 }, (_, n) => n);
    const { result, af_coverage } = await answer({
      procedure: () =>
        flowChart<State>('check', (scope) => void Object.assign(scope, { items: inner.slice(0, 25) }), 'start')
          .addParallelForEach<number>('Outer', 'outer', {
            items: (scope: State) => scope.items as number[],
            branch: () => fanOut(inner, () => read({ seen: true }), { maxBranches: 30 }),
            maxBranches: 25,
            into: 'outers',
          })
          .addFunction(
            'Sum',
            (scope: State) => {
              const outers = scope.outers as { results: ({ seen?: boolean } | undefined)[] }[];
              Object.assign(scope, {
                report: { seen: outers.flatMap(({ results }) => results).filter(Boolean).length },
              });
            },
            'sum',
          )
          .build(),
    });
    expect(result.seen).toBe(750);
    expect(af_coverage.not_checked).toBeUndefined();
  });

  test('of a subflow, and of a branch of a decider, are guarded as well', async () => {
    const inner = (items: unknown[]) =>
      fanOut(
        items,
        failing(
          (item) => item === 'boom',
          () => new Error('x'),
        ),
      );
    const mounted = (items: unknown[]) =>
      flowChart<State>('check', () => undefined, 'first')
        .addSubFlowChartNext('sub', inner(items), 'Sub')
        .build();
    const chosen = (items: unknown[]) =>
      flowChart<State>('check', () => undefined, 'first')
        .addDeciderFunction('Which', () => 'sub', 'which')
        .addSubFlowChartBranch('sub', inner(items), 'Sub')
        .end()
        .build();
    for (const chart of [mounted, chosen]) {
      await expect(answer({ procedure: () => chart(Array(11).fill('a')) })).rejects.toMatchObject({
        code: 'fan_out_over_bound',
      });
      const { af_coverage } = await answer({ procedure: () => chart(['a', 'boom']) });
      expect(af_coverage.not_checked).toEqual([
        {
          what: "1 item(s) of the fan-out 'sub/Each item' (sub/each), counted from 0: 1",
          why: 'the branch failed: Error',
        },
      ]);
    }
  });

  test.each([[undefined], [null], ['text'], [{}]])(
    'fail the run by name where a branch gives %j and no chart',
    async (given) => {
      const procedure = () => fanOut(['a', 'b'], (item) => (item === 'b' ? (given as never) : read({})));
      await expect(answer({ procedure })).rejects.toThrow(/'each': branch\(item, 1\) must return a built chart/);
    },
  );

  test("serve a chart with an author's own scopes", async () => {
    const chart = flowChart<ScopeFacade>('check', (scope) => scope.setValue('items', ['a', 'b']), 'start')
      .setScopeFactory(
        ((context: never, stage: string, readOnly: unknown, env: never) =>
          new ScopeFacade(context, stage, readOnly, env)) as never,
      )
      .addParallelForEach<unknown>('Each item', 'each', {
        items: (scope) => scope.getValue('items') as unknown[],
        branch: (item) => read({ item }),
        maxBranches: 10,
        into: 'report',
      })
      .addFunction(
        'Count',
        (scope) => scope.setValue('report', { count: (scope.getValue('report') as unknown[]).length }),
        'count',
      )
      .build();
    expect((await answer({ procedure: () => chart as never })).result.count).toBe(2);
  });

  test('that fail fast still fail the run', async () => {
    const failed = answer({
      procedure: () =>
        fanOut(
          ['boom'],
          failing(
            () => true,
            () => new Error('whole'),
          ),
          { failFast: true },
        ),
    });
    await expect(failed).rejects.toThrow('whole');
  });

  test('do not swallow an absence: it is the answer, verbatim', async () => {
    const nothing = absent({ what: 'rows', checked: ['the store'] });
    const calling =
      (tools: ToolDispatch): Branch =>
      (item) =>
        flowChart<State>('Read', async () => void (await tools.call(String(item))), 'read').build() as never;
    const envelope: unknown = await answer(
      { procedure: (tools) => fanOut(['fine', 'empty'], calling(tools)) },
      { tools: toolsThat({ fine: 1, empty: nothing }) },
    );
    expect(envelope).toBe(nothing);
  });

  test.each(['a/b', 'a~1', 'a#2'])('refuse a branch with the stage id %s', async (id) => {
    const refused = answer({ procedure: () => fanOut(['a'], () => read({}, undefined, id)) });
    await expect(refused).rejects.toMatchObject({ code: 'chart_invalid' });
    await expect(refused).rejects.toThrow(`'Each item' has the stage id '${id}'`);
  });

  test("leave the author's own chart as it was made", async () => {
    const chart = fanOut(['a'], () => read({}));
    const before = JSON.stringify(chart.root);
    const { logger } = chart as { logger?: unknown };
    await answer({ procedure: () => chart });
    expect(JSON.stringify(chart.root)).toBe(before);
    expect((chart as { logger?: unknown }).logger).toBe(logger);
  });
});

const RULES: DecideRule<State>[] = [
  {
    when: (scope) => {
      if (scope.age === 'throw') throw new Error('secret');
      return false;
    },
    then: 'stale',
    label: 'by hand',
  },
  { when: { age: { gt: 7 } }, then: 'stale', label: 'older than 7 days' },
];

function posture(age: unknown, options: { declines?: boolean; rules?: DecideRule<State>[]; async?: boolean } = {}) {
  const { declines = true, rules = RULES } = options;
  const made = (scope: State) => decide(scope, rules, { branch: 'fresh', label: 'within 7 days' });
  const chart = flowChart<State>('check', (scope) => void Object.assign(scope, { age }), 'read').addDeciderFunction(
    'Posture',
    (options.async ? async (scope: State) => made(scope) : made) as typeof made,
    'posture',
  );
  const land = (verdict: string) => (scope: State) => void Object.assign(scope, { verdicts: [{ verdict }] });
  for (const branch of ['stale', 'fresh', ...(declines ? ['declined'] : [])])
    chart.addFunctionBranch(branch, branch, land(branch));
  return chart.end().build();
}

const judged = async (age: unknown, options: Parameters<typeof posture>[1] = {}) => {
  const call = { name: 'check', resultKind: 'verdict/check', verdicts: { decider: 'Posture' } };
  const outcome = await runToAnswer({ ...call, procedure: () => posture(age, options) }, {}, CALL);
  const body = outcome.answer.kind === 'envelope' ? outcome.answer.body : undefined;
  return {
    verdict: outcome.rows[0]?.verdict,
    evidence: outcome.evidence[0],
    open: body?.af_coverage.not_checked ?? [],
  };
};

describe('a decision whose rules judged nothing is declined', () => {
  test.each<[string, unknown, string, string | undefined]>([
    ['a number over the threshold', 8, 'stale', undefined],
    ['a number under it', 7, 'fresh', undefined],
    ['a rule that threw', 'throw', 'declined', 'rule_failed'],
    ['text where a number is compared', '30', 'declined', 'kinds_differ'],
    ['text that is no number', 'n/a', 'declined', 'kinds_differ'],
    ['an empty text', '', 'declined', 'kinds_differ'],
    ['a boolean', true, 'declined', 'kinds_differ'],
    ['no number at all', Number.NaN, 'declined', 'kinds_differ'],
    ['a list', [30], 'declined', 'kinds_differ'],
    ['an object', { days: 30 }, 'declined', 'kinds_differ'],
    ['infinity', Number.POSITIVE_INFINITY, 'stale', undefined],
    ['a missing value, which rules may rely on', undefined, 'fresh', undefined],
    ['null, likewise', null, 'fresh', undefined],
  ])('%s', async (_, age, verdict, doubt) => {
    for (const async of [false, true]) {
      const outcome = await judged(age, { async });
      expect(outcome.verdict).toBe(verdict);
      expect(outcome.evidence?.doubt).toBe(doubt);
      expect(outcome.evidence?.branch).toBe(verdict);
    }
  });

  test('equality and lists compare as they are, and text orders text', async () => {
    const ruled = (when: object, age: unknown) =>
      judged(age, { rules: [{ when, then: 'stale' } as DecideRule<State>] });
    expect((await ruled({ age: { eq: 7 } }, '7')).verdict).toBe('fresh');
    expect((await ruled({ age: { ne: 7 } }, '7')).verdict).toBe('stale');
    expect((await ruled({ age: { in: [7] } }, '7')).verdict).toBe('fresh');
    expect((await ruled({ age: { gte: 'b' } }, 'c')).verdict).toBe('stale');
    expect((await ruled({ age: { lt: 'b' } }, 1)).verdict).toBe('declined');
    expect((await ruled({ age: { gt: false } }, true)).verdict).toBe('stale');
    expect((await ruled({ age: { lte: 7 } }, '7')).verdict).toBe('declined');
    expect((await ruled({ age: { gt: false } }, false)).verdict).toBe('fresh');
  });

  test('in a subflow too', async () => {
    const mounted = () =>
      flowChart<State>('check', () => undefined, 'first')
        .addSubFlowChartNext('sub', posture('30'), 'Sub', {
          outputMapper: ({ verdicts }: State) => ({ verdicts }),
        } as never)
        .build();
    const { result } = await answer({ verdicts: { decider: 'Posture' }, procedure: mounted });
    expect(result.verdicts).toEqual([{ verdict: 'declined' }]);
  });

  test('one doubtful comparison of a rule is enough', async () => {
    const rules: DecideRule<State>[] = [{ when: { age: { ne: 0, gt: 7 } }, then: 'stale' }];
    const { verdict, evidence } = await judged('30', { rules });
    expect(verdict).toBe('declined');
    expect(evidence?.rules[0]).toMatchObject({ matched: false, failed: true });
  });

  test('then no rule decided it, not even one that matched later', async () => {
    const rules: DecideRule<State>[] = [
      { when: { age: { gt: 7 } }, then: 'stale' },
      { when: { age: { ne: 0 } }, then: 'stale', label: 'later' },
    ];
    const { verdict, evidence } = await judged('n/a', { rules });
    expect(verdict).toBe('declined');
    const lines = evidence === undefined ? [] : evidenceLines(evidence);
    expect(lines.map(({ decided }) => decided)).toEqual([false, false]);
  });

  test('a rule that matched before the doubtful one decides', async () => {
    const rules: DecideRule<State>[] = [{ when: { age: { eq: 'throw' } }, then: 'stale' }, ...RULES];
    expect((await judged('throw', { rules })).verdict).toBe('stale');
  });

  test('its sentence says which rule judged nothing, and nothing of what it threw', async () => {
    const { evidence } = await judged('throw');
    expect(evidence?.rules).toEqual([
      { label: 'by hand', branch: 'stale', matched: false, failed: true, read: expect.any(Array) },
      expect.objectContaining({ failed: true, matched: false }),
    ]);
    expect(JSON.stringify(evidence)).not.toContain('secret');
  });

  test.each<[unknown, string]>([
    [
      'throw',
      'Rule 1 "by hand" judged nothing: a rule could not be evaluated, so no classification was reached: it read age; chose declined.',
    ],
    [
      '30',
      'Rule 2 "older than 7 days" judged nothing: a rule compared values of two kinds, so no classification was reached: age "30" gt 7; chose declined.',
    ],
    [8, 'Rule 2 "older than 7 days" matched: age 8 gt 7; chose stale.'],
    [1, 'No rule of 2 matched; chose the default fresh "within 7 days".'],
  ])('for the age %j its walk says so', async (age, sentence) => {
    const artifacts = new MemorySink();
    const { result } = await answer({ procedure: () => posture(age) }, { artifacts });
    const rows = artifacts.redeem(result.walk.ref) as { type: string; text: string }[];
    expect(rows.find(({ type }) => type === 'condition')?.text).toBe(sentence);
  });

  test.each<[string, DecideRule<State>[], string]>([
    [
      'a rule without a label',
      [{ when: { age: { eq: 8 } }, then: 'stale' }],
      'Rule 1 matched: age 8 eq 8; chose stale.',
    ],
    [
      'a function, by the keys that it read',
      [{ when: (scope) => scope.age === 8 && scope.known === undefined, then: 'stale', label: 'by hand' }],
      'Rule 1 "by hand" matched: it read age, known; chose stale.',
    ],
    ['a function that reads nothing', [{ when: () => true, then: 'stale' }], 'Rule 1 matched; chose stale.'],
  ])('the walk tells what decided: %s', async (_, rules, sentence) => {
    const artifacts = new MemorySink();
    const { result } = await answer({ procedure: () => posture(8, { rules }) }, { artifacts });
    const rows = artifacts.redeem(result.walk.ref) as { type: string; text: string }[];
    expect(rows.find(({ type }) => type === 'condition')?.text).toBe(sentence);
  });

  test('the walk tells a default without a label, and a choice without evidence, by the branch alone', async () => {
    const chosen = (decider: (scope: State) => unknown) =>
      flowChart<State>('check', (scope) => void Object.assign(scope, { items: [1] }), 'start')
        .addParallelForEach<unknown>('Each', 'each', {
          items: (scope: State) => scope.items as unknown[],
          branch: () =>
            flowChart<State>('Read', (scope) => void Object.assign(scope, { age: 1 }), 'read')
              .addDeciderFunction('Posture', decider as () => string, 'posture')
              .addFunctionBranch('fresh', 'Fresh', () => undefined)
              .end()
              .build() as never,
          maxBranches: 1,
          into: 'results',
        })
        .build();
    const told = async (decider: (scope: State) => unknown) => {
      const artifacts = new MemorySink();
      const { result } = await answer({ procedure: () => chosen(decider) }, { artifacts });
      const rows = artifacts.redeem(result.walk.ref) as { type: string; text: string }[];
      return rows.find(({ type }) => type === 'condition')?.text;
    };
    expect(await told(() => 'fresh')).toBe('Chose Fresh.');
    expect(await told((scope) => decide(scope, [{ when: { age: { eq: 2 } }, then: 'fresh' }], 'fresh'))).toBe(
      'No rule of 1 matched; chose the default fresh.',
    );
  });

  test('without a declined branch the doubt is told in the ledger', async () => {
    const { verdict, open } = await judged('30', { declines: false });
    expect(verdict).toBe('stale');
    expect(open).toEqual([
      expect.objectContaining({
        what: expect.stringContaining("1 decision(s) of 'Posture'"),
        why: expect.stringContaining('two kinds'),
      }),
    ]);
    expect((await judged(30, { declines: false })).open).toEqual([]);
  });
});

describe('doubts that were not declined', () => {
  const doubtful = (verdicts?: { decider: string }) =>
    answer({
      ...(verdicts !== undefined && { verdicts }),
      procedure: () => {
        const chart = flowChart<State>('check', () => undefined, 'start');
        for (const [id, rules] of [
          ['first', RULES.slice(0, 1)],
          ['second', RULES.slice(1)],
          ['third', RULES.slice(1)],
        ] as const) {
          chart.addSubFlowChartNext(id, posture('throw', { declines: false, rules: [...rules] }), id);
        }
        return chart.build();
      },
    });

  test('are told in the ledger, each kind with its count', async () => {
    const { af_coverage } = await doubtful({ decider: 'Posture' });
    expect(af_coverage.not_checked).toEqual([
      {
        what: "1 decision(s) of 'Posture' or another decider that judged nothing",
        why: expect.stringMatching(/could not be evaluated.*; give the decider a branch 'declined'$/),
      },
      {
        what: "2 decision(s) of 'Posture' or another decider that judged nothing",
        why: expect.stringMatching(/two kinds.*; give the decider a branch 'declined'$/),
      },
    ]);
  });

  test('are told where no decider is named, and the rows have no meanings then', async () => {
    const { af_coverage, result } = await doubtful();
    expect(af_coverage.not_checked?.map(({ what }) => what)).toEqual([
      '1 decision(s) of a decider that judged nothing',
      '2 decision(s) of a decider that judged nothing',
    ]);
    expect(result).not.toHaveProperty('verdict_meanings');
  });

  test('are no entry beside the row that was declined for it', async () => {
    expect((await judged('30')).open).toEqual([
      { what: "1 row(s) that reached NO classification (verdict 'declined')", why: expect.any(String) },
    ]);
  });
});

describe('facts are normalised to the kinds that rules compare', () => {
  const rules: DecideRule<State>[] = [
    { when: { days: { gt: 7, lt: 99 }, known: { eq: true } }, then: 'a' },
    { when: { phase: { in: ['x', null] as never } }, then: 'a' },
    { when: { bounded: { gt: 1, lt: undefined } }, then: 'a' },
    { when: { mixed: { eq: 1 } }, then: 'a' },
    { when: { mixed: { eq: 'one' } }, then: 'a' },
    { when: () => true, then: 'a' },
  ];
  test.each([
    [{ days: '30' }, { days: 30 }],
    [{ days: ' -3.5e1 ' }, { days: -35 }],
    [{ days: '' }, { days: null }],
    [{ days: '0x10' }, { days: null }],
    [{ days: 'Infinity' }, { days: null }],
    [{ days: 'n/a' }, { days: null }],
    [{ days: Number.NaN }, { days: null }],
    [{ days: 7 }, { days: 7 }],
    [{ days: true }, { days: null }],
    [{ days: [7] }, { days: null }],
    [{ days: '12.50' }, { days: 12.5 }],
    [{ days: '10.' }, { days: 10 }],
    [{ days: '.25' }, { days: 0.25 }],
    [{ days: '1E+10' }, { days: 1e10 }],
    [{ days: '.' }, { days: null }],
    [{ days: '.x' }, { days: null }],
    [{ days: '7 days' }, { days: null }],
    [{ days: 'over 7' }, { days: null }],
    [{ days: 'true' }, { days: null }],
    [{ bounded: '2' }, { bounded: 2 }],
    [{ known: 'TRUE' }, { known: true }],
    [{ known: ' true\n' }, { known: true }],
    [{ known: 'false' }, { known: false }],
    [{ known: 'untrue' }, { known: null }],
    [{ known: 'not true' }, { known: null }],
    [{ known: 'trueish' }, { known: null }],
    [{ known: 'true or not' }, { known: null }],
    [{ known: ['true'] }, { known: null }],
    [{ known: '1' }, { known: null }],
    [{ known: 'yes' }, { known: null }],
    [{ known: 1 }, { known: null }],
    [{ phase: 7 }, { phase: '7' }],
    [{ phase: true }, { phase: 'true' }],
    [{ phase: ['x'] }, { phase: null }],
    [{ phase: null }, { phase: null }],
    [
      { mixed: '1', other: '2' },
      { mixed: '1', other: '2' },
    ],
    [{}, {}],
  ])('%j gives %j', (facts, expected) => {
    expect(normalizeFacts(rules, facts)).toEqual(expected);
  });
});

test("the library's own logger stays quiet, whatever fails", async () => {
  const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;
  const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => undefined));
  try {
    await answer({
      procedure: () =>
        fanOut(
          ['boom'],
          failing(
            () => true,
            () => new Error('secret'),
          ),
        ),
    });
    await answer({
      procedure: () =>
        read({}, () => {
          throw new Error('secret');
        }),
    }).catch(() => undefined);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});
