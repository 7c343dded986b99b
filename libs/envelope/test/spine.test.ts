import { getEventListeners } from 'node:events';
import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  answerStopped,
  composeEnvelope,
  coverage,
  RunFailure,
  runbookAsTool,
  runbookEnvelopeSchema,
} from '../src/index.ts';
import { answer, CALL, does, type State, toolsThat, writes } from './procedures.ts';
import { runToAnswer } from './run-to-answer.ts';

const rules = { name: 'signals', version: 'v3' };

describe('the spine is on every answer', () => {
  test('a runbook of any other kind has the spine alone, in its order', async () => {
    const envelope = await answer({
      resultKind: 'actions/restart',
      procedure: writes({ verdicts: [{ verdict: 'fine' }], report: { restarted: ['a'], table: 'mine' } }),
    });
    expect(Object.keys(envelope)).toEqual(['af_coverage', 'result']);
    expect(Object.keys(envelope.af_coverage)).toEqual(['checked', 'note', 'sentence']);
    expect(Object.keys(envelope.result)).toEqual(['af_provenance', 'rule_version', 'restarted', 'table', 'walk']);
    expect(envelope.af_coverage.sentence).toBe(
      "Ran 'check' under no declared rule set: 1 step(s) recorded; 0 not-checked item(s) declared.",
    );
  });

  test('only a verdict-shaped runbook has rows', async () => {
    const run = (resultKind: string) =>
      runToAnswer({ name: 'check', resultKind, procedure: writes({ verdicts: [{ verdict: 'fine' }] }) }, {}, CALL);
    expect((await run('actions/restart')).rows).toEqual([]);
    expect((await run('verdict/check')).rows).toEqual([{ verdict: 'fine' }]);
  });

  test('a verdict-shaped answer has its keys in the order of the contract', async () => {
    const envelope = await answer({
      rules,
      verdicts: { decider: 'none' },
      procedure: writes({ verdicts: [{ verdict: 'fine' }], report: { b: 1, a: 2, walk: 'mine' } }),
    });
    expect(Object.keys(envelope.result)).toEqual([
      'af_provenance',
      'rule_version',
      'b',
      'a',
      'verdicts',
      'rows_shown',
      'rows_total',
      'rows_complete',
      'table',
      'render_note',
      'report_note',
      'walk',
    ]);
  });

  test('the rule version is the declared one, else the word for none', async () => {
    expect((await answer({ rules, procedure: writes({}) })).result.rule_version).toBe('v3');
    expect((await answer({ procedure: writes({}) })).result.rule_version).toBe('undeclared');
  });

  test('the sentence names chart, rule set, steps, rows, declined rows and open items', async () => {
    const rows = [{ verdict: 'fine' }, { verdict: 'declined' }, { verdict: 'declined' }];
    const state = { verdicts: rows, coverage: { not_checked: ['a'] } };
    const { af_coverage } = await answer({ rules, procedure: writes(state, 'posture') });
    expect(af_coverage.sentence).toBe(
      "Ran 'posture' under signals v3: 1 step(s) recorded; 3 row(s) assessed, 2 declined (no classification reached); 2 not-checked item(s) declared.",
    );
  });

  test('declined rows are counted into the ledger, and only when there are some', async () => {
    const open = async (verdicts: unknown[]) =>
      (await answer({ procedure: writes({ verdicts }) })).af_coverage.not_checked;
    expect((await open([{ verdict: 'declined' }, { verdict: 'fine' }]))?.[0]?.what).toBe(
      "1 row(s) that reached NO classification (verdict 'declined')",
    );
    expect(await open([{ verdict: 'fine' }, { verdict: 'Declined' }])).toBeUndefined();
  });
});

