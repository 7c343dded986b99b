/**
 * The options that both doors share, checked one by one. Every refusal names the option and what it got.
 */
import { describe } from './describe.ts';
import { isPlainObject } from './plain-object.ts';
import type { RunbookPresentation, RunbookWalkOptions, SubjectRecordings } from './runbook.ts';
import { assertComposedOf, assertGates } from './tool.ts';

/** A declaration that was refused. */
export class RunbookDefinitionError extends TypeError {
  override readonly name = 'RunbookDefinitionError';
  readonly code = 'runbook_invalid';
}

/** Checks `presentation`. Shared with the seed's own door. */
export function checkPresentation(value: unknown, fail: Refusal): asserts value is RunbookPresentation | undefined {
  if (value !== undefined && value !== 'prose' && value !== 'panel')
    throw fail('presentation', "'prose' or 'panel'", value);
}

/** Checks `verdicts`: a named decider and a whole cap. */
export function checkVerdicts(verdicts: unknown, fail: Refusal): void {
  if (!isPlainObject(verdicts)) throw fail('verdicts', 'an object with a decider', verdicts);
  if (typeof verdicts.decider !== 'string' || verdicts.decider.trim() === '') {
    throw fail('verdicts.decider', 'a non-empty string', verdicts.decider);
  }
  checkWhole(verdicts.maxRows, 'verdicts.maxRows', fail);
}

const SUBJECT_RECORDINGS: readonly SubjectRecordings[] = ['none', 'problems', 'all'];

/** Checks `walk`: whole numbers, and a recording that is a boolean or a bag. */
export function checkWalk(walk: RunbookWalkOptions | undefined, fail: Refusal): void {
  if (walk === undefined) return;
  if (!isPlainObject(walk)) throw fail('walk', 'an object', walk);
  checkWhole(walk.cap, 'walk.cap', fail);
  const { recording } = walk as { recording?: unknown };
  if (recording === undefined || typeof recording === 'boolean') return;
  if (!isPlainObject(recording)) throw fail('walk.recording', 'true, false or an object', recording);
  if (recording.label !== undefined && typeof recording.label !== 'string') {
    throw fail('walk.recording.label', 'a string', recording.label);
  }
  checkWhole(recording.maxBytes, 'walk.recording.maxBytes', fail);
  checkWhole(recording.subjectMaxBytes, 'walk.recording.subjectMaxBytes', fail);
  if (recording.subjects !== undefined && !SUBJECT_RECORDINGS.includes(recording.subjects as SubjectRecordings)) {
    throw fail('walk.recording.subjects', "'none', 'problems' or 'all'", recording.subjects);
  }
}

/** Checks `composedOf` and `gates`. */
export function checkComposition(
  name: string,
  declaration: { readonly composedOf?: unknown; readonly gates?: unknown },
): void {
  try {
    assertComposedOf(name, declaration.composedOf);
    assertGates(name, declaration.gates);
  } catch (error) {
    throw new RunbookDefinitionError((error as Error).message, { cause: error });
  }
}

/** Checks a rule set's stamp. */
export function checkStamp(rules: unknown, fail: Refusal): void {
  if (!isPlainObject(rules)) throw fail('rules', 'an object with name and version', rules);
  for (const option of ['name', 'version'] as const) {
    const value = rules[option];
    if (typeof value !== 'string' || value.trim() === '') {
      throw fail('rules', `an object with a non-empty name and version; its ${option} may not be blank`, value);
    }
  }
}

/** Makes the error of one refused option. */
export type Refusal = (option: string, expected: string, got: unknown) => RunbookDefinitionError;

export function refusal(name: string): Refusal {
  return (option, expected, got) =>
    new RunbookDefinitionError(`runbook '${name}': \`${option}\` must be ${expected}, got ${describe(got)}`);
}

export function checkText(value: unknown, option: string, name: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw refusal(name)(option, 'a non-empty string', value);
  return value;
}

export function checkWhole(value: unknown, option: string, fail: Refusal): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 1)) {
    throw fail(option, 'a whole number of at least 1', value);
  }
}
