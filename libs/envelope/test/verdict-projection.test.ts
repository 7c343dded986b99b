import fc from 'fast-check';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  DEFAULT_MAX_ROWS,
  NO_ROWS_SENTENCE,
  PANEL_RENDER_NOTE,
  type RunbookAsToolOptions,
  renderVerdictTable,
  VERDICT_RENDER_NOTE,
  verdictRowsOf,
} from '../src/index.ts';
import { answer, type State, writes } from './procedures.ts';

const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ subject: `s-${n}`, verdict: 'fine' }));
const projected = async (verdicts: unknown, options: Partial<RunbookAsToolOptions> = {}) =>
  (await answer({ procedure: writes({ verdicts }), ...options })).result;

describe('rows', () => {
  test('are the bags with a string verdict, in their order; anything else is none', () => {
    class Row {
      verdict = 'fine';
    }
    const verdicts = [
      { verdict: 'a' },
      { verdict: 1 },
      'text',
      null,
      ['verdict'],
      new Row(),
      {},
      { x: 1, verdict: '' },
    ];
    expect(verdictRowsOf({ verdicts })).toEqual([{ verdict: 'a' }, { x: 1, verdict: '' }]);
    for (const none of [undefined, null, 'text', { verdict: 'a' }])
      expect(verdictRowsOf({ verdicts: none })).toEqual([]);
  });

  test('without any, the table is a plain sentence and the answer is complete', async () => {
    const result = await projected(undefined);
    expect(result).toMatchObject({
      verdicts: [],
      rows_shown: 0,
      rows_total: 0,
      rows_complete: true,
      table: NO_ROWS_SENTENCE,
    });
    expect(NO_ROWS_SENTENCE).not.toContain('|');
  });
});

describe('one cap for the list and the table', () => {
  test.each([
    [DEFAULT_MAX_ROWS - 1, undefined, DEFAULT_MAX_ROWS - 1, true],
    [DEFAULT_MAX_ROWS, undefined, DEFAULT_MAX_ROWS, true],
    [DEFAULT_MAX_ROWS + 1, undefined, DEFAULT_MAX_ROWS, false],
    [3, 1, 1, false],
    [3, 3, 3, true],
  ])('%i rows under a cap of %s show %i, complete %s', async (count, maxRows, shown, complete) => {
    const result = await projected(rowsOf(count), {
      verdicts: { decider: 'd', ...(maxRows !== undefined && { maxRows }) },
    });
    expect(result).toMatchObject({ rows_shown: shown, rows_total: count, rows_complete: complete });
    expect(result.verdicts).toEqual(rowsOf(shown));
    expect(result.table).toBe(renderVerdictTable(rowsOf(shown)));
    expect(result.table?.split('\n')).toHaveLength(shown + 2);
  });

  test('the default cap is fifty', () => {
    expect(DEFAULT_MAX_ROWS).toBe(50);
  });

  test('whatever the rows, list and table show the same ones, and the counters do not lie', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 8 }),
        async (subjects, maxRows) => {
          const rows = subjects.map((subject) => ({ subject, verdict: 'fine' }));
          const result = await projected(rows, { verdicts: { decider: 'd', maxRows } });
          const shown = result.verdicts ?? [];
          expect(result.rows_total).toBe(rows.length);
          expect(result.rows_shown).toBe(Math.min(rows.length, maxRows));
          expect(shown).toHaveLength(result.rows_shown ?? -1);
          expect(result.rows_complete).toBe(result.rows_shown === result.rows_total);
          expect(result.table).toBe(renderVerdictTable(shown));
          if (shown.length > 0) expect(result.table?.split('\n')).toHaveLength(shown.length + 2);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the table', () => {
  test("has the first row's keys as columns, in their order; a value that is not there is a dash", () => {
    const table = renderVerdictTable([
      { verdict: 'fine', a: null, b: undefined, c: '', d: 0 },
      { extra: 'unseen', d: false, verdict: 'bad', c: true },
    ]);
    expect(table).toBe(
      '| verdict | a | b | c | d |\n|---|---|---|---|---|\n| fine | — | — | — | 0 |\n| bad | — | — | yes | no |',
    );
  });

  test('bars are escaped and newlines become spaces, whatever stands before them', () => {
    const cell = (value: unknown) => renderVerdictTable([{ verdict: value }]).split('\n')[2];
    expect(cell('a|b')).toBe('| a\\|b |');
    expect(cell('a\\|b')).toBe('| a\\\\\\|b |');
    expect(cell('a\nb\r\nc\rd\te')).toBe('| a b c d e |');
    expect(cell('a\u2028b')).toBe('| a b |');
    expect(cell({ a: ['|'] })).toBe('| {"a":["\\|"]} |');
    expect(cell('\u200b')).toBe('| — |');
    expect(renderVerdictTable([{ 'a|b': 1 }]).split('\n')[0]).toBe('| a\\|b |');
  });

  test('what a prototype has is no value of a row', () => {
    const table = renderVerdictTable([{ verdict: 'a', constructor: 'x', toString: 'y' }, { verdict: 'b' }]);
    expect(table.split('\n')[3]).toBe('| b | — | — |');
  });

  test('an identifier is never cut and stays byte for byte but for unsafe characters', async () => {
    const id = `ns/${'é'.repeat(400)}-☃-𝕏`;
    const result = await projected([{ subject: id, verdict: 'fine' }]);
    expect(result.table).toContain(id);
    expect(result.verdicts?.[0]?.subject).toBe(id);
  });

  test('text from outside is inert in rows and table alike', async () => {
    const result = await projected([
      { subject: 'a\u202eb\u001b[31mc\u0000d\u200be', verdict: 'fi\u0007ne', 'co\u200dl': 'x' },
    ]);
    expect(result.verdicts).toEqual([{ subject: 'abcde', verdict: 'fine', col: 'x' }]);
    expect(result.table).toBe('| subject | verdict | col |\n|---|---|---|\n| abcde | fine | x |');
  });
});