describe('the ledger folds', () => {
  const inner = (what: string) => coverage({ rows: [] }, { checked: [what], notChecked: ['shared'] });

  test("inner tools first, the chart's own second, the bridge's last, each thing once", async () => {
    const { af_coverage } = await answer(
      {
        rules,
        procedure: (tools) =>
          does(async (scope) => {
            await tools.call('second');
            await tools.call('first');
            scope.verdicts = [{ verdict: 'declined' }];
            scope.coverage = {
              checked: ['own', 'inner first', { what: 'inner second', why: 'again' }],
              notChecked: ['own gap', 'shared'],
              cannotCover: [{ what: 'blind', why: 'no eyes' }, 'without a why'],
            };
          }),
      },
      { tools: toolsThat({ first: inner('inner first'), second: inner('inner second') }) },
    );
    expect(af_coverage.checked?.map(({ what, why }) => [what, why])).toEqual([
      ['inner second', undefined],
      ['inner first', undefined],
      ['own', undefined],
      ['inner second', 'again'],
      ["the procedure 'check': 1 step(s) recorded under signals v3", undefined],
    ]);
    expect(af_coverage.not_checked?.map(({ what }) => what)).toEqual([
      'shared',
      'own gap',
      "1 row(s) that reached NO classification (verdict 'declined')",
    ]);
    expect(af_coverage.cannot_cover).toEqual([{ what: 'blind', why: 'no eyes' }]);
  });

  test.each([['text'], [7], [null], [['a']]])('a coverage that is %j is none', async (declared) => {
    const { af_coverage } = await answer({ procedure: writes({ coverage: declared }) });
    expect(af_coverage.checked).toHaveLength(1);
  });

  test('a failed inner call declares nothing', async () => {
    const { af_coverage } = await answer(
      { procedure: (tools) => does(async () => void (await tools.call('source').catch(() => undefined))) },
      {
        tools: toolsThat({
          source: () => {
            throw new Error('down');
          },
        }),
      },
    );
    expect(af_coverage.checked).toHaveLength(1);
  });
});

describe('provenance', () => {
  const stamped = (results: Record<string, unknown>) =>
    answer(
      {
        procedure: (tools) =>
          does(async () => {
            for (const name of Object.keys(results)) await tools.call(name);
          }),
      },
      { tools: toolsThat(results) },
    );

  test('the first inner stamp is carried and comes first, under the tool and id of this call', async () => {
    const { result } = await stamped({
      plain: { rows: [] },
      seeded: coverage(
        { af_provenance: { source: 'LOCAL SEED', tool: 'seeded', toolCallId: 'x' } },
        { checked: ['a'] },
      ),
      live: coverage({ af_provenance: { source: 'live' } }, { checked: ['b'] }),
    });
    expect(Object.keys(result)[0]).toBe('af_provenance');
    expect(result.af_provenance).toEqual({ source: 'LOCAL SEED', tool: 'check', toolCallId: 'c1' });
  });

  test('the payload is asked before the top level', async () => {
    const both = { af_provenance: { source: 'outer' }, result: { af_provenance: { source: 'payload' } } };
    expect((await stamped({ both })).result.af_provenance).toMatchObject({ source: 'payload' });
    expect((await stamped({ bare: { af_provenance: { source: 'outer' } } })).result.af_provenance).toMatchObject({
      source: 'outer',
    });
  });

  test.each([[{ af_provenance: 'text' }], [{ af_provenance: ['a'] }], ['text'], [[{ af_provenance: { a: 1 } }]]])(
    'what is no stamp is passed over: %j',
    async (result) => {
      expect((await stamped({ source: result })).result.af_provenance).toEqual({ tool: 'check', toolCallId: 'c1' });
    },
  );
});

