import { decide, flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  absent,
  coverage,
  createAssessor,
  defineTool,
  dispatchTools,
  fleetRow,
  notChecked,
  sealCredential,
  type ToolContext,
  type ToolDispatch,
  ToolRefusedError,
} from '../src/index.ts';
import { ARGS, assessChart, fleetOf, OTHERWISE, RULES, runAnswered, type Subject } from './fleet-runbook.ts';
import { type State, toolsThat } from './procedures.ts';

const ended = async (subject: Subject, call: object = {}, parts: Parameters<typeof fleetOf>[1] = {}) => {
  const { subjects, envelope } = await runAnswered(fleetOf([subject], parts), call);
  return { ...subjects[0], envelope };
};

describe('a gap that is known beforehand', () => {
  const gap = (subject: Subject) =>
    subject.age === 'old'
      ? ({ outcome: 'not_checked', code: 'evidence_too_old', reason: 'taken in May' } as const)
      : undefined;

  test('ends its subject as the gap says, with its columns, and no chart runs for it', async () => {
    const assessed = await ended({ id: 'a', age: 'old', act: 'throw' }, {}, { gap });
    expect(assessed).toMatchObject({ outcome: 'not_checked', reasonCode: 'evidence_too_old', reason: 'taken in May' });
    expect(assessed.walk).toEqual([]);
    expect(Object.keys(assessed.columns ?? {})).not.toContain('reason');
  });

  test('is counted and told of in the answer', async () => {
    const { envelope } = await ended({ id: 'a', age: 'old' }, {}, { gap });
    expect(envelope.result.subjects).toMatchObject({ total: 1, not_checked: 1 });
    expect(JSON.stringify(envelope.af_coverage.not_checked)).toContain('taken in May');
  });

  test('leaves every other subject as it is', async () => {
    expect(await ended({ id: 'a', age: 8 }, {}, { gap })).toMatchObject({ verdict: 'stale' });
  });

  test.each([
    ['throws', () => assert()],
    ['gives another outcome', () => ({ outcome: 'ok', code: 'x', reason: 'x' })],
    ['gives no code', () => ({ outcome: 'not_checked', code: 'No Code', reason: 'x' })],
  ])('is never fine when its function %s', async (_, broken) => {
    const assessed = await ended({ id: 'a', age: 7 }, {}, { gap: broken as never });
    expect(assessed).toMatchObject({ outcome: 'not_checked', reasonCode: 'gap_failed' });
  });
});

function assert(): never {
  throw new Error('secret');
}

