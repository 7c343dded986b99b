/** A procedure that asks: what is kept while it waits, and what the answer says of both legs. */
import { decide, flowChart, interrupt } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  APPROVAL_ANSWER,
  answerPolicyOf,
  askBeforeAssess,
  defineRunbook,
  defineTool,
  definitionText,
  dispatchTools,
  type FleetRunbook,
  type ProcedureInterruption,
  type ProcedureOutcome,
  type RunbookEnvelope,
  resumeProcedure,
  resumeSupported,
  runbookAsTool,
  runProcedure,
} from '../src/index.ts';

interface Scope {
  [key: string]: unknown;
  $getArgs(): Record<string, unknown>;
}
interface Put {
  readonly kind: string;
  readonly data: string;
}
const CALL = { toolCallId: 'call-1', runId: 'run-1' };
const SECRET = 's3cr3t-of-the-first-leg';

function store() {
  const put: Put[] = [];
  const sink = {
    async put(input: Put) {
      put.push(input);
      return { ref: `art_${put.length}` };
    },
  };
  return { put, sink: sink as never };
}

/** Reads hosts with a tool, asks, acts with another tool. */
function restartHosts(asks = 1) {
  return {
    name: 'restart_hosts',
    resultKind: 'verdict/host',
    rules: { name: 'restart', version: '1' },
    verdicts: { decider: 'judge', standings: { restart: 'problem', leave: 'ok' } },
    redact: { keys: ['token'] },
    procedure(tools: { call(name: string, args?: unknown): Promise<unknown> }) {
      let chart = flowChart<Scope>(
        'Read',
        async (scope) => {
          const read = (await tools.call('read_hosts')) as { result: { hosts: string[] } };
          scope.hosts = read.result.hosts;
          scope.token = SECRET;
        },
        'read',
      )
        .addDeciderFunction(
          'Judge',
          (scope: Scope) =>
            decide(
              scope as never,
              [{ when: { token: { ne: '' } }, then: 'restart', label: 'it hangs' }] as never,
              'leave',
            ),
          'judge',
        )
        .addFunctionBranch('restart', 'Restart', (scope: Scope) => {
          scope.verdict = 'restart';
        })
        .addFunctionBranch('leave', 'Leave', (scope: Scope) => {
          scope.verdict = 'leave';
        })
        .setDefault('leave')
        .end();
      for (let number = 1; number <= asks; number += 1) {
        chart = chart.addFunction(
          `Ask ${number}`,
          (scope: Scope) => {
            const hosts = scope.hosts as string[];
            const question = { reason: `Restart ${hosts.length} hosts?`, hosts: [...hosts], token: scope.token };
            const answer = interrupt<{ approved: boolean }>(scope as never, question as never);
            scope[`approved_${number}`] = answer.approved;
          },
          `ask-${number}`,
        );
      }
      return chart
        .addFunction(
          'Act',
          async (scope: Scope) => {
            await tools.call('restart', { cluster: scope.$getArgs().cluster });
            scope.verdicts = (scope.hosts as string[]).map((subject) => ({ subject, verdict: 'restart' }));
            scope.report = { approved: scope.approved_1, cluster: scope.$getArgs().cluster };
          },
          'act',
        )
        .build();
    },
  } as never as Parameters<typeof runProcedure>[0];
}

function tools(calls: string[] = []) {
  const made = [
    defineTool({
      name: 'read_hosts',
      description: 'Reads hosts.',
      execute: async () => {
        calls.push('read_hosts');
        return {
          result: { hosts: ['a', 'b'] },
          af_coverage: { checked: [{ what: 'hosts', source: 'inventory' }], not_checked: [], cannot_cover: [] },
        };
      },
    }),
    defineTool({
      name: 'restart',
      description: 'Restarts.',
      execute: async (args: unknown) => {
        calls.push(`restart ${JSON.stringify(args)}`);
        return {
          result: {},
          af_coverage: {
            checked: [],
            not_checked: [{ what: 'whether they came up', why: 'nobody waits' }],
            cannot_cover: [],
          },
        };
      },
    }),
  ];
  return dispatchTools(made, { toolCallId: CALL.toolCallId } as never);
}

