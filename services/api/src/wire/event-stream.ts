/** A run's history as server-sent events. The id of an event is its place: revision and event id, joined by a dot. */
import { Problem } from '../problems.ts';
import type { HistoryEntry } from './history.ts';

/** What a client waits before it connects again. */
const RETRY_MS = 2_000;
const PLACE = /^(\d{1,9})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Reads `Last-Event-ID`; empty is none. @throws Problem `unknown_cursor` */
export function readEventPlace(id = ''): { afterRevision?: number; afterEventId?: string } {
  if (id === '') return {};
  const [, revision, eventId] = PLACE.exec(id) ?? [];
  if (revision !== undefined && eventId !== undefined) {
    return { afterRevision: Number(revision), afterEventId: eventId };
  }
  throw new Problem('unknown_cursor', 'Last-Event-ID names no event of this run');
}

/** The text of a stream. An empty page becomes a comment, so that nobody on the way takes the connection for dead. */
export async function* serverSentEvents(pages: AsyncIterable<readonly HistoryEntry[]>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  for await (const entries of pages) {
    yield entries.length === 0 ? ': nothing new\n\n' : entries.map(eventText).join('');
  }
}

function eventText(entry: HistoryEntry): string {
  return `id: ${entry.revision}.${entry.event_id}\ndata: ${JSON.stringify(entry)}\n\n`;
}
