import { Problem } from '../problems.ts';

/** An opaque cursor over a list that is ordered by a whole number. */
export function encodeCursor(list: string, place: number): string {
  return Buffer.from(`${list}:${place}`).toString('base64url');
}

/** @throws Problem `unknown_cursor` */
export function decodeCursor(list: string, cursor: string): number {
  const [, place] = /^[a-z]+:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (place === undefined || encodeCursor(list, Number(place)) !== cursor) {
    throw new Problem('unknown_cursor', 'the cursor names nothing in this list');
  }
  return Number(place);
}