function interrupted(outcome: ProcedureOutcome | ProcedureInterruption): ProcedureInterruption {
  if (outcome.kind !== 'interrupted') throw new Error(`expected a question, got ${outcome.answer.kind}`);
  return outcome;
}

function envelopeOf(outcome: ProcedureOutcome | ProcedureInterruption): RunbookEnvelope {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'envelope') throw new Error('expected an envelope');
  return outcome.answer.body;
}

function failureOf(outcome: ProcedureOutcome | ProcedureInterruption) {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'failure') throw new Error('expected a failure');
  return outcome.answer.error as { code: string; message: string };
}

/** What another process would read. */
const stored = (checkpoint: string) => JSON.stringify(JSON.parse(checkpoint));

describe('a procedure that asks', () => {
  test('tells its question with its details, and files the walk up to there as pre-pause', async () => {
    const { put, sink } = store();
    const asked = interrupted(
      await runProcedure(restartHosts(), { cluster: 'north' }, { ...CALL, tools: tools(), artifacts: sink }),
    );
    expect(asked.question).toEqual({ question: 'Restart 2 hosts?', details: { hosts: ['a', 'b'], token: 'REDACTED' } });
    expect(asked.walk).toMatchObject({ walk_segment: 'pre-pause', complete: true, ref: 'art_1' });
    const rows = JSON.parse(put[0]!.data) as { type: string; stage: string }[];
    expect(rows.at(-1)).toMatchObject({ type: 'pause', stage: 'Ask 1' });
  });

  test('goes on in another process with its run input, and the answer holds both legs', async () => {
    const { put, sink } = store();
    const calls: string[] = [];
    const asked = interrupted(
      await runProcedure(restartHosts(), { cluster: 'north' }, { ...CALL, tools: tools(calls), artifacts: sink }),
    );
    const body = envelopeOf(
      await resumeProcedure(
        restartHosts(),
        stored(asked.checkpoint),
        { approved: true },
        { ...CALL, tools: tools(calls), artifacts: sink },
      ),
    );
    expect(calls).toEqual(['read_hosts', 'restart {"cluster":"north"}']);
    const { result, af_coverage: coverage } = body as never as {
      result: { report: unknown; verdicts: unknown[]; verdict_meanings: unknown };
      af_coverage: Record<string, unknown[]>;
    };
    expect(result).toMatchObject({ approved: true, cluster: 'north' });
    expect(result.verdicts).toHaveLength(2);
    expect(coverage.checked).toContainEqual(expect.objectContaining({ what: 'hosts' }));
    expect(coverage.not_checked).toContainEqual(expect.objectContaining({ what: 'whether they came up' }));
    // The label was heard in the first leg.
    expect(JSON.stringify(body)).toContain('it hangs');
    const walk = JSON.parse(put.at(-1)!.data) as {
      type: string;
      stage: string;
      step: number;
      runtime_stage_id: string | null;
    }[];
    const types = walk.map(({ type }) => type);
    expect(types.indexOf('pause')).toBeLessThan(types.indexOf('resume'));
    expect(walk.map(({ step }) => step)).toEqual(walk.map((_, index) => index));
    const stages = walk.filter(({ type }) => type === 'stage').map(({ stage }) => stage);
    expect(stages).toEqual(['Read', 'Judge', 'Restart', 'Ask 1', 'Act']);
    expect(JSON.stringify(body)).toContain('"walk_segment":"post-resume"');
  });

  test('counts each step of both legs once', async () => {
    const { sink } = store();
    const asked = interrupted(await runProcedure(restartHosts(), {}, { ...CALL, tools: tools(), artifacts: sink }));
    const body = envelopeOf(
      await resumeProcedure(
        restartHosts(),
        asked.checkpoint,
        { approved: true },
        { ...CALL, tools: tools(), artifacts: sink },
      ),
    );
    const straight = restartHosts(0);
    const whole = envelopeOf(await runProcedure(straight, {}, { ...CALL, tools: tools(), artifacts: sink }));
    const steps = (envelope: RunbookEnvelope) => Number(/"steps_executed":(\d+)/.exec(JSON.stringify(envelope))?.[1]);
    // The stage that asks is entered twice: once to ask, once to go on.
    expect(steps(body)).toBe(steps(whole) + 2);
  });

  test('may ask again, and keeps all three legs', async () => {
    const { put, sink } = store();
    const call = { ...CALL, tools: tools(), artifacts: sink };
    const first = interrupted(await runProcedure(restartHosts(2), {}, call));
    const second = interrupted(
      await resumeProcedure(restartHosts(2), stored(first.checkpoint), { approved: true }, call),
    );
    expect(second.question.question).toBe('Restart 2 hosts?');
    const body = envelopeOf(
      await resumeProcedure(restartHosts(2), stored(second.checkpoint), { approved: false }, call),
    );
    expect((body as never as { result: { verdicts: unknown[] } }).result.verdicts).toHaveLength(2);
    const walk = JSON.parse(put.at(-1)!.data) as { type: string }[];
    expect(walk.filter(({ type }) => type === 'pause')).toHaveLength(2);
    expect(walk.filter(({ type }) => type === 'resume')).toHaveLength(2);
  });

  test('shows nothing redacted of either leg, in question, walk or answer', async () => {
    const { put, sink } = store();
    const call = { ...CALL, tools: tools(), artifacts: sink };
    const asked = interrupted(await runProcedure(restartHosts(), {}, call));
    const outcome = await resumeProcedure(restartHosts(), asked.checkpoint, { approved: true }, call);
    const shown = JSON.stringify([asked.question, asked.walk, outcome, put]);
    expect(shown).not.toContain(SECRET);
    // The checkpoint does hold it: that is why it is encrypted by whoever keeps it.
    expect(asked.checkpoint).toContain(SECRET);
  });

  test.each([
    ['a text', 'Go on?', { question: 'Go on?' }],
    ['nothing', undefined, { question: 'The run asks for an answer.' }],
    ['question and details', { question: 'Go on?', details: { n: 1 } }, { question: 'Go on?', details: { n: 1 } }],
    ['control characters', { question: 'Go\u001b[31m\non?\u202e' }, { question: 'Go on?' }],
    [
      'more than fits',
      { question: 'q'.repeat(2000), bulk: 'x'.repeat(10_000) },
      { question: expect.stringMatching(/^q+…$/), details: { omitted: expect.stringContaining('over the limit') } },
    ],
  ])('a pausable stage asks with %s', async (_what, data, expected) => {
    const runbook = {
      name: 'asks',
      resultKind: 'report',
      procedure: () =>
        flowChart<Scope>('Begin', () => {}, 'begin')
          .addPausableFunction(
            'Ask',
            { execute: async () => (data === undefined ? {} : data) as never, resume: async () => {} },
            'ask',
          )
          .build(),
    };
    const { question } = interrupted(await runProcedure(runbook as never, {}, CALL));
    expect(question).toEqual(expected);
    expect(Buffer.byteLength(question.question)).toBeLessThanOrEqual(512);
  });
});

