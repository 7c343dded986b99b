import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { absent, planFleet, type RunbookEnvelope, runFleet } from '../src/index.ts';
import { ARGS, fleetOf, runAnswered, type tools } from './fleet-runbook.ts';
import { MemorySink } from './memory-sink.ts';
import { type State, toolsThat } from './procedures.ts';

describe('the plan', () => {
  test('streams pages, each awaited; ordinals count the subjects in their order', async () => {
    const pages: unknown[] = [];
    const subjects = Array.from({ length: 7 }, (_, n) => ({ id: `s-${n}`, target: `t-${n % 2}` }));
    const runbook = fleetOf(subjects, { identity: (subject) => `owner of ${subject.id}` });
    const outcome = await planFleet(runbook, ARGS, { toolCallId: 'c1' }, async (page) => void pages.push(page));
    expect(outcome).toMatchObject({ kind: 'planned', plan: { total: 7, duplicates: { count: 0, samples: [] } } });
    expect(pages.map((page) => (page as unknown[]).length)).toEqual([3, 3, 1]);
    expect(pages.flat()[4]).toEqual({
      ordinal: 4,
      key: 's-4',
      identity: 'owner of s-4',
      target: 't-0',
      subject: subjects[4],
    });
  });

  test('a subject has an identity and a target only where the runbook gives one', async () => {
    const pages: unknown[] = [];
    const runbook = fleetOf([{ id: 'a' }], { target: undefined });
    await planFleet(runbook, ARGS, { toolCallId: 'c1' }, async (page) => void pages.push(...page));
    expect(pages).toEqual([{ ordinal: 0, key: 'a', subject: { id: 'a' } }]);
    expect(Object.keys(pages[0] as object)).toEqual(['ordinal', 'key', 'subject']);
  });

  test('a page that brings nothing new is not stored', async () => {
    const pages: unknown[] = [];
    const subjects = ['a', 'b', 'c', 'a', 'b', 'c'].map((id) => ({ id }));
    await planFleet(fleetOf(subjects), ARGS, { toolCallId: 'c1' }, async (page) => void pages.push(page.length));
    expect(pages).toEqual([3]);
  });

  test('a page that cannot be stored fails the plan with its error', async () => {
    const error = new Error('away');
    const outcome = await planFleet(fleetOf([{ id: 'a' }]), ARGS, { toolCallId: 'c1' }, () => Promise.reject(error));
    expect(outcome).toEqual({ kind: 'failure', error });
  });

  test('of equal keys the first wins; the rest are counted and a few named', async () => {
    const subjects = ['a', 'b', 'a', 'c', 'b', 'a', 'd', 'e', 'f', 'd', 'e', 'f', 'c'].map((id, age) => ({ id, age }));
    const { envelope, subjects: assessed } = await runAnswered(fleetOf(subjects));
    expect(assessed.map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(assessed[2]?.columns).toEqual({ age: 3 });
    expect(envelope.af_coverage.not_checked).toContainEqual({
      what: '7 further subject(s) with a key that was taken: a, b, d, e, f',
      why: 'the first subject of a key is judged, the rest are counted',
    });
  });

  test.each([
    [2, ['a', 'b'], 'planned'],
    [2, ['a', 'b', 'a'], 'planned'],
    [2, ['a', 'b', 'c'], 'failure'],
  ])('over %i subjects fails, and nothing is cut in silence: %j is %s', async (maxSubjects, ids, kind) => {
    const runbook = fleetOf(
      ids.map((id) => ({ id })),
      { limits: { maxSubjects } },
    );
    const outcome = await planFleet(runbook, ARGS, { toolCallId: 'c1' }, async () => undefined);
    expect(outcome.kind).toBe(kind);
    if (outcome.kind === 'failure') {
      expect(outcome.error).toMatchObject({ code: 'too_many_subjects' });
      expect((outcome.error as Error).message).toContain('limits.maxSubjects');
    }
  });

  test.each<[string, unknown[], Parameters<typeof fleetOf>[1], RegExp]>([
    ['a key that is empty', [{ id: ' ' }], {}, /fleet\.key of 'ages' must give/],
    ['a key that is no text', [{ id: 7 }], {}, /fleet\.key/],
    ['a key that is too long', [{ id: 'k'.repeat(1025) }], {}, /at most 1024 characters/],
    ['an identity that is empty', [{ id: 'a' }], { identity: () => '' }, /fleet\.identity/],
    ['a target that is no text', [{ id: 'a' }], { target: () => 7 as never }, /fleet\.target/],
    ['a subject that is no JSON', [{ id: 'a', age: 3n }], {}, /'ages' is no plain JSON: TypeError/],
    ['a subject that is nothing', [undefined], {}, /a subject of 'ages' is undefined/],
  ])('refuses %s', async (_, subjects, parts, message) => {
    const outcome = await planFleet(fleetOf(subjects, parts), ARGS, { toolCallId: 'c1' }, async () => undefined);
    expect(outcome).toMatchObject({ kind: 'failure', error: { code: 'plan_invalid' } });
    expect(outcome.kind === 'failure' ? (outcome.error as Error).message : '').toMatch(message);
  });

  test('refuses a page that is no list', async () => {
    const plan = (_: unknown, sink: { add(page: unknown): Promise<void> }) =>
      flowChart<State>('Plan', () => sink.add('a'), 'plan').build();
    const outcome = await planFleet(
      fleetOf([], { plan: plan as never }),
      ARGS,
      { toolCallId: 'c1' },
      async () => undefined,
    );
    expect(outcome).toMatchObject({
      kind: 'failure',
      error: { code: 'plan_invalid', message: 'subjects.add takes a list, got "a"' },
    });
  });

  test("both charts of a fleet's own get the run's arguments, collect the counters too", async () => {
    const given: unknown[] = [];
    const telling = (() =>
      flowChart<State>(
        'Tell',
        (scope) => void given.push((scope as unknown as { $getArgs(): unknown }).$getArgs()),
        'tell',
      ).build()) as never;
    await runAnswered(fleetOf([], { plan: telling, collect: telling }));
    const counts = { total: 0, ok: 0, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 };
    expect(given).toEqual([ARGS, { ...ARGS, counts }]);
  });

  test("they end with the run's signal, and within the time of the call, else of the runbook", async () => {
    const hanging = (() => flowChart<State>('Wait', () => new Promise(() => undefined), 'wait').build()) as never;
    for (const part of ['plan', 'collect']) {
      const runbook = fleetOf([], { [part]: hanging, limits: { chartTimeoutMs: 7000 } });
      const armed: number[] = [];
      const timers = {
        setTimeout: (callback: () => void, ms: number) => {
          armed.push(ms);
          if (armed.length === (part === 'plan' ? 1 : 2)) callback();
        },
        clearTimeout: () => undefined,
      };
      const timed = await runFleet(runbook, ARGS, { toolCallId: 'c1', timers });
      expect(timed.answer).toMatchObject({ kind: 'failure', error: { code: 'timeout', timeoutMs: 7000 } });
      armed.length = 0;
      const sooner = await runFleet(runbook, ARGS, { toolCallId: 'c1', timers, timeoutMs: 20 });
      expect(sooner.answer).toMatchObject({ kind: 'failure', error: { code: 'timeout', timeoutMs: 20 } });
      const reason = new Error('stop');
      const stopped = await runFleet(runbook, ARGS, { toolCallId: 'c1', signal: AbortSignal.abort(reason) });
      expect(stopped.answer).toEqual({ kind: 'failure', error: reason });
    }
  });

  test('what they report is read from the redacted view', async () => {
    const reporting = (() =>
      flowChart<State>(
        'Tell',
        (scope) => void Object.assign(scope, { report: { token: 'secret' } }),
        'tell',
      ).build()) as never;
    for (const part of ['plan', 'collect']) {
      const runbook = fleetOf([], { [part]: reporting, more: { redact: { keys: ['token'] } } });
      expect((await runAnswered(runbook)).envelope.result.token).toBe('REDACTED');
    }
  });

  test('rules see a subject as it is stored, in one process too', async () => {
    const given = { id: 'a', age: new Date(0), more: Number.NaN, gone: undefined };
    let seen: unknown;
    const assess = () =>
      flowChart<State>(
        'Read',
        (scope) => {
          seen = (scope as unknown as { $getArgs(): { subject: unknown } }).$getArgs().subject;
        },
        'read',
      ).build();
    await runAnswered(fleetOf([given], { assess }));
    expect(seen).toEqual({ id: 'a', age: '1970-01-01T00:00:00.000Z', more: null });
    expect(Object.isFrozen(given)).toBe(false);
  });

  test("the recording of a fleet is its plan's, when it is asked for", async () => {
    const plan = ((_: unknown, sink: { add(page: unknown[]): Promise<void> }) =>
      flowChart<State>('List', (scope) => void Object.assign(scope, { listed: 1 }), 'list')
        .addFunction('Hand over', (scope: State) => sink.add([{ id: `s-${scope.listed}`, age: 1 }]), 'hand-over')
        .build()) as never;
    const artifacts = new MemorySink();
    const recorded = (walk: object) =>
      runFleet(fleetOf([], { plan, more: { walk } }), ARGS, { toolCallId: 'c1', runId: 'r1', artifacts });
    const { answer } = await recorded({ recording: true });
    const descriptor = (answer as { body: RunbookEnvelope }).body.result.walk;
    expect(artifacts.puts[0]).toMatchObject({
      ref: descriptor.recording_ref,
      kind: descriptor.recording_kind,
      label: 'ages recording',
      origin: { toolCallId: 'c1', runId: 'r1' },
    });
    const parcel = artifacts.redeem(descriptor.recording_ref);
    expect(JSON.stringify(parcel)).toContain('"stageReads":{"listed":1}');
    const without = (await recorded({ recording: false })).answer as { body: RunbookEnvelope };
    expect(Object.keys(without.body.result.walk).filter((key) => key.startsWith('recording'))).toEqual([]);
  });

  test("an absence in the plan is the run's answer, verbatim", async () => {
    const nothing = absent({ what: 'hosts', checked: ['the inventory'] });
    const plan = ((dispatch: typeof tools) =>
      flowChart<State>('Plan', async () => void (await dispatch.call('source')), 'plan').build()) as never;
    const outcome = await runFleet(fleetOf([], { plan }), ARGS, {
      toolCallId: 'c1',
      tools: toolsThat({ source: nothing }),
    });
    expect(outcome).toEqual({ answer: { kind: 'absence', body: nothing }, subjects: [] });
  });

  test('a plan that fails or pauses is a failure of the run', async () => {
    const failing = (() => flowChart<State>('Plan', () => Promise.reject(new Error('x')), 'plan').build()) as never;
    expect((await runFleet(fleetOf([], { plan: failing }), ARGS, { toolCallId: 'c1' })).answer).toMatchObject({
      kind: 'failure',
      error: { message: 'x' },
    });
    const pausing = (() =>
      flowChart<State>('Plan', () => undefined, 'plan')
        .addPausableFunction('Ask', { execute: () => ({ question: '?' }), resume: () => undefined } as never, 'ask')
        .build()) as never;
    for (const part of ['plan', 'collect']) {
      const paused = await runFleet(fleetOf([{ id: 'a', age: 1 }], { [part]: pausing }), ARGS, { toolCallId: 'c1' });
      expect(paused.answer).toMatchObject({ kind: 'failure', error: { code: 'paused' } });
      expect((paused.answer as { error: Error }).error.message).toContain(`the ${part}`);
    }
  });
});
