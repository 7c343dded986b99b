import { decide, flowChart } from 'footprintjs';
import { expect, test } from 'vitest';
import { inventory, options, runTriage, triage } from '../examples/backup-triage.ts';
import { COVERAGE_NOTE, evidenceLines, VERDICT_RENDER_NOTE } from '../src/index.ts';
import { MemorySink } from './memory-sink.ts';
import { runToAnswer } from './run-to-answer.ts';

const EXPECTED = {
  af_coverage: {
    checked: [
      { what: 'the backup inventory, one row per job' },
      { what: "the procedure 'backup-protection-triage': 15 step(s) recorded under health-signal v1" },
    ],
    not_checked: [
      {
        what: "1 row(s) that reached NO classification (verdict 'declined')",
        why: 'the rules found no signal that they could judge by; these rows are neither fine nor faulty',
      },
    ],
    cannot_cover: [{ what: 'WHY a protection was paused', why: 'no change record is collected here' }],
    note: COVERAGE_NOTE,
    sentence:
      "Ran 'backup-protection-triage' under health-signal v1: 15 step(s) recorded; 3 row(s) assessed, 1 declined (no classification reached); 1 not-checked item(s) declared.",
  },
  result: {
    af_provenance: { tool: 'backup_triage', toolCallId: 'c1' },
    rule_version: 'v1',
    stale_after_days: 7,
    verdicts: [
      { subject: 'cluster-a', verdict: 'protected', age: 2 },
      { subject: 'cluster-b', verdict: 'unprotected', age: 30 },
      { subject: 'cluster-c', verdict: 'declined', age: null },
    ],
    rows_shown: 3,
    rows_total: 3,
    rows_complete: true,
    table:
      '| subject | verdict | age |\n|---|---|---|\n| cluster-a | protected | 2 |\n| cluster-b | unprotected | 30 |\n| cluster-c | declined | — |',
    render_note: VERDICT_RENDER_NOTE,
    verdict_meanings: {
      protected: 'no rule fired — last backup within the 7-day threshold',
      declined: 'the age signal is unreadable — no classification',
      unprotected: 'last backup older than the 7-day threshold',
    },
    walk: {
      ref: 'art_0000000000000000000001',
      kind: 'recording/chart-walk',
      // One row less than the seed's own chart gave, whose last stage also read the subjects to count them.
      rows: 45,
      steps_executed: 15,
      projection: 'full',
      shown: 45,
      total: 45,
      complete: true,
      walk_segment: 'full',
      note: "The chart's own walk, one row for each step. `condition` rows carry the rule that matched, the values it compared and the branch it chose.",
    },
  },
};

test('the worked example of the seed gives this envelope, key for key and in this order', async () => {
  const envelope = await runTriage(new MemorySink());
  expect(JSON.stringify(envelope, null, 2)).toBe(JSON.stringify(EXPECTED, null, 2));
});

test('its walk holds a row for each step, each of eight columns, numbered from 0', async () => {
  const sink = new MemorySink();
  const { result } = await runTriage(sink);
  const rows = sink.redeem(result.walk.ref) as Record<string, unknown>[];
  expect(rows.map((row) => row.step)).toEqual(rows.map((_, index) => index));
  for (const row of rows) {
    expect(Object.keys(row)).toEqual([
      'step',
      'type',
      'depth',
      'stage',
      'stage_id',
      'runtime_stage_id',
      'subflow',
      'text',
    ]);
  }
  const count = (type: string) => rows.filter((row) => row.type === type).length;
  // Reads and writes: 1 in inventory, 4 and the reads of the rules in each branch, 3 in collect.
  expect({
    fork: count('fork'),
    subflow: count('subflow'),
    stage: count('stage'),
    condition: count('condition'),
  }).toEqual({ fork: 1, subflow: 6, stage: 11, condition: 3 });
  expect(count('step')).toBe(45 - 21);
});

