/** What a procedure that asks keeps while it waits, beside its state: redaction, ledgers, bounds, recordings, the question. */
import fc from 'fast-check';
import { decide, type FlowChart, flowChart, interrupt } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  absent,
  coverage,
  defineTool,
  dispatchTools,
  resumeProcedure,
  runProcedure,
  type ToolDispatch,
} from '../src/index.ts';
import { readQuestion } from '../src/interrupt-question.ts';
import {
  asked,
  bodyOf,
  CALL,
  chartOf,
  failureOf,
  type Outcome,
  runbookOf,
  type Scope,
  SECRET,
  throughOneQuestion,
} from './asking.ts';
import { MemorySink } from './memory-sink.ts';
import { type State, toolsThat } from './procedures.ts';

describe('what is redacted stays so over a question, and is still there to work with', () => {
  test.each([
    ['by policy', { redact: { keys: ['token'] } }, (scope: Scope) => scope.$setValue('token', SECRET)],
    ['by pattern', { redact: { patterns: [/^tok/] } }, (scope: Scope) => scope.$setValue('token', SECRET)],
    ['by a mark of the stage', {}, (scope: Scope) => scope.$setValue('token', SECRET, true)],
  ])('%s', async (_how, more, before) => {
    let seen: unknown;
    const artifacts = new MemorySink();
    const runbook = runbookOf(
      () =>
        flowChart<Scope>('Before', (scope): void => before(scope), 'before')
          .addDeciderFunction(
            'Judge',
            (scope: State) => decide(scope, [{ when: { token: { eq: SECRET } }, then: 'same' }], 'other'),
            'judge',
          )
          .addFunctionBranch('same', 'Same', () => undefined)
          .addFunctionBranch('other', 'Other', () => undefined)
          .end()
          .addFunction(
            'Ask',
            (scope: Scope) => void interrupt(scope, { reason: 'Go?', token: scope.token } as never),
            'ask',
          )
          .addDeciderFunction(
            'Judge again',
            (scope: State) => decide(scope, [{ when: { token: { eq: SECRET } }, then: 'yes' }], 'no'),
            'judge-again',
          )
          .addFunctionBranch('yes', 'Yes', (scope: Scope) => {
            seen = scope.token;
            scope.report = { nested: { token: scope.token } };
          })
          .addFunctionBranch('no', 'No', () => undefined)
          .end()
          .build() as FlowChart,
      { walk: { recording: true }, verdicts: { decider: 'Judge' }, resultKind: 'verdict/x', ...more },
    );
    const { question, outcome } = await throughOneQuestion(runbook, {}, { ...CALL, artifacts });
    expect(seen).toBe(SECRET);
    expect(question.question).toEqual({ question: 'Go?', details: { token: 'REDACTED' } });
    const shown = JSON.stringify([question.question, question.walk, outcome, artifacts.puts]);
    expect(shown).not.toContain(SECRET);
  });
});