describe('each subject ends as exactly one thing', () => {
  test.each<[string, Partial<Subject>, object]>([
    [
      'a problem',
      { age: 8 },
      { outcome: 'verdict', verdict: 'stale', standing: 'problem', reason: 'older than 7 days' },
    ],
    ['fine', { age: 7 }, { outcome: 'verdict', verdict: 'fresh', standing: 'ok', reason: 'within 7 days' }],
    [
      'declined by a rule',
      { age: null },
      { outcome: 'declined', verdict: 'declined', standing: 'declined', reason: 'the age cannot be read' },
    ],
    [
      'declined in doubt',
      { age: '30' },
      { outcome: 'declined', verdict: 'declined', standing: 'declined', reason: expect.stringContaining('two kinds') },
    ],
    [
      'not checked, its chart failed',
      { act: 'throw' },
      { outcome: 'not_checked', reasonCode: 'subject_failed', reason: 'its chart failed: Error (E9)' },
    ],
    [
      'not checked, undecided',
      { act: 'undecided' },
      { outcome: 'not_checked', reasonCode: 'no_decision', reason: "the decider 'State' was not reached" },
    ],
    [
      'not checked, its word undeclared',
      { act: 'odd' },
      {
        outcome: 'not_checked',
        reasonCode: 'undeclared_verdict',
        reason: "the verdict word 'odd' has no declared standing",
      },
    ],
    [
      'not checked, no row',
      { act: 'bad-row' },
      { outcome: 'not_checked', reasonCode: 'row_failed', reason: 'its row could not be made: Error' },
    ],
  ])('%s', async (_, subject, expected) => {
    const assessed = await ended({ id: 'a', ...subject });
    expect(assessed).toMatchObject({ key: 'a', ordinal: 0, ...expected });
    const { total, ...parts } = assessed.envelope.result.subjects ?? { total: -1 };
    expect([total, Object.values(parts).reduce((sum, part) => sum + part, 0)]).toEqual([1, 1]);
    expect(JSON.stringify(assessed)).not.toContain('secret');
  });

  test('an absence costs that subject alone, and names the tool', async () => {
    const nothing = absent({ what: 'rows', checked: ['a'] });
    const { subjects, envelope } = await runAnswered(
      fleetOf([
        { id: 'a', act: 'absent' },
        { id: 'b', age: 1 },
      ]),
      {
        tools: toolsThat({ absent: nothing }),
      },
    );
    expect(subjects.map(({ outcome }) => outcome)).toEqual(['not_checked', 'verdict']);
    expect(subjects[0]).toMatchObject({
      reasonCode: 'nothing_found',
      reason: "the tool 'absent' answered that there is nothing",
    });
    expect(envelope.af_coverage.not_checked).toContainEqual({ what: '1 subject(s): a', why: subjects[0]?.reason });
  });

  test('a credential that is missing is ground that cannot be covered', async () => {
    const refusing = toolsThat({
      need: () => {
        throw new ToolRefusedError('need', 'tool_needs_unresolved', 'needs the credential k, which is not there');
      },
    });
    const { outcome, reasonCode, envelope } = await ended({ id: 'a', act: 'need' }, { tools: refusing });
    expect([outcome, reasonCode]).toEqual(['cannot_cover', 'tool_needs_unresolved']);
    expect(envelope.af_coverage.cannot_cover).toEqual([
      { what: '1 subject(s): a', why: "the tool 'need' needs the credential k, which is not there" },
    ]);
  });

  test('another refusal of a tool is a failure like any other', async () => {
    const { outcome } = await ended({ id: 'a', act: 'call' }, { tools: dispatchTools([], { toolCallId: 'c1' }) });
    expect(outcome).toBe('not_checked');
  });

  test('a call without any tools is a failure of its own subject', async () => {
    expect(await ended({ id: 'a', act: 'call' }, { tools: undefined })).toMatchObject({
      outcome: 'not_checked',
      reasonCode: 'subject_failed',
      reason: 'its chart failed: Error',
    });
  });

  test('a decider that asks no rules gives a verdict without evidence, by its word alone', async () => {
    const assess = () =>
      flowChart<State>('Read', () => undefined, 'read')
        .addDeciderFunction('State', () => 'stale', 'state')
        .addFunctionBranch('stale', 'stale', () => undefined)
        .end()
        .build();
    const assessed = await ended({ id: 'a' }, {}, { assess });
    expect(assessed).toMatchObject({ outcome: 'verdict', verdict: 'stale', standing: 'problem', reason: 'stale' });
    expect(assessed).not.toHaveProperty('evidence');
  });

  test('in doubt it is declined, never the default, though its decider knows no such branch', async () => {
    const assess = () =>
      flowChart<State>('Read', (scope) => void Object.assign(scope, { age: '30' }), 'read')
        .addDeciderFunction('State', (scope: State) => decide(scope, RULES, OTHERWISE), 'state')
        .addFunctionBranch('stale', 'Stale', () => undefined)
        .addFunctionBranch('fresh', 'Fresh', () => undefined)
        .end()
        .build();
    const assessed = await ended({ id: 'a' }, {}, { assess, row: () => ({ age: 1, reason: 'all is well' }) });
    expect(assessed).toMatchObject({
      outcome: 'declined',
      verdict: 'declined',
      standing: 'declined',
      reason: expect.stringContaining('two kinds'),
      columns: { age: 1 },
      evidence: { doubt: 'kinds_differ' },
    });
  });

  test('a chart that pauses does not hold the fleet', async () => {
    const pausing = () =>
      flowChart<State>('Ask', () => undefined, 'a')
        .addPausableFunction('Ask', { execute: () => ({ question: '?' }), resume: () => undefined } as never, 'ask')
        .build();
    expect(await ended({ id: 'a' }, {}, { assess: pausing })).toMatchObject({
      outcome: 'not_checked',
      reasonCode: 'paused',
      reason: 'its chart paused, which a subject cannot',
    });
  });

  test('a chart past its time is not checked, and the next subject has a chart of its own', async () => {
    const runbook = fleetOf([], { limits: { subjectTimeoutMs: 1 } });
    const assessor = createAssessor(runbook, ARGS, { toolCallId: 'c1' });
    const planned = (id: string, act?: 'hang') => ({ ordinal: 0, key: id, subject: { id, act, age: 1 } });
    expect(await assessor.assess(planned('a', 'hang'))).toMatchObject({
      outcome: 'not_checked',
      reasonCode: 'timeout',
    });
    const timers = { setTimeout: () => 0, clearTimeout: () => undefined };
    const untimed = createAssessor(runbook, ARGS, { toolCallId: 'c1', timers });
    expect(await untimed.assess(planned('b'))).toMatchObject({ outcome: 'verdict' });
  });

  test('an abort gives the subject back, and does not call it failed', async () => {
    const controller = new AbortController();
    const assessor = createAssessor(fleetOf([]), ARGS, { toolCallId: 'c1' });
    const running = assessor.assess({ ordinal: 0, key: 'a', subject: { id: 'a', act: 'hang' } }, controller.signal);
    controller.abort(new Error('stop'));
    expect(await running).toBe('aborted');
  });

  test('one chart serves one subject after another, until one fails; two at once have a chart each', async () => {
    let made = 0;
    const assess = (given: ToolDispatch) => {
      made++;
      return assessChart(given);
    };
    const runbook = fleetOf([], { assess });
    const assessor = createAssessor(runbook, ARGS, { toolCallId: 'c1' });
    const subject = (act?: 'throw') => assessor.assess({ ordinal: 0, key: 'a', subject: { id: 'a', age: 1, act } });
    made = 0;
    await subject();
    await subject();
    expect(made).toBe(1);
    await subject('throw');
    await subject();
    expect(made).toBe(2);
    await Promise.all([subject(), subject()]);
    expect(made).toBe(3);
  });

  test('its place goes with it, and what the plan did not give is not there', async () => {
    const assessor = createAssessor(fleetOf([]), ARGS, { toolCallId: 'c1' });
    const placed = { ordinal: 3, key: 'a', identity: 'i', target: 't' };
    expect(await assessor.assess({ ...placed, subject: { id: 'a', age: 1 } })).toMatchObject(placed);
    const bare = { ordinal: 0, key: 'a' };
    for (const ended of [
      await assessor.assess({ ...bare, subject: { id: 'a', age: 1 } }),
      notChecked(bare, 'c', 'r'),
    ]) {
      expect(Object.keys(ended)).not.toContain('identity');
      expect(Object.keys(ended)).not.toContain('target');
    }
  });

  test('what is kept of its ledger for the answer is inert text', async () => {
    const told = coverage(
      {},
      { checked: ['the \u001b[31msource\u202e'], notChecked: [{ what: 'a\u200b', why: 'b\u0007' }] },
    );
    const assessor = createAssessor(fleetOf([]), ARGS, { toolCallId: 'c1', tools: toolsThat({ call: told }) });
    const assessed = await assessor.assess({ ordinal: 0, key: 'a', subject: { id: 'a', act: 'call', age: 1 } });
    expect(assessed).toHaveProperty('summary.innerLedger', {
      checked: [{ what: 'the source' }],
      notChecked: [{ what: 'a', why: 'b' }],
      cannotCover: [],
    });
  });

  test('a subject that was never begun carries its reason and its place', () => {
    const planned = { ordinal: 3, key: 'a', identity: 'i', target: 't' };
    expect(notChecked(planned, 'deadline', 'no time left')).toEqual({
      ...planned,
      outcome: 'not_checked',
      reasonCode: 'deadline',
      reason: 'no time left',
      columns: {},
      walk: [],
    });
  });
});