describe('presentation', () => {
  test('prose is the default and ships the table with the rule to give it as it is', async () => {
    const result = await projected(rowsOf(2));
    expect(result.render_note).toBe(VERDICT_RENDER_NOTE);
    expect(await projected(rowsOf(2), { presentation: 'prose' })).toEqual(result);
    expect(VERDICT_RENDER_NOTE).toMatch(/VERBATIM/);
  });

  test('panel has no table key at all and the opposite rule; the rows are the same', async () => {
    const { table, render_note, ...prose } = await projected(rowsOf(2));
    const panel = await projected(rowsOf(2), { presentation: 'panel' });
    expect('table' in panel).toBe(false);
    expect(panel).toEqual({ ...prose, render_note: PANEL_RENDER_NOTE });
    expect([table, render_note]).toEqual([renderVerdictTable(rowsOf(2)), VERDICT_RENDER_NOTE]);
  });

  test('the panel rule says what such a client needs', () => {
    for (const said of [/already/i, /table/i, /bullet/i, /one sentence per row/i, /VERBATIM/, /byte-for-byte/i]) {
      expect(PANEL_RENDER_NOTE).toMatch(said);
    }
  });
});

const RULES: DecideRule<State>[] = [
  { when: { known: { eq: false } }, then: 'declined', label: 'unreadable' },
  { when: { age: { gt: 7 } }, then: 'stale', label: 'older than 7 days' },
];
const DEFAULT = { branch: 'fresh', label: 'within 7 days' };
type Otherwise = Parameters<typeof decide>[2];

function posture(facts: State, rules = RULES, otherwise: Otherwise = DEFAULT, describe_?: (branch: string) => string) {
  const chart = flowChart<State>('check', (scope) => void Object.assign(scope, facts), 'read').addDeciderFunction(
    'Posture',
    (scope: State) => decide(scope, rules, otherwise),
    'posture',
  );
  for (const branch of ['declined', 'stale', 'fresh']) {
    chart.addFunctionBranch(branch, `The ${branch} branch`, () => undefined, describe_?.(branch));
  }
  return chart.end().build();
}

const meaningsOf = async (procedure: RunbookAsToolOptions['procedure'], decider = 'Posture') =>
  (await answer({ verdicts: { decider }, procedure })).result.verdict_meanings;