describe('the legs of an answer', () => {
  test('a question in the middle changes the walk and the steps, and nothing else of what is answered', async () => {
    const inventory = coverage({ n: 1 }, { checked: [{ what: 'inventory' }], notChecked: [] });
    const procedure = (asks: boolean) => (tools: ToolDispatch) =>
      flowChart<Scope>(
        'Before',
        async (scope) => {
          scope.first = await tools.call('first');
        },
        'before',
      )
        .addDeciderFunction(
          'Judge',
          (scope: Scope) => decide(scope, [{ when: { first: { ne: 0 } }, then: 'bad', label: 'it is off' }], 'good'),
          'judge',
        )
        .addFunctionBranch('bad', 'Bad', () => undefined)
        .addFunctionBranch('good', 'Good', () => undefined)
        .end()
        .addFunction(
          'Ask',
          (scope: Scope) => {
            scope.go = asks ? interrupt<{ go: boolean }>(scope, { reason: 'Go?' }).go : true;
          },
          'ask',
        )
        .addFunction(
          'After',
          async (scope: Scope) => {
            await tools.call('second', scope.$getArgs());
            scope.verdicts = [{ subject: 'a', verdict: 'bad' }];
            scope.coverage = { cannot_cover: [{ what: 'the rest', why: 'no access' }] };
            scope.report = { go: scope.go, args: scope.$getArgs() };
          },
          'after',
        )
        .build() as FlowChart;
    const more = { resultKind: 'verdict/x', verdicts: { decider: 'Judge' }, rules: { name: 'r', version: '1' } };
    const tools = toolsThat({
      first: { af_provenance: { source: 'first' }, ...inventory },
      second: coverage({}, { notChecked: [{ what: 'later', why: 'nobody waits' }], checked: [] }),
    });
    const args = { cluster: 'north', deep: { list: [1] } };
    const straight = await runProcedure(runbookOf(procedure(false), more), args, { ...CALL, tools });
    const { outcome } = await throughOneQuestion(
      runbookOf(procedure(true), more),
      { go: true },
      { ...CALL, tools },
      args,
    );
    const comparable = (given: Outcome) => {
      const { af_coverage: ledger, result } = bodyOf(given);
      const { walk: _walk, ...rest } = result;
      const text = JSON.stringify({ ledger, rest }).replace(/\d+ steps?( recorded)?/g, 'N steps');
      return { ...JSON.parse(text), evidence: given.kind === 'answered' && given.evidence };
    };
    expect(comparable(outcome)).toEqual(comparable(straight));
    expect(bodyOf(outcome).result).toMatchObject({ verdict_meanings: { bad: 'it is off' } });
  });

  test('no two inner calls have one id, and an attempt that is made again has the same ones', async () => {
    const ids: string[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      execute: async (_args, { toolCallId }) => void ids.push(toolCallId),
    });
    const runbook = runbookOf((tools) =>
      flowChart<Scope>('Before', async () => void (await tools.call('look')), 'before')
        .addFunction('Ask', (scope: Scope) => void interrupt(scope, { reason: 'Go?' }), 'ask')
        .addFunction('Between', async () => void (await tools.call('look')), 'between')
        .addFunction('Ask again', (scope: Scope) => void interrupt(scope, { reason: 'Go?' }), 'ask-again')
        .addFunction('After', async () => void (await tools.call('look')), 'after')
        .build(),
    );
    const call = () => ({ ...CALL, tools: dispatchTools([look], { toolCallId: 'call-1' }) });
    const first = asked(await runProcedure(runbook, {}, call()));
    const second = asked(await resumeProcedure(runbook, first.checkpoint, {}, call()));
    await resumeProcedure(runbook, second.checkpoint, {}, call());
    expect(ids).toEqual(['call-1#inner-1', 'call-1#inner-2', 'call-1#inner-3']);
    await resumeProcedure(runbook, first.checkpoint, {}, call());
    expect(ids.at(-1)).toBe('call-1#inner-2');
  });

  test('a recording says that it is of the last leg, and only then', async () => {
    const artifacts = new MemorySink();
    const runbook = runbookOf(
      () =>
        chartOf(
          () => undefined,
          () => undefined,
        ),
      { walk: { recording: true } },
    );
    const { outcome } = await throughOneQuestion(runbook, {}, { ...CALL, artifacts });
    expect(bodyOf(outcome).result.walk).toMatchObject({
      walk_segment: 'post-resume',
      recording_ref: expect.any(String),
      recording_note: expect.stringContaining('after its last question was answered'),
    });
    // A leg that ended in a question files its walk alone.
    expect(artifacts.kinds()).toEqual(['recording/chart-walk', 'recording/chart-walk', 'recording/run']);
    const straight = runbookOf(() => flowChart<Scope>('Only', () => undefined, 'only').build() as FlowChart, {
      walk: { recording: true },
    });
    const { walk } = bodyOf(await runProcedure(straight, {}, { ...CALL, artifacts })).result;
    expect(walk.recording_note).not.toContain('last question');
  });

  test('an absence or an error behind the question is the answer, as it is before one', async () => {
    const nothing = absent({ what: 'the host', checked: ['inventory'] });
    const after = (tools: ToolDispatch) =>
      chartOf(
        () => undefined,
        () => tools.call('look'),
      );
    const gone = await throughOneQuestion(runbookOf(after), {}, { ...CALL, tools: toolsThat({ look: nothing }) });
    expect(gone.outcome).toMatchObject({ kind: 'answered', answer: { kind: 'absence', body: nothing } });
    const failing = toolsThat({
      look: () => {
        throw Object.assign(new Error(SECRET), { code: 'E7' });
      },
    });
    const failed = await throughOneQuestion(runbookOf(after), {}, { ...CALL, tools: failing });
    expect(failureOf(failed.outcome)).toMatchObject({ code: 'E7' });
  });

  test('a leg that goes on is bounded by its own time, and ended by the signal', async () => {
    const told: unknown[] = [];
    let begun = Promise.withResolvers<void>();
    const never = (scope: Scope) =>
      new Promise(() => {
        scope.$getEnv().signal?.addEventListener('abort', () => told.push(true));
        begun.resolve();
      });
    const runbook = runbookOf(() => chartOf(() => undefined, never));
    const fire: (() => void)[] = [];
    const timers = { setTimeout: (callback: () => void) => fire.push(callback), clearTimeout: () => undefined };
    const { checkpoint } = asked(await runProcedure(runbook, {}, CALL));
    const late = resumeProcedure(runbook, checkpoint, {}, { ...CALL, timeoutMs: 5, timers });
    await begun.promise;
    fire[0]?.();
    expect(failureOf(await late)).toMatchObject({ code: 'timeout' });
    begun = Promise.withResolvers<void>();
    const controller = new AbortController();
    const ended = resumeProcedure(runbook, checkpoint, {}, { ...CALL, signal: controller.signal });
    await begun.promise;
    controller.abort(Object.assign(new Error('stopped'), { code: 'stopped' }));
    expect(failureOf(await ended)).toMatchObject({ code: 'stopped' });
    expect(told).toEqual([true, true]);
  });

  test('one checkpoint gives the same continuation as often as it is used', async () => {
    const runbook = runbookOf(() =>
      chartOf(
        (scope) => {
          scope.list = [1];
        },
        (scope, answer) => {
          (scope.list as unknown[]).push(2);
          scope.report = { list: scope.list, answer };
        },
      ),
    );
    const { checkpoint } = asked(await runProcedure(runbook, {}, CALL));
    const results = [1, 1].map(async (n) => bodyOf(await resumeProcedure(runbook, checkpoint, { n }, CALL)).result);
    const [first, second] = await Promise.all(results);
    expect(first).toMatchObject({ list: [1, 2], answer: { n: 1 } });
    expect(second).toEqual(first);
  });
});

