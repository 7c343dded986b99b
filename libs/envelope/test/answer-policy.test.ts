/** What a declaration may say of its questions, and what a fleet's approval may ask. */
import type { RedactionPolicy } from 'footprintjs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  answerPolicyOf,
  askBeforeAssess,
  defineRunbook,
  type FleetProcedure,
  type RunbookDeclaration,
  resumeSchemaOf,
  resumeSupported,
} from '../src/index.ts';
import { fleetOf, runAnswered, type Subject } from './fleet-runbook.ts';
import { thrownBy, writes } from './procedures.ts';

type More = Partial<RunbookDeclaration<Subject>>;
const GO = () => ({ question: 'Go?' });
const fleet = (more: object, approve: unknown = GO) =>
  fleetOf([], {
    more: more as More,
    ...(approve !== 'none' && { approve: approve as FleetProcedure<Subject>['approve'] }),
  });
const procedure = (more: object) =>
  defineRunbook({
    name: 'check',
    version: '1',
    description: 'Checks.',
    resultKind: 'report',
    rules: { name: 'r', version: '1' },
    verdicts: { decider: 'none' },
    input: z.strictObject({}),
    procedure: writes({}),
    ...more,
  });

test.each([
  ['an object that takes anything', z.object({ go: z.boolean() })],
  ['no object', z.string()],
  ['what JSON Schema cannot tell', z.strictObject({ at: z.date() })],
  ['no schema at all', { safeParse: () => ({ success: true }) }],
])('a resume schema is a closed object that can be stored, and not %s', (_what, resume) => {
  expect(thrownBy(() => procedure({ resume })).message).toContain('`resume` must be a closed zod object');
});

test('a procedure that declares resume is one that can be resumed', () => {
  const resume = z.strictObject({ go: z.boolean() });
  expect(resumeSchemaOf(procedure({ resume }))).toBe(resume);
  expect(resumeSupported(procedure({}))).toBe(false);
});

test('an approval that has its own schema can still be refused by its answer', () => {
  const withReason = z.strictObject({ approved: z.boolean(), ticket: z.string() });
  expect(resumeSchemaOf(fleet({ resume: withReason }))).toBe(withReason);
  for (const shape of [{ go: z.boolean() }, { approved: z.boolean().optional() }, { approved: z.string() }]) {
    expect(thrownBy(() => fleet({ resume: z.strictObject(shape as never) })).message).toContain(
      '`resume` must be an object with a required boolean `approved`',
    );
  }
});

test.each([
  ['resume', () => fleet({ resume: z.strictObject({ approved: z.boolean() }) }, 'none')],
  ['answers', () => fleet({ answers: { self: true } }, 'none')],
  ['answers', () => procedure({ answers: { role: 'admin' } })],
])('%s is refused where nothing is asked', (option, define) => {
  expect(thrownBy(define).message).toMatch(new RegExp(`\`${option}\` must be left out`));
});

test.each([
  ['answers.within', { answers: { within: 5 } }],
  ['answers.withinMs', { answers: { withinMs: 59_999 } }],
  ['answers.withinMs', { answers: { withinMs: 30 * 86_400_000 + 1 } }],
  ['answers', { answers: [] }],
])('%s is refused by its name', (option, more) => {
  expect(thrownBy(() => fleet(more)).message).toContain(`\`${option}\` must be`);
});

test('what is declared is what holds, to the bounds', () => {
  const answers = { role: 'admin', self: true, withinMs: 60_000 } as const;
  expect(answerPolicyOf(fleet({ answers }))).toEqual(answers);
  expect(answerPolicyOf(fleet({ answers: { withinMs: 30 * 86_400_000 } })).withinMs).toBe(30 * 86_400_000);
});

test('an approval that is no function is refused at definition', () => {
  expect(thrownBy(() => fleet({}, 'Go?')).message).toContain('`fleet.approve` must be a function');
});

test.each([
  ['a text', 'Go?'],
  ['null', null],
  ['true', true],
  ['a promise of a question', Promise.resolve({ question: 'Go?' })],
  ['an object without a question', { details: {} }],
])('a sweep does not go on when its approval gives %s', (_what, given) => {
  const runbook = fleet({}, () => given);
  expect(() => askBeforeAssess(runbook, { subjects: 1 }, {})).toThrow(
    expect.objectContaining({ code: 'approve_failed', message: expect.stringContaining('it gave no question') }),
  );
});

test('details of an approval are redacted as everything else is', () => {
  const redact: RedactionPolicy = { keys: ['token'] };
  const approve = (_counts: unknown, input: object) => ({ question: 'Go?', details: { input } });
  expect(askBeforeAssess(fleet({ redact }, approve), { subjects: 1 }, { token: 'x', cluster: 'a' })).toEqual({
    question: 'Go?',
    details: { input: { token: 'REDACTED', cluster: 'a' } },
  });
});

test('a sweep in one process asks nobody, and says nothing of it', async () => {
  const asked: unknown[] = [];
  const subjects = [{ id: 'a', age: 1 }];
  const approve = (...given: unknown[]) => {
    asked.push(given);
    return GO();
  };
  const { envelope } = await runAnswered(fleetOf(subjects, { approve }));
  expect(asked).toEqual([]);
  expect(envelope).toEqual((await runAnswered(fleetOf(subjects))).envelope);
});
