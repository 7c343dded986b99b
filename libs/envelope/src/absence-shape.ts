import { isPlainObject } from './plain-object.ts';

/** Strict recognition (contract "Coverage primitives"): `af_absent === true` and a `checked` list that is not empty. */
export function isAbsence(value: unknown): value is Record<string, unknown> {
  return isPlainObject(value) && value.af_absent === true && Array.isArray(value.checked) && value.checked.length > 0;
}
