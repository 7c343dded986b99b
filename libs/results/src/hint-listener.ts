/** Hearing that something may be due, that a delivery came, or that a run is to stop. Whoever acts on it polls besides. */

import type { Database } from './database.ts';
import { type Listening, listen } from './listen.ts';

/** Who is told of what. */
export interface Hints {
  onDue(): void;
  /** A delivery of a webhook was kept. */
  onDelivery?(): void;
  /** Without an id any run may be meant. */
  onStop?(runId?: string): void;
  onError?(error: unknown): void;
}

/** Listens until stopped. After every (re)connection all are told once, for what was missed. */
export function listenForHints(db: Database, hints: Hints): Listening {
  return listen(db, ['muster_dispatch', 'muster_delivery', 'muster_stop'], {
    onNotice(channel, payload) {
      if (channel === 'muster_stop') hints.onStop?.(payload);
      else if (channel === 'muster_delivery') hints.onDelivery?.();
      else hints.onDue();
    },
    onConnected() {
      hints.onDue();
      hints.onDelivery?.();
      hints.onStop?.();
    },
    onError: (error) => hints.onError?.(error),
  });
}
