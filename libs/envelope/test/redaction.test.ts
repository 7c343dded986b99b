import { decide, type FlowChart, flowChart, type RedactionPolicy } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { evidenceLines, type RunbookEnvelope, runbookAsTool } from '../src/index.ts';
import { MemorySink } from './memory-sink.ts';
import { answer, CALL, type State, writes } from './procedures.ts';
import { runToAnswer } from './run-to-answer.ts';

const SECRET = 'S3CR3T';

/** A chart that puts the secret in every place that a chart can put it. */
function leaky() {
  const branch = (n: number) =>
    flowChart<State>(
      `Read ${n}`,
      (scope) => {
        Object.assign(scope, { token: `${SECRET}-branch`, nested: { token: `${SECRET}-nested` }, ok: true });
        if (n === 1) throw new Error(`${SECRET}-error`);
      },
      `read-${n}`,
    )
      .addDeciderFunction(
        'Posture',
        (scope: State) =>
          decide(
            scope,
            [
              { when: { token: { eq: `${SECRET}-threshold` } }, then: 'bad', label: 'known token' },
              { when: { token: { ne: `${SECRET}-other` }, ok: { eq: true } }, then: 'fine', label: 'another token' },
            ],
            'bad',
          ),
        'posture',
      )
      .addFunctionBranch('fine', 'Fine', () => undefined)
      .addFunctionBranch('bad', 'Bad', () => undefined)
      .end()
      .build();
  return flowChart<State>(
    'leaky',
    (scope) => {
      Object.assign(scope, {
        token: `${SECRET}-root`,
        items: [0, 1, 2],
        deep: { list: [{ token: `${SECRET}-list` }], user: { ssn: `${SECRET}-ssn`, home: { zip: `${SECRET}-zip` } } },
      });
      const tell = scope as unknown as Record<
        '$emit' | '$debug' | '$metric' | '$eval',
        (name: string, value: unknown) => void
      >;
      tell.$emit('seen', { token: `${SECRET}-emit` });
      tell.$debug('note', { token: `${SECRET}-debug` });
      tell.$metric('size', { token: `${SECRET}-metric` });
      tell.$eval('score', { token: `${SECRET}-eval` });
    },
    'start',
  )
    .addParallelForEach<number>('Each', 'each', {
      items: (scope: State) => scope.items as number[],
      branch: (n) => branch(n),
      maxBranches: 5,
      into: 'results',
    })
    .addFunction(
      'Collect',
      (scope: State) => {
        const results = scope.results as ({ token?: string } | undefined)[];
        scope.verdicts = results.map((result, index) => ({
          subject: `s-${index}`,
          verdict: 'fine',
          token: result?.token ?? null,
        }));
        scope.report = {
          user: { ssn: `${SECRET}-ssn2`, name: 'kept' },
          token: `${SECRET}-report`,
          list: [{ token: `${SECRET}-r` }],
        };
      },
      'collect',
    )
    .build();
}

const policy: RedactionPolicy = { keys: ['token'], fields: { user: ['ssn', 'home.zip'] } };

async function run(redact?: RedactionPolicy) {
  const sink = new MemorySink();
  const tool = runbookAsTool({
    name: 'leaky',
    description: 'd',
    resultKind: 'verdict/leaky',
    verdicts: { decider: 'Posture' },
    walk: { recording: true },
    ...(redact !== undefined && { redact }),
    procedure: leaky,
  });
  const envelope = (await tool.execute({}, { ...CALL, artifacts: sink })) as RunbookEnvelope;
  const parcel = (kind: string) => sink.puts.find((put) => put.kind === kind)?.data ?? '';
  return { envelope, walk: parcel('recording/chart-walk'), recording: parcel('recording/run') };
}

