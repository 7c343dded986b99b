import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  announcement,
  MAX_ATTEMPTS,
  receptionOf,
  retryAfterMs,
  type SweepFacts,
  slackOfStandings,
  slackOfSweep,
  sweepNotice,
  tellsAnything,
  waitAfter,
} from '../src/index.ts';

const HEAD = { id: 'n1', tenant: 'default', at: new Date('2026-11-30T12:00:00Z') };
const change = (subject: string, over = {}) => ({
  change: 'newly_problem',
  subject,
  target: null,
  fromStanding: 'ok',
  toStanding: 'problem',
  verdict: 'crash_loop',
  reason: 'app crashes again and again',
  standingSince: new Date('2026-11-30T11:00:00Z'),
  ...over,
});
const sweep = (over: Partial<SweepFacts> = {}): SweepFacts => ({
  runId: 'r2',
  runbookName: 'kubernetes_workloads',
  scopeKey: 'nightly',
  now: new Date('2026-11-30T12:00:00Z'),
  against: { runId: 'r1', now: new Date('2026-11-29T12:00:00Z') },
  counts: { newly_problem: 2, fixed: 1, still_problem: 3, still_ok: 40 },
  changes: [change('shop/a')],
  total: 2,
  outages: [],
  flapping: [],
  muted: 1,
  damped: 0,
  ...over,
});

test('a notice names run, scope, what it was compared with, and counts what it does not show', () => {
  expect(sweepNotice(HEAD, sweep())).toMatchObject({
    type: 'muster.sweep.changed',
    version: 1,
    id: 'n1',
    timestamp: '2026-11-30T12:00:00.000Z',
    sentence: '2 newly a problem, 1 fixed, 3 still a problem, 40 still ok, 1 muted',
    run_id: 'r2',
    against: { run_id: 'r1', now: '2026-11-29T12:00:00.000Z' },
    changes: [{ change: 'newly_problem', subject: 'shop/a', standing_since: '2026-11-30T11:00:00.000Z' }],
    more: 1,
    muted: 1,
  });
});

test('what is left to tell is told, and nothing else makes a notice', () => {
  expect(tellsAnything(sweep())).toBe(true);
  expect(tellsAnything(sweep({ total: 0, changes: [] }))).toBe(false);
  expect(tellsAnything(sweep({ total: 0, changes: [], flapping: ['x'] }))).toBe(true);
  expect(tellsAnything(sweep({ total: 0, outages: [{ target: 't', reasonCode: 'x', count: 12, samples: [] }] }))).toBe(
    true,
  );
});

describe('text from outside is inert', () => {
  test('in Slack it mentions nobody, links nowhere and steers nothing', () => {
    const told = sweepNotice(
      HEAD,
      sweep({ changes: [change('<!channel>&`x`\u202e\n*bold*', { reason: '<http://evil|click>' })] }),
    );
    const text = JSON.stringify(slackOfSweep(told));
    expect(text).not.toMatch(/<!|<http|\u202e/);
    expect(text).toContain('&lt;!channel&gt;&amp;');
  });

  test('whatever it is, a body stays within the limits of who takes it', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 2000 }), { maxLength: 50 }), (subjects) => {
        const changes = subjects.map((subject) => change(subject, { reason: subject }));
        const notice = sweepNotice(HEAD, sweep({ changes, total: changes.length }));
        const { blocks } = slackOfSweep(notice);
        expect(blocks.length).toBeLessThanOrEqual(50);
        for (const { text } of blocks) expect(text.text.length).toBeLessThanOrEqual(3000);
        expect(JSON.stringify(notice).isWellFormed()).toBe(true);
        for (const one of notice.changes) expect(one.subject?.length ?? 0).toBeLessThanOrEqual(300);
      }),
      { numRuns: 200 },
    );
  });
});

test('an announcement says how many are wrong, unknown and muted', () => {
  const problems = [{ ...change('a'), runbook: 'r', scope: 's' }];
  const notice = announcement(HEAD, { problems, total: 3, unknown: 2, muted: 1 });
  expect(notice).toMatchObject({ sentence: '3 problems now, 2 unknown, 1 muted', more: 2 });
  expect(slackOfStandings(notice).blocks[0]?.text.text).toContain('3 problems now');
});

describe('trying again', () => {
  test('waits grow over a day, are never shorter than asked for, and end', () => {
    const waits = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, at) => waitAfter(at + 1, undefined, 0)!);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(24 * 3_600_000);
    expect(waitAfter(MAX_ATTEMPTS, undefined, 0)).toBeUndefined();
    expect(waitAfter(1, 90_000, 0)).toBe(90_000);
    expect(waitAfter(1, 1e12, 0)).toBeLessThanOrEqual(6 * 3_600_000);
    expect(waitAfter(1, undefined, 1)).toBeGreaterThan(waitAfter(1, undefined, 0)!);
  });

  test('Retry-After is seconds or a date', () => {
    const now = new Date('2026-11-30T12:00:00Z');
    expect(retryAfterMs('120', now)).toBe(120_000);
    expect(retryAfterMs('Mon, 30 Nov 2026 12:01:00 GMT', now)).toBe(60_000);
    expect(retryAfterMs('soon', now)).toBeUndefined();
    expect(retryAfterMs(undefined, now)).toBeUndefined();
  });

  test.each([
    [200, 'taken'],
    [204, 'taken'],
    [301, 'again'],
    [307, 'again'],
    [400, 'again'],
    [410, 'never'],
    [429, 'again'],
    [500, 'again'],
  ])('an answer of %i is %s', (status, reception) => {
    expect(receptionOf(status)).toBe(reception);
  });
});