test('its condition rows carry the rule, the values it compared and the branch it chose', async () => {
  const sink = new MemorySink();
  const { result } = await runTriage(sink);
  const rows = sink.redeem(result.walk.ref) as { type: string; text: string; subflow: string }[];
  expect(rows.filter((row) => row.type === 'condition').map((row) => [row.subflow, row.text])).toEqual([
    [
      'per-subject~0',
      'No rule of 2 matched; chose the default protected "no rule fired — last backup within the 7-day threshold".',
    ],
    [
      'per-subject~1',
      'Rule 2 "last backup older than the 7-day threshold" matched: age_days 30 gt 7; chose unprotected.',
    ],
    [
      'per-subject~2',
      'Rule 1 "the age signal is unreadable — no classification" matched: age_known false eq false; chose declined.',
    ],
  ]);
});

test('each row of a bounded run can be asked for its evidence as data', async () => {
  const outcome = await runToAnswer(
    { ...options, resultKind: 'verdict/backup-posture' },
    {},
    { toolCallId: 'c1', tools: { has: () => true, call: async () => inventory.execute({}, { toolCallId: 'c1' }) } },
  );
  expect(outcome.rows).toHaveLength(3);
  expect(outcome.evidence.map((evidence) => evidence?.branch)).toEqual(['protected', 'unprotected', 'declined']);
  const [, stale] = outcome.evidence;
  expect(stale === undefined ? [] : evidenceLines(stale)).toEqual([
    {
      rule: 1,
      label: 'the age signal is unreadable — no classification',
      branch: 'declined',
      decided: false,
      key: 'age_known',
      operator: 'eq',
      threshold: false,
      actual: 'true',
      matched: false,
    },
    {
      rule: 2,
      label: 'last backup older than the 7-day threshold',
      branch: 'unprotected',
      decided: true,
      key: 'age_days',
      operator: 'gt',
      threshold: 7,
      actual: '30',
      matched: true,
    },
  ]);
});

test('a row and a decision are joined only where it can be told', async () => {
  const decided = (rows: { verdict: string }[], decider = 'Size') =>
    runToAnswer(
      {
        name: 'check',
        resultKind: 'verdict/x',
        verdicts: { decider },
        procedure: () =>
          flowChart<Record<string, unknown>>('check', (scope) => void Object.assign(scope, { n: 3 }), 'read')
            .addDeciderFunction('Kind', (scope: Record<string, unknown>) => decide(scope, [], 'any'), 'kind')
            .addFunctionBranch('any', 'Any', () => undefined)
            .end()
            .addFunction('Between', () => undefined, 'between')
            .addDeciderFunction(
              'Size',
              (scope: Record<string, unknown>) => decide(scope, [{ when: { n: { gt: 2 } }, then: 'big' }], 'small'),
              'size',
            )
            .addFunctionBranch('big', 'Big', () => undefined)
            .addFunctionBranch('small', 'Small', () => undefined)
            .end()
            .addFunction('Collect', (scope) => void Object.assign(scope, { verdicts: rows }), 'collect')
            .build(),
      },
      {},
      { toolCallId: 'c1' },
    );
  const branches = async (...given: Parameters<typeof decided>) =>
    (await decided(...given)).evidence.map((evidence) => evidence?.branch);
  expect(await branches([{ verdict: 'big' }])).toEqual(['big']);
  expect(await branches([{ verdict: 'any' }], 'Kind')).toEqual(['any']);
  expect(await branches([{ verdict: 'small' }])).toEqual([undefined]);
  expect(await branches([{ verdict: 'big' }, { verdict: 'big' }])).toEqual([undefined, undefined]);
  expect(await branches([{ verdict: 'big' }], 'Other')).toEqual([undefined]);
});