describe('one policy means the same everywhere', () => {
  test('in state, rows, table, walk and recording no redacted value is left, at any depth', async () => {
    const { envelope, walk, recording } = await run(policy);
    for (const text of [JSON.stringify(envelope), walk, recording]) expect(text).not.toContain(SECRET);
    expect(envelope.result.verdicts?.[0]).toEqual({ subject: 's-0', verdict: 'fine', token: 'REDACTED' });
    expect(envelope.result.table).toContain('| s-0 | fine | REDACTED |');
    expect(envelope.result).toMatchObject({
      user: { ssn: 'REDACTED', name: 'kept' },
      token: 'REDACTED',
      list: [{ token: 'REDACTED' }],
    });
  });

  test('a redacted key stays, so that a reader sees that there was a value', async () => {
    const { recording } = await run(policy);
    const { sharedState } = (JSON.parse(recording) as { snapshot: { sharedState: State } }).snapshot;
    expect(sharedState).toMatchObject({
      token: 'REDACTED',
      items: [0, 1, 2],
      deep: { list: [{ token: 'REDACTED' }], user: { ssn: 'REDACTED', home: { zip: 'REDACTED' } } },
      results: [{ token: 'REDACTED', nested: { token: 'REDACTED' }, ok: true }, null, { token: 'REDACTED' }],
    });
  });

  test('what a viewer needs of a recording stays whole: the tree, the commits, the subflows', async () => {
    const { recording } = await run(policy);
    const { snapshot } = JSON.parse(recording) as {
      snapshot: {
        executionTree: { id: string; next: { next: { id: string } } };
        commitLog: { stageId: string; trace: unknown }[];
        subflowResults: Record<string, { treeContext: { stageContexts: { name: string; errors: object } } }>;
      };
    };
    expect([snapshot.executionTree.id, snapshot.executionTree.next.next.id]).toEqual(['start', 'collect']);
    expect(snapshot.commitLog[0]).toMatchObject({ stageId: 'start', redactedPaths: ['token'] });
    expect(snapshot.commitLog[0]?.trace).toContainEqual({ path: 'items', verb: 'set' });
    expect(snapshot.executionTree).toMatchObject({
      stageWrites: { items: [0, 1, 2], token: 'REDACTED' },
      next: { next: { stageReads: { results: expect.any(Array) } } },
    });
    const failed = snapshot.subflowResults['each~1']?.treeContext.stageContexts;
    expect(failed).toMatchObject({ name: 'each~1/Read 1', errors: { stageExecutionError: 'the stage failed' } });
  });

  test('patterns redact as names do, with every match of a global pattern', async () => {
    const { envelope, walk, recording } = await run({ patterns: [/^tok/g, /^(ssn|zip)$/] });
    for (const text of [JSON.stringify(envelope), walk, recording]) expect(text).not.toContain(SECRET);
  });

  test('thresholds and actual values of a redacted key are hidden in sentence and data; other keys show theirs', async () => {
    const { walk } = await run(policy);
    const texts = (JSON.parse(walk) as { type: string; text: string }[]).filter(({ type }) => type === 'condition');
    expect(texts[0]?.text).toBe(
      'Rule 2 "another token" matched: token REDACTED ne "REDACTED" and ok true eq true; chose fine.',
    );
    const outcome = await runToAnswer(
      { name: 'leaky', resultKind: 'verdict/x', verdicts: { decider: 'Posture' }, redact: policy, procedure: single },
      {},
      CALL,
    );
    const [evidence] = outcome.evidence;
    expect(evidence === undefined ? [] : evidenceLines(evidence)).toEqual([
      {
        rule: 1,
        branch: 'fine',
        decided: true,
        key: 'token',
        operator: 'ne',
        threshold: 'REDACTED',
        actual: 'REDACTED',
        matched: true,
      },
      {
        rule: 1,
        branch: 'fine',
        decided: true,
        key: 'ok',
        operator: 'eq',
        threshold: true,
        actual: 'true',
        matched: true,
      },
    ]);
  });

  test('without a policy values are shown, but error texts and emitted payloads are in no walk and no recording', async () => {
    const { walk, recording } = await run();
    expect(recording).toContain(`${SECRET}-root`);
    for (const text of [walk, recording]) {
      expect(text).not.toContain(`${SECRET}-error`);
      expect(text).not.toContain(`${SECRET}-emit`);
    }
    expect(walk).toContain('The stage failed: Error.');
    expect(walk).toContain('Emitted seen.');
  });
});

/** Runs a chart of one stage under a policy, and gives the state that its recording holds. */
async function recordedState(values: State, redact: RedactionPolicy): Promise<State> {
  const artifacts = new MemorySink();
  await answer({ procedure: writes(values), redact, walk: { recording: true } }, { artifacts });
  const put = artifacts.puts.find(({ kind }) => kind === 'recording/run');
  return (JSON.parse(put?.data ?? '') as { snapshot: { sharedState: State } }).snapshot.sharedState;
}