describe('a row', () => {
  test("is the decider's verdict; the runbook adds columns and may say a better reason", async () => {
    const row = () => ({
      reason: 'told by hand',
      verdict: 'forged',
      standing: 'ok',
      subject: 'forged',
      age: 8,
      '\u200bx': 'y\u202e',
    });
    const { envelope, columns } = await ended({ id: 'a', age: 8 }, {}, { row });
    expect(envelope.result.verdicts).toEqual([
      { subject: 'a', verdict: 'stale', standing: 'problem', reason: 'told by hand', age: 8, x: 'y' },
    ]);
    expect(columns).toEqual({ age: 8, x: 'y' });
  });

  test.each([[' '], [7], [undefined]])('with the reason %j keeps the label of its rule', async (reason) => {
    expect((await ended({ id: 'a', age: 8 }, {}, { row: () => ({ reason }) })).reason).toBe('older than 7 days');
  });

  test.each([[null], [['a']], ['text'], [undefined]])('that is %j is none', async (row) => {
    expect(await ended({ id: 'a', age: 8 }, {}, { row: () => row as never })).toMatchObject({
      reasonCode: 'row_failed',
    });
  });

  test('reads the redacted state, and a redacted column is hidden though it came from the subject', async () => {
    const { envelope } = await ended(
      { id: 'a', age: 8, target: 'secret' },
      {},
      {
        row: (state, subject) => ({ age: state.age, token: subject.target }),
        more: { redact: { keys: ['age', 'token'] } },
      },
    );
    expect(envelope.result.verdicts?.[0]).toMatchObject({ age: 'REDACTED', token: 'REDACTED', verdict: 'stale' });
    expect(JSON.stringify(envelope)).not.toContain('secret');
  });

  test('carries its evidence as data', async () => {
    const { evidence } = await ended({ id: 'a', age: 8 });
    expect(evidence).toMatchObject({ branch: 'stale', default: 'fresh', default_label: 'within 7 days' });
    expect(evidence?.rules.at(-1)).toEqual({
      label: 'older than 7 days',
      branch: 'stale',
      matched: true,
      conditions: [{ key: 'age', op: 'gt', threshold: 7, actual: '8', matched: true }],
    });
  });

  test('a long reason is cut to one line, an identifier never', async () => {
    const id = 'k'.repeat(1024);
    const { envelope, reason } = await ended({ id, age: 8 }, {}, { row: () => ({ reason: `a\nb${'x'.repeat(900)}` }) });
    expect(reason).toHaveLength(500);
    expect(reason).toMatch(/^a b/);
    expect(envelope.result.verdicts?.[0]?.subject).toBe(id);
  });

  test('without a word of its own has an empty one', () => {
    expect(fleetRow({ key: 'a', reason: 'r', columns: { x: 1 } })).toEqual({
      subject: 'a',
      verdict: '',
      standing: undefined,
      reason: 'r',
      x: 1,
    });
  });
});