describe('a pause that cannot be resumed fails by name, with its checkpoint for who asks for it', () => {
  test('in a fork', async () => {
    const runbook = {
      name: 'forks',
      resultKind: 'report',
      procedure: () =>
        flowChart<Scope>('Begin', () => {}, 'begin')
          .addListOfFunction([
            { id: 'left', name: 'Left', fn: (scope: Scope) => interrupt(scope as never, { reason: 'Left?' }) },
            { id: 'right', name: 'Right', fn: () => {} },
          ] as never)
          .build(),
    };
    const error = failureOf(await runProcedure(runbook as never, {}, CALL));
    expect(error).toMatchObject({ code: 'paused', message: expect.stringContaining('inside a fork or a fan-out') });
    expect(error).toHaveProperty('checkpoint.pausedStageId', 'left');
  });

  test('in a fan-out', async () => {
    const branch = () =>
      flowChart<Scope>('One', (scope) => void interrupt(scope as never, { reason: 'One?' }), 'one').build();
    const runbook = {
      name: 'fans',
      resultKind: 'report',
      procedure: () =>
        flowChart<Scope>(
          'Begin',
          (scope) => {
            scope.items = [1, 2];
          },
          'begin',
        )
          .addParallelForEach<unknown>('Each', 'each', {
            items: (scope: Scope) => scope.items as number[],
            branch,
            maxBranches: 5,
            into: 'done',
          } as never)
          .build(),
    };
    expect(failureOf(await runProcedure(runbook as never, {}, CALL))).toMatchObject({
      code: 'paused',
      message: expect.stringContaining('fan-out'),
    });
  });

  test('twice in one stage', async () => {
    const runbook = {
      name: 'twice',
      resultKind: 'report',
      procedure: () =>
        flowChart<Scope>('Begin', () => {}, 'begin')
          .addFunction(
            'Ask',
            (scope: Scope) => {
              interrupt(scope as never, { reason: 'First?' });
              interrupt(scope as never, { reason: 'Second?' });
            },
            'ask',
          )
          .build(),
    };
    const asked = interrupted(await runProcedure(runbook as never, {}, CALL));
    const error = failureOf(await resumeProcedure(runbook as never, asked.checkpoint, {}, CALL));
    expect(error.message).toContain("the stage 'ask' asks twice");
  });
});

