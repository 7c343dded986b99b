import { describe, expect, test } from 'vitest';
import {
  parseScheduleFile,
  parseText,
  ScheduleFileError,
  scheduleChangeSchema,
  scheduleDeclarationSchema,
} from '../src/index.ts';

const ENTRY = { name: 'nightly', runbook: 'look_around', timing: { cron: '0 2 * * *' } };
const DEFAULTS = {
  version: null,
  input: {},
  overlap: 'skip',
  priority: 'sweep',
  jitter_seconds: 0,
  catch_up_seconds: 3600,
  pause_after_failures: null,
};

describe('a file of schedules', () => {
  test('is JSON or YAML, and what it leaves out is at its default', () => {
    const timing = { cron: '0 2 * * *', time_zone: 'UTC' };
    const expected = [{ ...ENTRY, ...DEFAULTS, timing, tenant: 'default' }];
    expect(parseScheduleFile(JSON.stringify({ schedules: [ENTRY] }))).toEqual(expected);
    const yaml = 'schedules:\n  - name: nightly\n    runbook: look_around\n    timing: { cron: "0 2 * * *" }\n';
    expect(parseScheduleFile(yaml)).toEqual(expected);
  });

  test.each([
    ['nothing', ''],
    ['a list', JSON.stringify([ENTRY])],
    ['another field', JSON.stringify({ schedules: [{ ...ENTRY, when: 'now' }] })],
    ['another field beside', JSON.stringify({ schedules: [], jobs: [] })],
    ['a name twice', JSON.stringify({ schedules: [ENTRY, ENTRY] })],
    ['a key twice', 'schedules: []\nschedules: []'],
    ['two documents', 'schedules: []\n---\nschedules: []'],
    ['a bomb of aliases', `a: &a [x,x]\nb: &b [${'*a,'.repeat(60)}]\nc: [${'*b,'.repeat(60)}]\nschedules: []`],
    ['too much', `#${'x'.repeat(4 * 1024 * 1024)}`],
  ])('with %s is refused', (_what, text) => {
    expect(() => parseScheduleFile(text)).toThrow(ScheduleFileError);
  });

  test('one name in two tenants is two schedules', () => {
    const text = JSON.stringify({ schedules: [ENTRY, { ...ENTRY, tenant: 'umbrella' }] });
    expect(parseScheduleFile(text).map(({ tenant }) => tenant)).toEqual(['default', 'umbrella']);
  });
});

test('a text that is neither YAML nor JSON is told by its place, and not by its content', () => {
  expect(() => parseText('a: b\n c: "hunter2')).toThrow(
    /^it is neither YAML nor JSON in line \d+, column \d+ \([A-Z_]+\)$/,
  );
});

test('a change has what is given alone: no default sneaks in', () => {
  expect(scheduleChangeSchema.parse({ overlap: 'allow' })).toEqual({ overlap: 'allow' });
  expect(scheduleChangeSchema.parse({ version: null })).toEqual({ version: null });
  expect(scheduleDeclarationSchema.parse(ENTRY)).toMatchObject(DEFAULTS);
});
