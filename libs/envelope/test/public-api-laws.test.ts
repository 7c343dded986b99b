/** Laws that code written for the public API relies on, beyond those that stand beside their subject. */
import { decide, flowChart } from 'footprintjs';
import { expect, test } from 'vitest';
import { type AbsenceOptions, absent, type RunbookEnvelope, recordingPutInput, runbookAsTool } from '../src/index.ts';
import { MemorySink } from './memory-sink.ts';

test.each([
  ['not_checked', ['the attic']],
  ['cannot_cover', [{ what: 'the neighbour', why: 'no key' }]],
  ['try_instead', 'the cellar'],
  ['skipped', ['the attic']],
])('an absence refuses the key %s, which it would otherwise lose', (key, value) => {
  const options = { what: 'a lamp', checked: ['the hall'], [key]: value } as unknown as AbsenceOptions;
  expect(() => absent(options)).toThrow(
    new TypeError(`absent: ${key} is no option; there are what, checked, notChecked, cannotCover, tryInstead`),
  );
});

test('a recording is labelled by what was named: the label, else the tool, else the run', () => {
  const label = (facts: Parameters<typeof recordingPutInput>[1]) => recordingPutInput({}, facts).label;
  expect(label({ label: '', toolName: 'sweep', runId: 'r9' })).toBe('');
  expect(label({ toolName: 'sweep', runId: 'r9' })).toBe('sweep recording');
  expect(label({ runId: 'r9' })).toBe('run r9');
  expect(label({})).toBe('run recording');
});

const weigh = () =>
  flowChart<Record<string, unknown>>(
    'weigh-parcels',
    (scope) => {
      scope.grams = 900;
      scope.sender = 'hidden-sender';
    },
    'weigh',
  )
    .addDeciderFunction(
      'Postage',
      (scope) => decide(scope, [{ when: { grams: { gt: 500 } }, then: 'heavy', label: 'over 500 g' }], 'light'),
      'postage',
    )
    .addFunctionBranch('heavy', 'Heavy', (scope) => {
      scope.stamps = 2;
    })
    .addFunctionBranch('light', 'Light', (scope) => {
      scope.stamps = 1;
    })
    .end()
    .build();

test('a recording carries its narrative where viewers look for it, and it tells what the walk tells', async () => {
  const sink = new MemorySink();
  const tool = runbookAsTool({
    name: 'postage',
    description: 'Weighs parcels.',
    redact: { keys: ['sender'] },
    walk: { recording: true },
    procedure: weigh,
  });
  const { result } = (await tool.execute({}, { toolCallId: 'p1', artifacts: sink })) as RunbookEnvelope;
  const walk = sink.redeem(result.walk.ref) as { text: string; type: string; runtime_stage_id: string }[];
  const { snapshot } = sink.redeem(result.walk.recording_ref) as {
    snapshot: { recorders: { id: string; preferredOperation: string; data: Record<string, unknown>[] }[] };
  };
  expect(snapshot.recorders.map(({ id, preferredOperation }) => [id, preferredOperation])).toEqual([
    ['combined-narrative', 'translate'],
  ]);
  const told = snapshot.recorders[0]?.data ?? [];
  expect(told.map(({ type, text, runtimeStageId }) => [type, text, runtimeStageId])).toEqual(
    walk.map(({ type, text, runtime_stage_id }) => [type, text, runtime_stage_id]),
  );
  expect(told.some((entry) => 'rawValue' in entry)).toBe(false);
  expect(JSON.stringify(snapshot)).not.toContain('hidden-sender');
});
