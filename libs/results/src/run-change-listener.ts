/** Hearing that a run has changed: its status, its phase, its history. */

import type { Database } from './database.ts';
import { type Listening, listen } from './listen.ts';
import { RUN_CHANNEL } from './runs.ts';

/** Who is told of what. */
export interface RunChangeHints {
  onChange(runId: string): void;
  /** After every (re)connection, the first one included: any run may have changed unheard. */
  onReconnected(): void;
  onError?(error: unknown): void;
}

/** Listens until stopped. One connection serves everybody who waits in a process. */
export function listenForRunChanges(db: Database, hints: RunChangeHints): Listening {
  return listen(db, [RUN_CHANNEL], {
    onNotice: (_channel, runId) => hints.onChange(runId),
    onConnected: () => hints.onReconnected(),
    onError: (error) => hints.onError?.(error),
  });
}