test('decisions that follow each other are joined in their order, all of them or none', async () => {
  const judged = (verdicts: string[]) =>
    runToAnswer(
      {
        name: 'check',
        resultKind: 'verdict/x',
        verdicts: { decider: 'Size' },
        procedure: () => {
          const sized = (n: number) =>
            flowChart<Record<string, unknown>>('Read', (scope) => void Object.assign(scope, { n }), 'read')
              .addDeciderFunction(
                'Size',
                (scope: Record<string, unknown>) => decide(scope, [{ when: { n: { gt: 2 } }, then: 'big' }], 'small'),
                'size',
              )
              .addFunctionBranch('big', 'Big', () => undefined)
              .addFunctionBranch('small', 'Small', () => undefined)
              .end()
              .build();
          return flowChart<Record<string, unknown>>('check', () => undefined, 'start')
            .addSubFlowChartNext('first', sized(3), 'First')
            .addSubFlowChartNext('second', sized(1), 'Second')
            .addFunction(
              'Collect',
              (scope) => void Object.assign(scope, { verdicts: verdicts.map((verdict) => ({ verdict })) }),
              'collect',
            )
            .build();
        },
      },
      {},
      { toolCallId: 'c1' },
    );
  const branches = async (verdicts: string[]) => (await judged(verdicts)).evidence.map((each) => each?.branch);
  expect(await branches(['big', 'small'])).toEqual(['big', 'small']);
  expect(await branches(['big', 'big'])).toEqual([undefined, undefined]);
  expect(await branches(['small', 'small'])).toEqual([undefined, undefined]);
  expect(await branches(['big'])).toEqual([undefined]);
});

test('rows of a fan-out are joined to their own decisions, whichever branch decides first', async () => {
  const ages = Array.from({ length: 12 }, (_, n) => n);
  const gates = ages.map(() => Promise.withResolvers<void>());
  const branch = (age: number) =>
    flowChart<Record<string, unknown>>(
      'Read',
      async (scope) => {
        scope.age = age;
        // The last item decides first.
        await gates[age]?.promise;
      },
      'read',
    )
      .addDeciderFunction(
        'Size',
        (scope: Record<string, unknown>) => {
          gates[age - 1]?.resolve();
          return decide(scope, [{ when: { age: { gte: 0 } }, then: 'big' }], 'small');
        },
        'size',
      )
      .addFunctionBranch('big', 'Big', () => undefined)
      .addFunctionBranch('small', 'Small', () => undefined)
      .end()
      .build();
  gates.at(-1)?.resolve();
  const { evidence } = await runToAnswer(
    {
      name: 'check',
      resultKind: 'verdict/x',
      verdicts: { decider: 'Size' },
      procedure: () =>
        flowChart<Record<string, unknown>>('check', (scope) => void Object.assign(scope, { ages }), 'list')
          .addParallelForEach<number>('Each', 'each', {
            items: (scope: Record<string, unknown>) => scope.ages as number[],
            branch,
            maxBranches: 12,
            into: 'results',
          })
          .addFunction(
            'Collect',
            (scope: Record<string, unknown>) =>
              void Object.assign(scope, { verdicts: ages.map((age) => ({ subject: age, verdict: 'big' })) }),
            'collect',
          )
          .build(),
    },
    {},
    { toolCallId: 'c1' },
  );
  expect(evidence.map((each) => each?.rules[0]?.conditions?.[0]?.actual)).toEqual(ages.map(String));
});

test('a rule without conditions is one line of evidence', () => {
  const evidence = {
    branch: 'big',
    default: 'small',
    rules: [
      { branch: 'odd', matched: false, conditions: [] },
      { branch: 'big', matched: true, read: ['n'] },
    ],
  };
  expect(evidenceLines(evidence)).toEqual([
    { rule: 1, branch: 'odd', decided: false },
    { rule: 2, branch: 'big', decided: true },
  ]);
  expect(evidenceLines({ ...evidence, doubt: 'rule_failed' })[1]).toMatchObject({ decided: false });
});

test('the example says what it is composed of, and its schema is what a model is shown', () => {
  expect(triage.composedOf).toEqual(['backup_inventory']);
  expect(triage.resultKind).toBe('verdict/backup-posture');
  expect(triage.schema).toEqual({
    name: 'backup_triage',
    description: 'Assess backup protection posture for every subject.',
    inputSchema: { type: 'object', properties: {} },
  });
});
