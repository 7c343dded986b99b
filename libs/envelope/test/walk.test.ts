import fc from 'fast-check';
import { type FlowChart, flowChart, select } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  answerStopped,
  CHART_WALK_ARTIFACT_KIND,
  chartWalkPutInput,
  countWalk,
  DEFAULT_RECORDING_MAX_BYTES,
  DEFAULT_WALK_CAP,
  projectWalk,
  RECORDING_ARTIFACT_KIND,
  type RunbookAsToolOptions,
  recordingPutInput,
  type WalkRow,
} from '../src/index.ts';
import { MemorySink, refusingSink } from './memory-sink.ts';
import { answer, does, type State, writes } from './procedures.ts';

const row = (type: string, step = 0, id: string | null = 'a#0'): WalkRow => ({
  step,
  type,
  depth: 0,
  stage: null,
  stage_id: null,
  runtime_stage_id: id,
  subflow: null,
  text: `${type} text`,
});

describe('the cap law', () => {
  const rows = ['stage', 'step', 'condition', 'step', 'fork'].map((type, index) => row(type, index));

  test.each([
    [5, 'full', ['stage', 'step', 'condition', 'step', 'fork'], true],
    [6, 'full', ['stage', 'step', 'condition', 'step', 'fork'], true],
    [4, 'control-flow', ['stage', 'condition', 'fork'], false],
    [3, 'control-flow', ['stage', 'condition', 'fork'], false],
    [2, 'control-flow', ['stage', 'condition'], false],
    [1, 'control-flow', ['stage'], false],
  ])('under a cap of %i the walk of five rows is %s', (cap, projection, kept, complete) => {
    const walk = projectWalk(rows, cap);
    expect(walk).toMatchObject({ projection, shown: kept.length, total: 5, complete });
    expect(walk.rows.map(({ type }) => type)).toEqual(kept);
    expect(walk.rows.map(({ step }) => step)).toEqual(kept.map((_, index) => index));
  });

  test('the default cap is five hundred', () => {
    expect(DEFAULT_WALK_CAP).toBe(500);
    expect(projectWalk(Array(500).fill(row('step')), DEFAULT_WALK_CAP).complete).toBe(true);
    expect(projectWalk(Array(501).fill(row('step')), DEFAULT_WALK_CAP)).toMatchObject({ shown: 0, total: 501 });
  });

  test('a narrative entry becomes a row of eight columns; missing ones are null, live values never come along', () => {
    const entry = { type: 'step' as const, text: 'Write a', depth: 1, key: 'a', rawValue: { live: true } };
    expect(projectWalk([entry], 5).rows).toEqual([
      {
        step: 0,
        type: 'step',
        depth: 1,
        stage: null,
        stage_id: null,
        runtime_stage_id: null,
        subflow: null,
        text: 'Write a',
      },
    ]);
    const full = { ...entry, stageName: 'S', stageId: 's', runtimeStageId: 's#1', subflowId: 'f', stepNumber: 9 };
    expect(projectWalk([full], 5).rows[0]).toMatchObject({
      stage: 'S',
      stage_id: 's',
      runtime_stage_id: 's#1',
      subflow: 'f',
      step: 0,
    });
  });

  test('rows that stand beside each other carry their own names, also where only one of them differs', () => {
    const entry = { type: 'stage' as const, text: 'x', depth: 0 };
    const first = { ...entry, stageName: 'S', stageId: 's', runtimeStageId: 's#0', subflowId: 'f' };
    for (const [name, column] of [
      ['stageName', 'stage'],
      ['stageId', 'stage_id'],
      ['runtimeStageId', 'runtime_stage_id'],
      ['subflowId', 'subflow'],
    ] as const) {
      const rows = projectWalk([first, { ...first, [name]: 'other' }, first], 5).rows;
      expect(rows.map((each) => each[column])).toEqual([first[name], 'other', first[name]]);
    }
  });

  test('steps are counted as distinct executed steps, not as rows', () => {
    const walk = [
      row('stage', 0, 'a#0'),
      row('step', 1, 'a#0'),
      row('stage', 2, 'b#1'),
      row('step', 3, 'a#0'),
      row('stage', 4, 'a#2'),
      row('loop', 5, null),
    ];
    expect(countWalk(walk)).toEqual({ rows: 6, controlRows: 4, steps: 3 });
    expect(projectWalk(walk, 2).stepsExecuted).toBe(3);
  });

  const walks = fc.array(
    fc.record({
      type: fc.constantFrom('stage', 'step', 'condition'),
      id: fc.option(fc.constantFrom('a#0', 'b#1', 'c#2')),
    }),
    { maxLength: 20 },
  );

  test('counters never lie, and control flow is dropped only when the cap itself cuts', () => {
    fc.assert(
      fc.property(walks, fc.integer({ min: 1, max: 22 }), (given, cap) => {
        const all = given.map(({ type, id }, index) => row(type, index, id));
        const walk = projectWalk(all, cap);
        const dropped = all.length - walk.rows.length;
        expect(walk.shown + dropped).toBe(walk.total);
        expect(walk.shown).toBe(walk.rows.length);
        expect(walk.shown).toBeLessThanOrEqual(cap);
        expect(walk.complete).toBe(walk.shown === walk.total);
        const control = all.filter(({ type }) => type !== 'step').length;
        if (walk.projection === 'control-flow') expect(walk.shown).toBe(Math.min(control, cap));
        else expect(dropped).toBe(0);
        expect(walk.stepsExecuted).toBe(
          new Set(all.map((each) => each.runtime_stage_id).filter((id) => id !== null)).size,
        );
      }),
    );
  });

  test('projecting twice is projecting once', () => {
    fc.assert(
      fc.property(walks, fc.integer({ min: 1, max: 22 }), (given, cap) => {
        const once = projectWalk(
          given.map(({ type, id }, index) => row(type, index, id)),
          cap,
        );
        expect(projectWalk(once.rows, cap).rows).toEqual(once.rows);
      }),
    );
  });
});

