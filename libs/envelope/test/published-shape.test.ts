import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runTriage } from '../examples/backup-triage.ts';
import * as entry from '../src/index.ts';
import {
  canonicalJson,
  definitionText,
  ENVELOPE_SCHEMA_VERSION,
  envelopeJsonSchema,
  runbookEnvelopeSchema,
} from '../src/index.ts';
import { fleetOf, RULES } from './fleet-runbook.ts';
import { MemorySink } from './memory-sink.ts';
import { answer, writes } from './procedures.ts';

test('everything that the seed names is exported from the one entry', () => {
  const names = [
    'runbookAsTool',
    'defineTool',
    'coverage',
    'absent',
    'readCoverageResult',
    'recordingDispatch',
    'probeDispatch',
    'RunbookAbsenceSignal',
    'absenceSignalOf',
    'projectWalk',
    'verdictRowsOf',
    'renderVerdictTable',
    'chartWalkPutInput',
    'recordingPutInput',
    'DEFAULT_MAX_ROWS',
    'DEFAULT_WALK_CAP',
    'DEFAULT_RECORDING_MAX_BYTES',
    'CHART_WALK_ARTIFACT_KIND',
    'RECORDING_ARTIFACT_KIND',
    'DECLINED_VERDICT',
    'VERDICT_RENDER_NOTE',
    'PANEL_RENDER_NOTE',
    'assertComposedOf',
    'assertGates',
  ];
  expect(names.filter((name) => !(name in entry))).toEqual([]);
});

describe('the published schema', () => {
  test('is the one that is made of the code, under its version', () => {
    const file = new URL(`../schema/runbook-envelope-${ENVELOPE_SCHEMA_VERSION}.schema.json`, import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(envelopeJsonSchema());
    expect(envelopeJsonSchema()).toMatchObject({
      $id: `urn:muster:runbook-envelope:${ENVELOPE_SCHEMA_VERSION}`,
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['af_coverage', 'result'],
    });
  });

  test('takes the answers of every shape, as they are', async () => {
    const sink = new MemorySink();
    const answers = [
      await runTriage(),
      await runTriage(sink),
      await answer({ resultKind: 'x', procedure: writes({ report: { any: [{ thing: 1 }], walk: 2 } }) }),
      await answer(
        {
          presentation: 'panel',
          walk: { recording: true },
          procedure: writes({ verdicts: [{ verdict: 'a', x: null }] }),
        },
        { artifacts: sink },
      ),
      await answer({ walk: { recording: { maxBytes: 1 } }, procedure: writes({}) }, { artifacts: sink }),
    ];
    for (const envelope of answers) {
      const read: unknown = JSON.parse(JSON.stringify(envelope));
      expect(runbookEnvelopeSchema.parse(read)).toEqual(envelope);
    }
  });

  test.each<[string, (envelope: never) => void]>([
    [
      'an empty list in the ledger',
      (envelope: { af_coverage: object }) => Object.assign(envelope.af_coverage, { not_checked: [] }),
    ],
    [
      'a blind spot without a reason',
      (envelope: { af_coverage: object }) => Object.assign(envelope.af_coverage, { cannot_cover: [{ what: 'a' }] }),
    ],
    [
      'a foreign key in the ledger',
      (envelope: { af_coverage: object }) => Object.assign(envelope.af_coverage, { more: 1 }),
    ],
    ['a foreign key beside the result', (envelope: object) => Object.assign(envelope, { more: 1 })],
    ['a walk that is missing', (envelope: { result: { walk?: unknown } }) => delete envelope.result.walk],
    [
      'a counter that is none',
      (envelope: { result: { walk: object } }) => Object.assign(envelope.result.walk, { rows: -1 }),
    ],
    [
      'a row without a verdict',
      (envelope: { result: object }) => Object.assign(envelope.result, { verdicts: [{ a: 1 }] }),
    ],
    [
      'a rule version that is empty',
      (envelope: { result: object }) => Object.assign(envelope.result, { rule_version: '' }),
    ],
  ])('refuses %s', async (_, damage) => {
    const envelope: unknown = JSON.parse(JSON.stringify(await runTriage()));
    expect(runbookEnvelopeSchema.safeParse(envelope).success).toBe(true);
    damage(envelope as never);
    expect(runbookEnvelopeSchema.safeParse(envelope).success).toBe(false);
  });
});

describe("a definition's text", () => {
  const text = (more: object = {}, build = 'b1') => definitionText(fleetOf([], { more }), build);
  const rules = (threshold: number, label = 'older') => ({
    rules: { name: 'r', version: '1', list: [{ when: { age: { gt: threshold } }, then: 'stale', label }] },
  });

  test('is the same for the same definition and differs by build', () => {
    expect(text()).toBe(text());
    expect(text({}, 'b2')).not.toBe(text());
  });

  test('differs by version, threshold, label, words, charts, code and input', () => {
    const texts = [
      text(),
      text({ version: '1.0.1' }),
      text(rules(7)),
      text(rules(8)),
      text(rules(7, 'other')),
      text({ rules: { name: 'r', version: '1', list: RULES.slice(0, 1) } }),
      text({ input: z.strictObject({ a: z.string() }) }),
      definitionText(fleetOf([], { row: () => ({ other: 1 }) }), 'b1'),
      definitionText(fleetOf([], { assess: writes({}) }), 'b1'),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('differs by the structure of a chart, though its code reads the same', () => {
    const built = (name: string) => definitionText(fleetOf([], { plan: writes({}, name) as never }), 'b1');
    expect(built('one')).toBe(built('one'));
    expect(built('one')).not.toBe(built('two'));
  });

  test('a limit, which judges nothing, is no part of it', () => {
    expect(text({ limits: { chunkSize: 3 } })).toBe(text());
  });

  test('canonical JSON is the same in whatever order keys were written', () => {
    const written = (keys: string) => canonicalJson(Object.fromEntries([...keys].map((key) => [key, null])));
    for (const keys of ['abcd', 'dcba', 'badc', 'cadb'])
      expect(written(keys)).toBe('{"a":null,"b":null,"c":null,"d":null}');
  });

  test('canonical JSON sorts keys at any depth and tells functions and patterns by their source', () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined }], a: /x/g })).toBe('{"a":{"pattern":"/x/g"},"b":[{"d":1}]}');
    expect(JSON.parse(canonicalJson({ f: () => 1, n: 3n }))).toEqual({ f: { source: '() => 1' }, n: '3' });
  });
});
