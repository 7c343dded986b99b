/** Where a chart may ask: where it can go on it does so whole, and everywhere else nobody is asked at all. */
import { decide, type FlowChart, flowChart, interrupt } from 'footprintjs';
import { expect, test } from 'vitest';
import { resumeProcedure, runProcedure } from '../src/index.ts';
import type { State } from './procedures.ts';

type Builder = ReturnType<typeof flowChart<State>>;
type Stage = (scope: State) => void;

const CALL = { toolCallId: 'call-1' };
const nothing = () => undefined;

/** Writes down that it was here. */
const here =
  (name: string): Stage =>
  (scope) => {
    scope.trace = [...((scope.trace as string[] | undefined) ?? []), name];
  };
const asks: Stage = (scope) => {
  scope.said = [
    ...((scope.said as string[] | undefined) ?? []),
    interrupt<{ word: string }>(scope, { reason: 'Word?' }).word,
  ];
  here('asked')(scope);
};
const end: Stage = (scope) => {
  here('end')(scope);
  scope.report = { trace: scope.trace, said: scope.said, inner: scope.inner };
};
const chooses =
  (branch: string) =>
  (scope: State): ReturnType<typeof decide> =>
    decide(scope, [{ when: { one: { eq: 1 } }, then: branch }], 'other');

const begin = (name = 'begin') =>
  flowChart<State>(name, (scope) => void Object.assign(scope, { one: 1, trace: [name] }), name) as Builder;
const built = (chart: { build(): unknown }) => chart.build() as FlowChart;
const ended = (chart: Builder) => built(chart.addFunction('End', end, 'end'));
const mounted = { outputMapper: (inner: State) => ({ said: inner.said, inner: inner.trace }) } as never;

/** A chart with a decider, whose branch is given. */
function decided(chart: Builder, branch: Stage | FlowChart, id = 'decider'): Builder {
  const list = chart.addDeciderFunction('Decider', chooses(`${id}-branch`), id);
  const with_ =
    typeof branch === 'function'
      ? list.addFunctionBranch(`${id}-branch`, 'Branch', branch)
      : list.addSubFlowChartBranch(`${id}-branch`, branch, 'Branch', mounted);
  return with_.addFunctionBranch('other', 'Other', nothing).setDefault('other').end() as Builder;
}

const asking = (name: string) =>
  built(
    begin(name)
      .addFunction('Ask', asks, `${name}-ask`)
      .addFunction('Tail', here(`${name}-tail`), `${name}-tail`),
  );

/** Goes round while fewer than three words were said; `stages` come before the decider, `again` is the branch that loops. */
function round(stages: (chart: Builder) => Builder, again: Stage, loopTo: string): FlowChart {
  const isOver = (scope: State) => ((scope.said as unknown[] | undefined) ?? []).length >= 3;
  return built(
    stages(begin())
      .addFunction('Look', (scope: State) => void Object.assign(scope, { over: isOver(scope) }), 'look')
      .addDeciderFunction(
        'More?',
        (scope: State) => decide(scope, [{ when: { over: { eq: false } }, then: 'again' }], 'stop'),
        'more',
      )
      .addFunctionBranch('again', 'Again', again, undefined, { loopTo } as never)
      .addFunctionBranch('stop', 'Stop', end)
      .end() as Builder,
  );
}

async function answered(chart: () => FlowChart) {
  const runbook = { name: 'asks', resultKind: 'report', procedure: chart };
  let outcome = await runProcedure(runbook, {}, CALL);
  let questions = 0;
  for (; outcome.kind === 'interrupted'; questions++) {
    outcome = await resumeProcedure(runbook, outcome.checkpoint, { word: `w${questions}` }, CALL);
  }
  return { questions, answer: outcome.answer };
}

const TRACE = ['begin', 'asked', 'end'];