test('a branch of a decider and a subflow may ask, and the chart goes on behind them', async () => {
  const inner = flowChart<Scope>('Inner', () => {}, 'inner')
    .addFunction(
      'Inner ask',
      (scope: Scope) => {
        scope.said = interrupt(scope as never, { reason: 'Inside?' });
      },
      'inner-ask',
    )
    .build();
  const runbook = {
    name: 'asks_inside',
    resultKind: 'report',
    procedure: () =>
      flowChart<Scope>(
        'Begin',
        (scope) => {
          scope.n = 1;
        },
        'begin',
      )
        .addDeciderFunction(
          'Choose',
          (scope: Scope) =>
            decide(scope as never, [{ when: { n: { eq: 1 } }, then: 'one', label: 'is one' }] as never, 'other'),
          'choose',
        )
        .addFunctionBranch('one', 'One', (scope: Scope) => {
          scope.branch = interrupt(scope as never, { reason: 'In the branch?' });
        })
        .addFunctionBranch('other', 'Other', () => {})
        .setDefault('other')
        .end()
        .addSubFlowChartNext('inside', inner as never, 'Inside', {
          outputMapper: (out: Scope) => ({ inside: out.said }),
        } as never)
        .addFunction(
          'End',
          (scope: Scope) => {
            scope.report = { branch: scope.branch, inside: scope.inside };
          },
          'end',
        )
        .build(),
  };
  const first = interrupted(await runProcedure(runbook as never, {}, CALL));
  expect(first.question.question).toBe('In the branch?');
  const second = interrupted(await resumeProcedure(runbook as never, stored(first.checkpoint), { a: 1 }, CALL));
  expect(second.question.question).toBe('Inside?');
  const body = envelopeOf(await resumeProcedure(runbook as never, stored(second.checkpoint), { b: 2 }, CALL));
  expect((body as never as { result: unknown }).result).toMatchObject({
    branch: { a: 1 },
    inside: { b: 2 },
  });
});

test.each(['', '{}', '{"version":2}', 'null', '[1]'])(
  'a checkpoint of another kind is refused by name: %s',
  async (text) => {
    expect(failureOf(await resumeProcedure(restartHosts(), text, {}, CALL))).toMatchObject({
      code: 'checkpoint_invalid',
    });
  },
);