describe('what a policy reaches', () => {
  const nested = (levels: number, core: unknown): unknown => (levels === 0 ? core : { in: nested(levels - 1, core) });

  test('values that lie too deep to be looked through are hidden whole, in lists too', async () => {
    const listed = (levels: number): unknown => (levels === 0 ? { token: SECRET } : [listed(levels - 1)]);
    const state = await recordedState(
      { deep: nested(70, { token: SECRET }), list: listed(70), near: nested(60, { token: SECRET, kept: 1 }) },
      { keys: ['token'] },
    );
    expect(JSON.stringify(state)).not.toContain(SECRET);
    expect(state.deep).toEqual(nested(63, 'REDACTED'));
    expect(JSON.stringify(state.list)).toBe(`${'['.repeat(63)}"REDACTED"${']'.repeat(63)}`);
    expect(state.near).toEqual(nested(60, { token: 'REDACTED', kept: 1 }));
  });

  test('a field that is declared below a key is hidden at any depth below it, and nowhere else', async () => {
    const state = await recordedState(
      {
        user: { ssn: SECRET, name: { ssn: SECRET, first: 'kept' }, home: { ssn: SECRET, zip: SECRET, street: 'kept' } },
        other: { ssn: 'kept', zip: 'kept' },
      },
      { fields: { user: ['ssn'], home: ['zip'] } },
    );
    expect(state).toEqual({
      user: {
        ssn: 'REDACTED',
        name: { ssn: 'REDACTED', first: 'kept' },
        home: { ssn: 'REDACTED', zip: 'REDACTED', street: 'kept' },
      },
      other: { ssn: 'kept', zip: 'kept' },
    });
  });

  test('a value that is no plain object stays what it is', async () => {
    const state = await recordedState({ at: new Date(0), none: null }, { keys: ['token'] });
    expect(state).toEqual({ at: '1970-01-01T00:00:00.000Z', none: null });
  });

  test('a rule on a key of which a field is hidden shows neither threshold nor value', async () => {
    const judging = () =>
      flowChart<State>('judging', (scope) => void Object.assign(scope, { user: SECRET }), 'read')
        .addDeciderFunction(
          'Posture',
          (scope: State) => decide(scope, [{ when: { user: { ne: `${SECRET}-other` } }, then: 'fine' }], 'bad'),
          'posture',
        )
        .addFunctionBranch(
          'fine',
          'Fine',
          (scope: State) => void Object.assign(scope, { verdicts: [{ verdict: 'fine' }] }),
        )
        .addFunctionBranch('bad', 'Bad', () => undefined)
        .end()
        .build();
    const artifacts = new MemorySink();
    const outcome = await runToAnswer(
      {
        name: 'judging',
        resultKind: 'verdict/x',
        verdicts: { decider: 'Posture' },
        redact: { fields: { user: ['ssn'] } },
        procedure: judging,
      },
      {},
      { ...CALL, artifacts },
    );
    expect(outcome.evidence[0]?.rules[0]?.conditions).toEqual([
      { key: 'user', op: 'ne', threshold: 'REDACTED', actual: 'REDACTED', matched: true },
    ]);
    expect(artifacts.puts[0]?.data).not.toContain(SECRET);
  });
});

test.each<[string, RedactionPolicy | undefined]>([
  ['without any policy', undefined],
  ['beside a policy', { keys: ['password'] }],
])('what a stage itself marks as sensitive is hidden %s, below other keys too', async (_, redact) => {
  const marking = () =>
    flowChart<State>(
      'marking',
      (scope) => {
        const mark = scope as unknown as { $setValue(key: string, value: unknown, redacted: boolean): void };
        mark.$setValue('report', SECRET, true);
        mark.$setValue('verdicts', [{ verdict: SECRET }], true);
        mark.$setValue('coverage', { checked: [SECRET] }, true);
        mark.$setValue('token', SECRET, true);
        Object.assign(scope, { password: 'open', user: { token: SECRET, name: 'kept' } });
      },
      'mark',
    ).build();
  const artifacts = new MemorySink();
  const envelope = await answer(
    { procedure: marking, walk: { recording: true }, ...(redact !== undefined && { redact }) },
    { artifacts },
  );
  expect(envelope.result.rows_total).toBe(0);
  expect(envelope.result.walk.recording_ref).toBeDefined();
  const parcel = artifacts.redeem(envelope.result.walk.recording_ref) as { snapshot: { sharedState: State } };
  expect(parcel.snapshot.sharedState).toMatchObject({
    token: 'REDACTED',
    password: redact === undefined ? 'open' : 'REDACTED',
    user: { token: 'REDACTED', name: 'kept' },
  });
  expect(JSON.stringify([envelope, artifacts.puts])).not.toContain(SECRET);
});

test('what a branch or a subflow marks stays hidden where its state is collected', async () => {
  const marking = () =>
    flowChart<State>(
      'marking',
      (scope) => {
        const mark = scope as unknown as { $setValue(key: string, value: unknown, redacted: boolean): void };
        mark.$setValue('token', SECRET, true);
        scope.kept = 'kept';
      },
      'mark',
    ).build();
  const each = (branch: () => FlowChart) =>
    flowChart<State>('each', (scope) => void Object.assign(scope, { items: [1, 2] }), 'start')
      .addParallelForEach<number>('Each', 'each', {
        items: (scope: State) => scope.items as number[],
        branch: branch as never,
        maxBranches: 2,
        into: 'results',
      })
      .addSubFlowChartNext('sub', marking(), 'Sub')
      .addFunction('Tell', (scope: State) => void Object.assign(scope, { report: { seen: scope.results } }), 'tell')
      .build();
  for (const procedure of [() => each(marking), () => each(() => each(marking))]) {
    const artifacts = new MemorySink();
    const envelope = await answer({ procedure, walk: { recording: true } }, { artifacts });
    expect(envelope.result.walk.recording_ref).toBeDefined();
    expect(JSON.stringify(envelope)).toContain('kept');
    expect(JSON.stringify([envelope, artifacts.puts])).not.toContain(SECRET);
  }
});

function single() {
  return flowChart<State>('single', (scope) => void Object.assign(scope, { token: SECRET, ok: true }), 'read')
    .addDeciderFunction(
      'Posture',
      (scope: State) =>
        decide(scope, [{ when: { token: { ne: `${SECRET}-other` }, ok: { eq: true } }, then: 'fine' }], 'bad'),
      'posture',
    )
    .addFunctionBranch('fine', 'Fine', (scope: State) => void Object.assign(scope, { verdicts: [{ verdict: 'fine' }] }))
    .addFunctionBranch('bad', 'Bad', () => undefined)
    .end()
    .build();
}