test.each<[place: string, chart: () => FlowChart, report: object]>([
  ['its first stage', () => ended(flowChart<State>('Ask', asks, 'ask') as Builder), { trace: ['asked', 'end'] }],
  ['a stage of its main line', () => ended(begin().addFunction('Ask', asks, 'ask') as Builder), { trace: TRACE }],
  ['a branch of a decider', () => ended(decided(begin(), asks)), { trace: TRACE }],
  [
    'a branch of one decider of two',
    () =>
      ended(
        decided(
          decided(begin(), asks).addFunction('Between', here('between'), 'between') as Builder,
          here('second'),
          'second',
        ),
      ),
    { trace: ['begin', 'asked', 'between', 'second', 'end'] },
  ],
  [
    'a subflow of its main line',
    () => ended(begin().addSubFlowChartNext('sub', asking('sub'), 'Sub', mounted) as Builder),
    { trace: ['begin', 'end'], inner: ['sub', 'asked', 'sub-tail'] },
  ],
  [
    'a branch of a decider in such a subflow',
    () => {
      const inner = built(decided(begin('sub'), asks).addFunction('Tail', here('tail'), 'tail'));
      return ended(begin().addSubFlowChartNext('sub', inner, 'Sub', mounted) as Builder);
    },
    { trace: ['begin', 'end'], inner: ['sub', 'asked', 'tail'] },
  ],
  [
    'a stage before a loop',
    () => {
      const counts: Stage = (scope) => {
        scope.said = [...((scope.said as string[] | undefined) ?? []), 'x'];
      };
      return round(
        (chart) => chart.addFunction('Ask', asks, 'ask').addFunction('Count', counts, 'count') as Builder,
        here('round'),
        'count',
      );
    },
    { trace: ['begin', 'asked', 'round', 'end'], said: ['w0', 'x', 'x'] },
  ],
])('a chart that asks in %s goes on there, and misses nothing', async (_place, chart, report) => {
  const { questions, answer } = await answered(chart);
  expect(questions).toBe(1);
  expect(answer).toMatchObject({ kind: 'envelope', body: { result: report } });
});

test.each(['begin', 'look'])(
  'a branch that loops back to %s may ask in each round, and hears each answer',
  async (loopTo) => {
    const { questions, answer } = await answered(() => round((chart) => chart, asks, loopTo));
    expect(questions).toBe(3);
    expect(answer).toMatchObject({ body: { result: { said: ['w0', 'w1', 'w2'] } } });
  },
);

test.each<[place: string, chart: () => FlowChart, words: string]>([
  [
    'a stage that a loop leads back to',
    () => round((chart) => chart.addFunction('Ask', asks, 'ask') as Builder, nothing, 'ask'),
    'a loop leads back',
  ],
  [
    'a stage behind one that a loop leads back to',
    () => round((chart) => chart.addFunction('Ask', asks, 'ask') as Builder, nothing, 'begin'),
    'a loop leads back',
  ],
  [
    'a pausable stage that a loop leads back to',
    () =>
      round(
        (chart) =>
          chart.addPausableFunction(
            'Ask',
            { execute: async () => ({ reason: 'Word?' }), resume: async () => undefined },
            'ask',
          ) as Builder,
        nothing,
        'ask',
      ),
    'a loop leads back',
  ],
  [
    'a subflow that a loop leads back to',
    () => round((chart) => chart.addSubFlowChartNext('sub', asking('sub'), 'Sub', mounted) as Builder, nothing, 'sub'),
    'a loop leads back',
  ],
  ['a subflow that is a branch of a decider', () => ended(decided(begin(), asking('sub'))), 'inside a subflow'],
  [
    'a subflow of a subflow',
    () => {
      const outer = built(begin('outer').addSubFlowChartNext('inner', asking('inner'), 'Inner', mounted) as Builder);
      return ended(begin().addSubFlowChartNext('outer', outer, 'Outer', mounted) as Builder);
    },
    'inside a subflow',
  ],
  [
    'a decider itself',
    () => {
      const choose = (scope: State) => {
        asks(scope);
        return 'branch';
      };
      return ended(
        begin()
          .addDeciderFunction('Decider', choose as never, 'decider')
          .addFunctionBranch('branch', 'Branch', here('branch'))
          .end() as Builder,
      );
    },
    'chooses what comes next',
  ],
  [
    'a branch of a selector',
    () =>
      ended(
        begin()
          .addSelectorFunction('Selector', (() => ['left']) as never, 'selector')
          .addFunctionBranch('left', 'Left', asks)
          .addFunctionBranch('right', 'Right', nothing)
          .end() as Builder,
      ),
    'a fork',
  ],
  [
    'the stage that forks',
    () =>
      ended(
        (flowChart<State>('Ask', asks, 'ask') as Builder).addListOfFunction([
          { id: 'left', name: 'Left', fn: here('left') },
          { id: 'right', name: 'Right', fn: here('right') },
        ] as never) as Builder,
      ),
    'a fork',
  ],
])('a chart that asks in %s is refused before anybody is asked', async (_place, chart, words) => {
  const { questions, answer } = await answered(chart);
  expect(questions).toBe(0);
  expect(answer).toMatchObject({ kind: 'failure', error: { code: 'paused', message: expect.stringContaining(words) } });
});