describe('the walk of a run', () => {
  const many = () =>
    does((scope) => void Object.assign(scope, Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`k${n}`, n]))));

  test('is minted under its kind, for the outer call and run, and the descriptor speaks of what was put', async () => {
    const sink = new MemorySink();
    const { result } = await answer({ procedure: many }, { artifacts: sink, hasArtifacts: true, runId: 'r1' });
    expect(result.walk).toMatchObject({
      ref: sink.puts[0]?.ref,
      kind: CHART_WALK_ARTIFACT_KIND,
      rows: 10,
      steps_executed: 1,
      projection: 'full',
      shown: 10,
      total: 10,
      complete: true,
      walk_segment: 'full',
    });
    expect(sink.puts[0]).toMatchObject({
      kind: 'recording/chart-walk',
      mediaType: 'application/json',
      label: 'check walk',
      origin: { toolCallId: 'c1', runId: 'r1' },
    });
    expect(sink.redeem(result.walk.ref)).toHaveLength(result.walk.rows);
  });

  const texts = async (procedure: () => FlowChart) => {
    const sink = new MemorySink();
    const { result } = await answer({ procedure }, { artifacts: sink });
    return (sink.redeem(result.walk.ref) as { text: string }[]).map(({ text }) => text);
  };

  test('tells which branches were selected, and of how many', async () => {
    const rule = (gt: number, then: string) => ({ when: { size: { gt } }, then });
    const selecting = () =>
      flowChart<State>('check', (scope) => void Object.assign(scope, { size: 3 }), 'read')
        .addSelectorFunction(
          'Marks',
          (scope: State) => select(scope, [rule(1, 'one'), rule(2, 'two'), rule(3, 'three')]) as never,
          'marks',
        )
        .addFunctionBranch('one', 'One', () => undefined)
        .addFunctionBranch('two', 'Two', () => undefined)
        .addFunctionBranch('three', 'Three', () => undefined)
        .end()
        .build();
    expect(await texts(selecting)).toContain('Selected 2 of 3: One, Two.');
  });

  test('tells each attempt of a stage that was tried again, by the name and code of its error', async () => {
    let attempts = 0;
    const trying = () =>
      flowChart<State>('check', () => undefined, 'first')
        .addFunction(
          'Ask',
          () => {
            if (++attempts < 3) throw Object.assign(new TypeError('secret'), { code: `E${attempts}` });
          },
          'ask',
        )
        .retry({ attempts: 3 })
        .build();
    const told = await texts(trying);
    expect(told.filter((text) => text.startsWith('Attempt'))).toEqual([
      'Attempt 1 of 3 failed: TypeError (E1); trying again.',
      'Attempt 2 of 3 failed: TypeError (E2); trying again.',
    ]);
    expect(told.join()).not.toContain('secret');
  });

  test('over its cap keeps its control flow, and the note says which of the two it is', async () => {
    const sink = new MemorySink();
    const { result } = await answer({ procedure: many, walk: { cap: 9 } }, { artifacts: sink });
    expect(result.walk).toMatchObject({ rows: 1, shown: 1, total: 10, projection: 'control-flow', complete: false });
    expect(result.walk.note).toContain('CONTROL-FLOW');
    expect(result.walk.note).toContain('1 of 10 rows');
    expect(sink.redeem(result.walk.ref)).toEqual([expect.objectContaining({ type: 'stage', step: 0 })]);
    const { result: whole } = await answer({ procedure: many, walk: { cap: 10 } }, { artifacts: sink });
    expect(whole.walk.note).not.toContain('CONTROL-FLOW');
  });

  test.each([{ hasArtifacts: false, artifacts: new MemorySink() }, {}])(
    'without a store there is no ticket, and the counters stay: %j',
    async (context) => {
      const { result } = await answer({ procedure: many, walk: { recording: true } }, context);
      expect(Object.keys(result.walk)).toEqual([
        'rows',
        'steps_executed',
        'projection',
        'shown',
        'total',
        'complete',
        'walk_segment',
        'note',
        'recording_note',
      ]);
      expect(result.walk.note).toContain('No artifact store');
      expect(result.walk.recording_note).toContain('No artifact store');
      expect(result.walk.total).toBe(10);
      expect(context.artifacts?.puts ?? []).toEqual([]);
    },
  );

  test('a failed mint costs the ticket, never the answer, and its reason is told', async () => {
    const { result } = await answer(
      { procedure: writes({ report: { fine: true } }) },
      { artifacts: refusingSink(() => true) },
    );
    expect(result.fine).toBe(true);
    expect(result.walk).not.toHaveProperty('ref');
    expect(result.walk).not.toHaveProperty('kind');
    expect(result.walk.note).toContain('Error (store_full): the store is full');
    expect(result.walk.note).toContain('never the answer');
  });

  test("a store's message is told on one line, inert and cut", async () => {
    const artifacts = refusingSink(() => true, `first\n\u001b[31msecond${'x'.repeat(500)}`);
    const { result } = await answer({ procedure: writes({}) }, { artifacts });
    expect(result.walk.note).toContain('first second');
    expect(result.walk.note.length).toBeLessThan(400);
  });

  test('a store that throws what is no error is told as one', async () => {
    const artifacts = new MemorySink();
    artifacts.put = () => Promise.reject('secret');
    const { result } = await answer({ procedure: writes({}) }, { artifacts });
    expect(result.walk.note).toContain('could not be stored (Error).');
    expect(result.walk.note).not.toContain('secret');
  });

  test('a payload that serialises to nothing is refused, by its kind', () => {
    expect(() => recordingPutInput(undefined)).toThrow(/^recording\/run: the payload serialises to nothing$/);
  });

  test("the put input's label is the given one, else the tool's, else a plain one", () => {
    expect(chartWalkPutInput([]).label).toBe('chart walk');
    expect(chartWalkPutInput([], { toolName: 't' }).label).toBe('t walk');
    expect(chartWalkPutInput([], { toolName: 't', label: 'mine' }).label).toBe('mine');
    expect(chartWalkPutInput([])).not.toHaveProperty('origin');
    expect(chartWalkPutInput([], { runId: 'r' }).origin).toEqual({ runId: 'r' });
    expect(recordingPutInput({}).label).toBe('run recording');
    expect(recordingPutInput({}, { toolName: 't', toolCallId: 'c' })).toMatchObject({
      label: 't recording',
      origin: { toolCallId: 'c' },
    });
  });
});