describe("a subject's calls are made for its target", () => {
  test('so that credentials are resolved for it, in every slot', async () => {
    const asked: (string | undefined)[] = [];
    const revealed: (string | undefined)[] = [];
    const call = defineTool({
      name: 'call',
      description: 'd',
      needs: { credential: 'kube', perTarget: true },
      execute: (_args, context: ToolContext) => {
        revealed.push(context.credential?.reveal());
        return { ok: true };
      },
    });
    const dispatch = dispatchTools([call], {
      toolCallId: 'c1',
      resolveCredential: (_need, { target }) => {
        asked.push(target);
        return target === 'c' ? undefined : sealCredential('kube', `token of ${target}`);
      },
    });
    const subjects = ['a', 'b', 'c', undefined].map((target, n) => ({ id: `s-${n}`, act: 'call', age: 1, target }));
    const { subjects: assessed, envelope } = await runAnswered(fleetOf(subjects), { tools: dispatch });
    expect(asked).toEqual(['a', 'b', 'c']);
    expect(revealed).toEqual(['token of a', 'token of b']);
    expect(assessed.map(({ outcome }) => outcome)).toEqual(['verdict', 'verdict', 'cannot_cover', 'cannot_cover']);
    expect(assessed[2]?.reason).toContain("for the target 'c'");
    expect(JSON.stringify({ envelope, assessed })).not.toContain('token of');
  });

  test('a chart may ask for a tool first, and without a target its calls go out as it made them', async () => {
    const seen: unknown[] = [];
    const delivered: ToolDispatch = {
      has: (name) => name === 'call',
      call: async (...all) => void seen.push(all),
    };
    const assess = (dispatch: ToolDispatch) =>
      flowChart<State>(
        'Ask',
        async () => {
          seen.push(dispatch.has('call'), dispatch.has('other'));
          await dispatch.call('call', { a: 1 });
          await dispatch.call('call', { a: 2 }, { allowAbsent: true });
        },
        'ask',
      ).build();
    for (const target of [undefined, 't']) {
      await runAnswered(fleetOf([{ id: 'a', target }], { assess }), { tools: delivered });
      expect(seen.splice(0)).toEqual([
        true,
        false,
        ['call', { a: 1 }, target === undefined ? undefined : { target }],
        ['call', { a: 2 }, target === undefined ? { allowAbsent: true } : { target, allowAbsent: true }],
      ]);
    }
  });

  test('and a call that is still running somewhere cannot be taken for the next subject’s', async () => {
    let release: () => void = () => undefined;
    const late = toolsThat({ call: () => new Promise<void>((resolve) => (release = resolve)) });
    const assessor = createAssessor(fleetOf([]), ARGS, { toolCallId: 'c1', tools: late });
    const controller = new AbortController();
    const first = assessor.assess(
      { ordinal: 0, key: 'a', subject: { id: 'a', act: 'call', age: 1 } },
      controller.signal,
    );
    controller.abort();
    expect(await first).toBe('aborted');
    const second = assessor.assess({ ordinal: 1, key: 'b', subject: { id: 'b', age: 1 } });
    release();
    expect(await second).toMatchObject({ outcome: 'verdict', summary: { innerLedger: { checked: [] } } });
  });
});
