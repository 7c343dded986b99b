/**
 * A connection that listens. A notice is a hint and may be lost with its connection; whoever acts on it looks besides.
 */

import pg from 'pg';
import type { Database } from './database.ts';
import { asResultsError } from './errors.ts';

export interface Listening {
  stop(): Promise<void>;
}

/** What is heard of. */
export interface Heard {
  onNotice(channel: string, payload: string): void;
  /** Called after every (re)connection, for what was missed. */
  onConnected(): void;
  onError?(error: unknown): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** Listens until stopped; connects again by itself, with growing pauses. Never throws: trouble goes to `onError`. */
export function listen(db: Database, channels: readonly string[], heard: Heard): Listening {
  let stopped = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let pauseMs = FIRST_RETRY_MS;

  const connect = async (): Promise<void> => {
    const next = new pg.Client(db.connection);
    client = next;
    let connected = false;
    let over = false;
    const lost = (error?: unknown): void => {
      if (over || stopped) return;
      over = true;
      if (error !== undefined) heard.onError?.(asResultsError(error, db.address));
      next.end().catch(() => {});
      retry = setTimeout(() => void connect(), pauseMs);
      pauseMs = Math.min(LAST_RETRY_MS, pauseMs * 2);
    };
    next.on('error', lost);
    // The end of a connection that never stood comes before the error that says why.
    next.on('end', () => connected && lost());
    next.on('notification', ({ channel, payload = '' }) => heard.onNotice(channel, payload));
    try {
      await next.connect();
      await next.query(channels.map((channel) => `listen ${channel}`).join('; '));
      connected = true;
      pauseMs = FIRST_RETRY_MS;
      if (!stopped) heard.onConnected();
    } catch (error) {
      lost(error);
    }
  };
  const ready = connect();

  return {
    async stop() {
      stopped = true;
      clearTimeout(retry);
      await ready;
      await client?.end().catch(() => {});
    },
  };
}
