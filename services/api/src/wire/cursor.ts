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

/** An opaque cursor over a list that is ordered by two whole numbers. */
export function encodePlaces(list: string, places: readonly [number, number]): string {
  return Buffer.from(`${list}:${places.join('.')}`).toString('base64url');
}

/** @throws Problem `unknown_cursor` */
export function decodePlaces(list: string, cursor: string): [number, number] {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const places = (/^[a-z]+:(\d{1,15})\.(\d{1,15})$/.exec(text)?.slice(1).map(Number) ?? []) as [number, number];
  if (places.length !== 2 || encodePlaces(list, places) !== cursor) {
    throw new Problem('unknown_cursor', 'the cursor names nothing in this list');
  }
  return places;
}