describe('reserved names', () => {
  const SPINE = ['af_coverage', 'af_provenance', 'rule_version', 'report_note', 'walk'];
  const PROJECTION = [
    'verdicts',
    'rows_shown',
    'rows_total',
    'rows_complete',
    'table',
    'render_note',
    'verdict_meanings',
  ];
  const forged = (names: string[]) => ({ ...Object.fromEntries(names.map((name) => [name, 'forged'])), honest: 7 });

  test.each(['prose', 'panel'] as const)(
    'a report cannot put one into a %s answer, and each is named',
    async (presentation) => {
      const { result } = await answer({
        presentation,
        procedure: writes({ verdicts: [{ verdict: 'fine' }], report: forged([...SPINE, ...PROJECTION]) }),
      });
      expect(JSON.stringify(result).match(/"forged"/g)).toBeNull();
      expect(result.report_note).toContain('`af_coverage`, `af_provenance`');
      for (const name of [...SPINE, ...PROJECTION]) expect(result.report_note).toContain(`\`${name}\``);
      expect(result.honest).toBe(7);
      expect('table' in result).toBe(presentation === 'prose');
      expect('verdict_meanings' in result).toBe(false);
    },
  );

  test('an answer without the projection keeps only the spine for itself', async () => {
    const { result } = await answer({
      resultKind: 'actions/x',
      procedure: writes({ report: forged([...SPINE, ...PROJECTION]) }),
    });
    for (const name of PROJECTION) expect(result[name]).toBe('forged');
    for (const name of SPINE) expect(result.report_note).toContain(`\`${name}\``);
    expect(result.report_note).not.toContain('`table`');
  });

  test('nothing refused, no note; a field that only looks like one is free', async () => {
    const { result } = await answer({ procedure: writes({ report: { subjects: 3, Table: 1, verdict: 'x' } }) });
    expect('report_note' in result).toBe(false);
    expect(result).toMatchObject({ subjects: 3, Table: 1, verdict: 'x' });
  });

  test('__proto__ stays a data key and reaches no prototype', async () => {
    const report = JSON.parse('{"__proto__": {"polluted": true}, "nested": {"__proto__": {"deep": true}}, "walk": 1}');
    const { result } = await answer({ procedure: writes({}) });
    const composed = composeEnvelope({
      toolName: 'check',
      toolCallId: 'c1',
      chartName: 'check',
      resultKind: 'report',
      steps: 1,
      innerLedger: { checked: [], notChecked: [], cannotCover: [] },
      ownLedger: { checked: [], notChecked: [], cannotCover: [] },
      report,
      rows: { shown: [], total: 0, declined: 0 },
      walk: result.walk,
    });
    const fields = composed.result as Record<string, unknown>;
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
    expect(fields.polluted).toBeUndefined();
    expect(Object.getOwnPropertyDescriptor(fields, '__proto__')?.value).toEqual({ polluted: true });
    expect(Object.getOwnPropertyNames(fields.nested)).toEqual(['__proto__']);
    expect((fields.nested as { deep?: unknown }).deep).toBeUndefined();
    expect(JSON.stringify(composed)).toContain('"__proto__":{"polluted":true}');
    expect(composed.result.walk).toBe(result.walk);
  });

  test.each([['text'], [['a']], [7], [null]])('a report that is %j adds nothing', async (report) => {
    const { result } = await answer({ resultKind: 'x', procedure: writes({ report }) });
    expect(Object.keys(result)).toEqual(['af_provenance', 'rule_version', 'walk']);
  });
});

