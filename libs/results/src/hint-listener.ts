/**
 * Hearing that something may be due, or that a run is to stop. A notice is a hint and may be lost with its connection;
 * whoever acts on it polls besides. After every (re)connection the listener calls once, for what was missed.
 */

import pg from 'pg';
import type { Database } from './database.ts';
import { asResultsError } from './errors.ts';

export interface HintListener {
  stop(): Promise<void>;
}

/** Who is told of what. */
export interface Hints {
  onDue(): void;
  /** Without an id any run may be meant. */
  onStop?(runId?: string): void;
  onError?(error: unknown): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** Listens until stopped; connects again by itself, with growing pauses. Never throws: trouble goes to `onError`. */
export function listenForHints(db: Database, options: Hints): HintListener {
  let stopped = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let pauseMs = FIRST_RETRY_MS;

  const connect = async (): Promise<void> => {
    const next = new pg.Client(db.connection);
    client = next;
    let over = false;
    const lost = (error?: unknown): void => {
      if (over || stopped) return;
      over = true;
      if (error !== undefined) options.onError?.(asResultsError(error, db.address));
      next.end().catch(() => {});
      retry = setTimeout(() => void connect(), pauseMs);
      pauseMs = Math.min(LAST_RETRY_MS, pauseMs * 2);
    };
    next.on('error', lost);
    next.on('end', () => lost());
    next.on('notification', ({ channel, payload }) => {
      if (channel === 'muster_stop') options.onStop?.(payload);
      else options.onDue();
    });
    try {
      await next.connect();
      await next.query('listen muster_dispatch; listen muster_stop');
      pauseMs = FIRST_RETRY_MS;
      if (stopped) return;
      options.onDue();
      options.onStop?.();
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
