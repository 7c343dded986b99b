/**
 * State that goes through JSON and has to come back as it was. JSON makes a Map an empty object, a Date a text and NaN null,
 * all in silence, and a chart would go on with that: so such state is refused. What a chart of ours cannot do without is
 * the empty slot that a failed branch leaves in its fan-out's results: JSON makes it null, so the slots are noted.
 */
import { cleanLine } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';

/** Where a slot is: keys and indexes from the outside in. */
export type SlotPath = readonly (string | number)[];

/** As deep as anything of ours goes; what contains itself is deeper. */
const MAX_DEPTH = 64;

/** State that JSON cannot carry. The message names the key and nothing of its value. */
export class NotJsonError extends TypeError {
  override readonly name = 'NotJsonError';
  readonly code = 'not_json';

  constructor(key: string) {
    super(`the state under '${cleanLine(key, 80)}' is no plain JSON`);
  }
}

/** The slots of arrays that are undefined. @throws NotJsonError for what JSON would change otherwise */
export function emptySlots(state: Readonly<Record<string, unknown>>): SlotPath[] {
  const slots: SlotPath[] = [];
  for (const [key, value] of Object.entries(state)) {
    if (value !== undefined && !findSlots(value, [key], slots)) throw new NotJsonError(key);
  }
  return slots;
}

/** Empties the slots again, in place. */
export function restoreEmptySlots(state: Record<string, unknown>, slots: readonly SlotPath[]): void {
  for (const path of slots) {
    const holder = path.slice(0, -1).reduce<unknown>((value, step) => (value as never)?.[step], state);
    const index = path.at(-1);
    if (Array.isArray(holder) && typeof index === 'number') holder[index] = undefined;
  }
}

/** Whether JSON carries a value but for the slots that it adds. A member that is undefined is as good as none. */
function findSlots(value: unknown, path: SlotPath, slots: SlotPath[]): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || path.length > MAX_DEPTH) return false;
  if (!Array.isArray(value)) {
    return (
      isPlainObject(value) &&
      Object.entries(value).every(([key, item]) => item === undefined || findSlots(item, [...path, key], slots))
    );
  }
  // Not `every`, which skips the holes of a sparse array.
  for (let index = 0; index < value.length; index++) {
    const item = value[index];
    if (item === undefined) slots.push([...path, index]);
    else if (!findSlots(item, [...path, index], slots)) return false;
  }
  return true;
}