describe('a question', () => {
  test('may hold what was read from scope, at any depth', async () => {
    const runbook = runbookOf(
      () =>
        flowChart<Scope>(
          'Before',
          (scope) => {
            scope.hosts = [{ name: 'a', tags: ['x'] }];
          },
          'before',
        )
          .addFunction(
            'Ask',
            (scope: Scope) => void interrupt(scope, { reason: 'Restart?', hosts: scope.hosts } as never),
            'ask',
          )
          .build() as FlowChart,
    );
    const { question } = asked(await runProcedure(runbook, {}, CALL));
    expect(question).toEqual({ question: 'Restart?', details: { hosts: [{ name: 'a', tags: ['x'] }] } });
  });

  test('that cannot be written down fails in words that help', async () => {
    const runbook = runbookOf(() =>
      flowChart<Scope>('Ask', (scope) => void interrupt(scope, (() => 'Go?') as never), 'ask').build(),
    );
    const error = failureOf(await runProcedure(runbook, {}, CALL));
    expect(error).toMatchObject({ name: 'RunFailure', code: 'paused', message: expect.stringContaining('plain JSON') });
  });

  test('is one line, never blank, and bounded, whatever a chart pauses with', () => {
    const bytes = (text: string) => new TextEncoder().encode(text).byteLength;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything({ withBigInt: true, withDate: true }),
          fc.string({ unit: 'binary', maxLength: 3000, size: 'max' }),
          fc.record({
            question: fc.string({ unit: 'grapheme', maxLength: 1500, size: 'max' }),
            details: fc.anything(),
          }),
        ),
        (data) => {
          const { question, details } = readQuestion(data);
          expect(question.trim()).not.toBe('');
          expect(question).not.toMatch(/[\r\n\t\u0000-\u001f]/);
          expect(bytes(question)).toBeLessThanOrEqual(512);
          expect(question.isWellFormed()).toBe(true);
          expect(bytes(JSON.stringify(details ?? {}))).toBeLessThanOrEqual(8192);
        },
      ),
    );
  });
});