describe('the recording', () => {
  const recorded = (options: Partial<RunbookAsToolOptions>, artifacts = new MemorySink()) =>
    answer(
      { procedure: writes({ kept: 'value', report: { fine: true } }, 'the chart'), ...options },
      { artifacts, runId: 'r1' },
    );
  const recordingKeys = (walk: object) => Object.keys(walk).filter((key) => key.startsWith('recording_'));

  test('is filed beside the walk, with the same join keys and a ref of its own', async () => {
    const sink = new MemorySink();
    const { result } = await recorded({ walk: { recording: true } }, sink);
    expect(sink.kinds()).toEqual([CHART_WALK_ARTIFACT_KIND, RECORDING_ARTIFACT_KIND]);
    const [walk, recording] = sink.puts;
    expect(recording).toMatchObject({ kind: 'recording/run', mediaType: 'application/json', label: 'check recording' });
    expect(recording?.origin).toEqual({ toolCallId: 'c1', runId: 'r1' });
    expect(walk?.origin).toEqual(recording?.origin);
    expect(result.walk).toMatchObject({
      ref: walk?.ref,
      recording_ref: recording?.ref,
      recording_kind: RECORDING_ARTIFACT_KIND,
      recording_bytes: Buffer.byteLength(recording?.data ?? ''),
    });
    expect(result.walk.recording_note).toContain('structure');
    const parcel = sink.redeem(result.walk.recording_ref) as {
      snapshot: { sharedState: object };
      structure: { name: string };
    };
    expect(Object.keys(parcel)).toEqual(['snapshot', 'events', 'structure']);
    expect(parcel).toMatchObject({
      events: [],
      structure: { name: 'the chart' },
      snapshot: { sharedState: { kept: 'value' } },
    });
  });

  test.each([undefined, {}, { recording: false }, { recording: undefined }])(
    'off (%j): no snapshot, no put, and no word of it',
    async (walk) => {
      const sink = new MemorySink();
      const { result } = await recorded(walk === undefined ? {} : { walk }, sink);
      expect(sink.kinds()).toEqual([CHART_WALK_ARTIFACT_KIND]);
      expect(recordingKeys(result.walk)).toEqual([]);
    },
  );

  test("the label is the operator's own, as it was written", async () => {
    const sink = new MemorySink();
    await recorded({ walk: { recording: { label: 'nightly  sweep' } } }, sink);
    expect(sink.puts[1]?.label).toBe('nightly  sweep');
  });

  // The chart is named with letters of several bytes, so that bytes and letters differ.
  const sized = (maxBytes: number, artifacts: MemorySink) =>
    recorded({ procedure: writes({ kept: 'é☃' }, 'the chärt'), walk: { recording: { maxBytes } } }, artifacts);

  test('fits at its limit to the byte, and is refused whole at one byte over', async () => {
    const first = new MemorySink();
    const measured = (await sized(1_000_000, first)).result.walk.recording_bytes ?? 0;
    expect(measured).toBe(Buffer.byteLength(first.puts[1]?.data ?? ''));
    const fits = new MemorySink();
    const held = (await sized(measured, fits)).result.walk;
    expect(held.recording_ref).toBeDefined();
    const refused = new MemorySink();
    const { walk } = (await sized(measured - 1, refused)).result;
    expect(recordingKeys(walk)).toEqual(['recording_bytes', 'recording_note']);
    expect(walk.recording_bytes).toBe(measured);
    for (const said of [String(measured), String(measured - 1), 'walk.recording.maxBytes', 'NOT filed']) {
      expect(walk.recording_note).toContain(said);
    }
    expect(refused.kinds()).toEqual([CHART_WALK_ARTIFACT_KIND]);
    expect(walk.ref).toBeDefined();
  });

  test('has a default limit of five million bytes', () => {
    expect(DEFAULT_RECORDING_MAX_BYTES).toBe(5_000_000);
  });

  test('that cannot be stored costs its ref alone, and its reason and size are told', async () => {
    const sink = refusingSink((kind) => kind === RECORDING_ARTIFACT_KIND);
    const { result } = await recorded({ walk: { recording: true } }, sink);
    expect(result.fine).toBe(true);
    expect(result.walk.ref).toBeDefined();
    expect(recordingKeys(result.walk)).toEqual(['recording_bytes', 'recording_note']);
    expect(result.walk.recording_note).toContain('the store is full');
    expect(result.walk.recording_note).toContain('never the answer');
  });

  test('that JSON cannot carry costs its ref alone, and the reason tells no value', async () => {
    const sink = new MemorySink();
    const { result } = await recorded(
      {
        procedure: () => does((scope) => void Object.assign(scope, { big: 12_345n, report: { fine: true } })),
        walk: { recording: true },
      },
      sink,
    );
    expect(result.fine).toBe(true);
    expect(sink.kinds()).toEqual([CHART_WALK_ARTIFACT_KIND]);
    expect(recordingKeys(result.walk)).toEqual(['recording_note']);
    expect(result.walk.recording_note).toContain('JSON cannot carry');
    expect(result.walk.recording_note).not.toContain('12345');
  });

  test('of a run that never began is not asked for, and its empty walk is not filed', async () => {
    const sink = new MemorySink();
    const runbook = { name: 'check', resultKind: 'report', walk: { recording: true }, procedure: writes({}) };
    const { result } = await answerStopped(runbook, { toolCallId: 'c1', artifacts: sink }, 'cancelled');
    expect(sink.puts).toEqual([]);
    expect(result.walk.note).toContain('no walk to file');
    expect(recordingKeys(result.walk)).toEqual([]);
  });
});