describe('a run that gives no envelope', () => {
  test('what the procedure threw is thrown, as it is', async () => {
    const error = new Error('procedure-internal');
    const failing = answer({
      procedure: () =>
        does(() => {
          throw error;
        }),
    });
    await expect(failing).rejects.toBe(error);
  });

  test('a procedure that pauses throws, with the checkpoint for who asks and for no logger', async () => {
    const pausing = () =>
      flowChart<State>('check', (scope) => void Object.assign(scope, { secret: 'kept' }), 'a')
        .addPausableFunction(
          'Ask',
          { execute: () => ({ question: 'go on?' }), resume: () => undefined } as never,
          'ask',
        )
        .build();
    const failed = (await answer({ procedure: pausing }).catch((error: unknown) => error)) as RunFailure & {
      checkpoint?: unknown;
    };
    expect(failed).toBeInstanceOf(RunFailure);
    expect([failed.name, failed.code]).toEqual(['RunFailure', 'paused']);
    expect(failed.message).toBe("the procedure of 'check' paused and cannot go on: a tool call waits for nobody");
    expect(failed.checkpoint).toBeDefined();
    expect(JSON.stringify({ ...failed })).not.toContain('kept');
  });

  test('an aborted run throws the reason of the abort, though its stage goes on', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    const running = answer(
      { procedure: () => does(() => new Promise<void>(() => controller.abort(reason))) },
      { signal: controller.signal },
    );
    await expect(running).rejects.toBe(reason);
  });

  test('a run past its time is a failure with its own code, by timers that are passed in', async () => {
    let fire: () => void = () => undefined;
    let cleared: unknown;
    const timers = {
      setTimeout: (callback: () => void, ms: number) => {
        expect(ms).toBe(50);
        fire = callback;
        return 'handle';
      },
      clearTimeout: (handle: unknown) => {
        cleared = handle;
      },
    };
    let stopped = false;
    const procedure = () =>
      does(
        (scope) =>
          new Promise<void>(() => {
            const { signal } = (scope as unknown as { $getEnv(): { signal: AbortSignal } }).$getEnv();
            signal.addEventListener('abort', () => {
              stopped = true;
            });
            fire();
          }),
      );
    const outcome = await runToAnswer(
      { name: 'check', resultKind: 'report', procedure },
      {},
      { ...CALL, timeoutMs: 50, timers },
    );
    expect(outcome.answer).toMatchObject({
      kind: 'failure',
      error: {
        name: 'ChartTimeoutError',
        code: 'timeout',
        timeoutMs: 50,
        message: 'the chart did not end within 50 ms',
      },
    });
    expect([outcome.rows, outcome.evidence]).toEqual([[], []]);
    expect([stopped, cleared]).toEqual([true, 'handle']);
  });

  test.each(['answered', 'failed', 'aborted'])(
    "a run that %s leaves nothing behind on its caller's signal",
    async (how) => {
      const controller = new AbortController();
      const { signal } = controller;
      let listening = 0;
      const procedure = () =>
        does(() => {
          listening = getEventListeners(signal, 'abort').length;
          if (how === 'failed') throw new Error('x');
          if (how === 'aborted') controller.abort();
        });
      await answer({ procedure }, { signal }).catch(() => undefined);
      expect(listening).toBe(1);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    },
  );

  test('a run without a deadline arms no timer', async () => {
    const armed: number[] = [];
    const timers = { setTimeout: (_: unknown, ms: number) => armed.push(ms), clearTimeout: () => undefined };
    const runbook = { name: 'check', resultKind: 'report', procedure: writes({}) };
    await runToAnswer(runbook, {}, { ...CALL, timers });
    await runToAnswer(runbook, {}, { ...CALL, timers, timeoutMs: 9 });
    expect(armed).toEqual([9]);
  });

  test('a run that was stopped before it began still answers, and says that nothing was checked', async () => {
    const body = await answerStopped(
      { name: 'check', resultKind: 'verdict/check', rules, procedure: writes({}) },
      CALL,
      'cancelled',
    );
    expect(body.af_coverage.checked).toBeUndefined();
    expect(body.af_coverage.not_checked).toEqual([{ what: "the procedure 'check' as a whole", why: 'cancelled' }]);
    expect(body.result).toMatchObject({ rows_total: 0, rows_complete: true, walk: { total: 0, steps_executed: 0 } });
    expect(runbookEnvelopeSchema.safeParse(body).success).toBe(true);
  });
});

describe('a run without input', () => {
  test.each([[undefined], [null], ['text'], [['a']]])('passes an empty object for %j', async (args) => {
    let seen: unknown;
    const tool = runbookAsTool({
      name: 'check',
      description: 'd',
      procedure: () =>
        does((scope) => {
          seen = (scope as unknown as { $getArgs(): unknown }).$getArgs();
        }),
    });
    await tool.execute(args as never, CALL);
    expect(seen).toEqual({});
  });

  test("the caller's own arguments are neither frozen nor changed", async () => {
    const args = { list: [1] };
    const tool = runbookAsTool({
      name: 'check',
      description: 'd',
      procedure: () => does((scope) => void (scope as unknown as { $getArgs(): unknown }).$getArgs()),
    });
    await tool.execute(args, CALL);
    args.list.push(2);
    expect(args).toEqual({ list: [1, 2] });
  });
});