describe('meanings are generated', () => {
  test('from the declared branches: the description, else the name', async () => {
    const undecided = () => posture({}, [], 'fresh', (branch) => (branch === 'stale' ? 'too old' : ''));
    expect(await meaningsOf(undecided)).toEqual({
      declined: 'The declined branch',
      stale: 'too old',
      fresh: 'The fresh branch',
    });
    expect(await meaningsOf(() => posture({}, [], 'fresh', () => ' '))).toMatchObject({ stale: 'The stale branch' });
  });

  test('a decider that chooses without evidence has its declared branches alone', async () => {
    const chosen = () =>
      flowChart<State>('check', () => undefined, 'start')
        .addDeciderFunction('Posture', () => 'fine', 'posture')
        .addFunctionBranch('fine', 'Fine', () => undefined)
        .end()
        .build();
    expect(await meaningsOf(chosen)).toEqual({ fine: 'Fine' });
  });

  test("a stage of the decider's name that decides nothing says nothing", async () => {
    const forked = () =>
      flowChart<State>('check', () => undefined, 'start')
        .addListOfFunction([{ id: 'left', name: 'Left', fn: () => undefined }])
        .build();
    expect(await meaningsOf(forked, 'start')).toBeUndefined();
  });

  test('over them go the labels that this run carried, the default branch its own', async () => {
    expect(await meaningsOf(() => posture({ known: true, age: 1 }))).toEqual({
      declined: 'unreadable',
      stale: 'older than 7 days',
      fresh: 'within 7 days',
    });
  });

  test('evidence stops at the first rule that matched, and the default speaks all the same', async () => {
    expect(await meaningsOf(() => posture({ known: false }))).toEqual({
      declined: 'unreadable',
      stale: 'The stale branch',
      fresh: 'within 7 days',
    });
  });

  test('a blank label is no meaning, for a rule or for the default', async () => {
    const blank = RULES.map((rule) => ({ ...rule, label: ' ' }));
    expect(await meaningsOf(() => posture({ known: true, age: 1 }, blank, { branch: 'fresh', label: '' }))).toEqual({
      declined: 'The declined branch',
      stale: 'The stale branch',
      fresh: 'The fresh branch',
    });
  });

  test('a rule beats the default where both name one branch, and the earlier rule a later one', async () => {
    const rules = [
      ...RULES,
      { when: { age: { gt: 0 } }, then: 'fresh', label: 'the rule' },
      { when: { age: { gt: -1 } }, then: 'stale', label: 'later' },
    ];
    expect(await meaningsOf(() => posture({ known: true, age: -5 }, rules))).toMatchObject({
      fresh: 'the rule',
      stale: 'older than 7 days',
    });
  });

  test('the decider is known by its name and by its id', async () => {
    const byName = await meaningsOf(() => posture({ known: true, age: 1 }));
    expect(await meaningsOf(() => posture({ known: true, age: 1 }), 'posture')).toEqual(byName);
  });

  test('another decider says nothing, and no meanings at all means no key', async () => {
    const { result } = await answer({
      verdicts: { decider: 'Other' },
      procedure: () => posture({ known: true, age: 1 }),
    });
    expect('verdict_meanings' in result).toBe(false);
    const undeclared = await answer({ procedure: () => posture({ known: true, age: 1 }) });
    expect('verdict_meanings' in undeclared.result).toBe(false);
  });

  test('a name that only ends the same is another decider', async () => {
    expect(await meaningsOf(() => posture({ known: true, age: 1 }), 'ture')).toBeUndefined();
  });

  test('a decider inside a branch of another is found by its declaration', async () => {
    const nested = () =>
      flowChart<State>('check', () => undefined, 'start')
        .addDeciderFunction('Which?', () => 'other', 'which')
        .addSubFlowChartBranch('inner', posture({ known: true, age: 9 }), 'Inner')
        .addFunctionBranch('other', 'Other', () => undefined)
        .end()
        .build();
    expect(await meaningsOf(nested)).toEqual({
      declined: 'The declined branch',
      stale: 'The stale branch',
      fresh: 'The fresh branch',
    });
  });

  test('a decider in a nested subflow is found, declared and heard', async () => {
    const nested = () => {
      const inner = flowChart<State>('mid', () => undefined, 'mid')
        .addSubFlowChartNext('inner', posture({ known: true, age: 9 }), 'Inner')
        .build();
      return flowChart<State>('check', () => undefined, 'start')
        .addSubFlowChartNext('outer', inner, 'Outer')
        .build();
    };
    expect(await meaningsOf(nested)).toEqual({
      declined: 'unreadable',
      stale: 'older than 7 days',
      fresh: 'within 7 days',
    });
  });

  const fanOut = (ages: (number | null)[]) => () =>
    flowChart<State>('check', (scope) => void Object.assign(scope, { ages }), 'start')
      .addParallelForEach<number | null>('Each', 'each', {
        items: (scope: State) => scope.ages as (number | null)[],
        branch: (age) => posture({ known: age !== null, age: age ?? 0 }),
        maxBranches: 10,
        into: 'results',
      })
      .build();

  test('deciders in fan-out branches are heard, by name and by id; their union fills the map', async () => {
    const all = { declined: 'unreadable', stale: 'older than 7 days', fresh: 'within 7 days' };
    expect(await meaningsOf(fanOut([1, null]))).toEqual(all);
    expect(await meaningsOf(fanOut([1, null]), 'posture')).toEqual(all);
    expect(await meaningsOf(fanOut([null]))).toEqual({ declined: 'unreadable', fresh: 'within 7 days' });
    expect(await meaningsOf(fanOut([]))).toBeUndefined();
  });

  test('the map does not depend on which way the data went first', async () => {
    const one = await meaningsOf(fanOut([1, null, 30]));
    expect(JSON.stringify(await meaningsOf(fanOut([30, 1, null])))).toBe(JSON.stringify(one));
  });

  test('branches named like a prototype member keep their labels', async () => {
    const procedure = () =>
      flowChart<State>('check', (scope) => void Object.assign(scope, { a: 1 }), 'read')
        .addDeciderFunction(
          'Posture',
          (scope: State) => decide(scope, [{ when: { a: { eq: 1 } }, then: 'constructor', label: 'built' }], 'valueOf'),
          'posture',
        )
        .addFunctionBranch('constructor', 'C', () => undefined)
        .addFunctionBranch('valueOf', 'V', () => undefined)
        .end()
        .build();
    expect(await meaningsOf(procedure)).toEqual({ constructor: 'built', valueOf: 'V' });
  });
});