test('the seed’s tool throws where its procedure pauses, with the checkpoint on the error', async () => {
  const tool = runbookAsTool({
    name: 'asks',
    description: 'Asks.',
    procedure: () =>
      flowChart<Scope>('Ask', (scope) => void interrupt(scope as never, { reason: 'Go on?' }), 'ask').build(),
  });
  await expect(tool.execute({}, { toolCallId: 'call-1' } as never)).rejects.toMatchObject({
    code: 'paused',
    checkpoint: { pausedStageId: 'ask' },
  });
});

describe('a declaration of questions', () => {
  const declared = {
    name: 'fleet_check',
    version: '1',
    description: 'Checks.',
    resultKind: 'verdict/host',
    rules: { name: 'rules', version: '1' },
    verdicts: { decider: 'judge', standings: { fine: 'ok' } },
    input: z.strictObject({}),
  } as const;
  const fleet = {
    plan: () => flowChart<Scope>('Plan', () => {}, 'plan').build(),
    key: (subject: string) => subject,
    assess: () =>
      flowChart<Scope>('Look', () => {}, 'look')
        .addDeciderFunction('Judge', (scope: Scope) => decide(scope as never, [], 'fine'), 'judge')
        .addFunctionBranch('fine', 'Fine', () => {})
        .setDefault('fine')
        .end()
        .build(),
    row: () => ({}),
  };
  const define = (over: object, ownFleet: object = {}) =>
    defineRunbook({ ...declared, ...over, fleet: { ...fleet, ...ownFleet } } as never) as FleetRunbook;

  test('has defaults: an approver who did not start it, within a day', () => {
    const runbook = define({}, { approve: () => ({ question: 'Go?' }) });
    expect(answerPolicyOf(runbook)).toEqual({ role: 'approver', self: false, withinMs: 86_400_000 });
    expect(resumeSupported(runbook)).toBe(true);
    expect(APPROVAL_ANSWER.safeParse({ approved: true, more: 1 }).success).toBe(false);
    expect(resumeSupported(define({}))).toBe(false);
  });

  test.each([
    [{ resume: {} }, 'resume'],
    [{ answers: { role: 'reader' } }, 'answers.role'],
    [{ answers: { self: 'yes' } }, 'answers.self'],
    [{ answers: { withinMs: 10 } }, 'answers.withinMs'],
    [{ answers: 7 }, 'answers'],
    [{ asTool: 1 }, 'asTool'],
  ])('is refused by the option: %j', (over, option) => {
    expect(() => define(over)).toThrow(`\`${option}\``);
  });

  test('changes the digest where it changes what an answer is, and not where it says who may give it', () => {
    const text = (over: object) => definitionText(define(over, { approve: () => undefined }), 'build');
    expect(text({ resume: z.strictObject({ approved: z.boolean(), until: z.string() }) })).not.toBe(text({}));
    expect(text({ answers: { self: true }, asTool: true })).toBe(text({}));
  });

  test('asks with what was counted, cleaned, and only where it wants to', () => {
    const approve = ({ subjects, targets }: { subjects: number; targets?: number }) =>
      subjects > 10 ? { question: `Look at ${subjects}\u0007 on ${targets}?` } : undefined;
    const runbook = define({}, { approve });
    expect(askBeforeAssess(runbook, { subjects: 11, targets: 2 }, {})).toEqual({ question: 'Look at 11 on 2?' });
    expect(askBeforeAssess(runbook, { subjects: 10 }, {})).toBeUndefined();
    const throwing = define(
      {},
      {
        approve: () => {
          throw new Error(SECRET);
        },
      },
    );
    expect(() => askBeforeAssess(throwing, { subjects: 1 }, {})).toThrow(
      expect.objectContaining({ code: 'approve_failed', message: expect.not.stringContaining(SECRET) }),
    );
  });
});
