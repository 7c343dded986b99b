import type { ProgressToken, ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import type { RunRecord } from '@muster/results';

/** Told of a run that is being waited for, each time that it has moved. */
export type OnProgress = (run: RunRecord) => void;

/**
 * Tells a waiting client how far a run is. Without a token the client did not ask for it. What MCP calls progress must
 * rise with each notification: a run's revision does, and the message says what it means.
 */
export function reportProgress(
  progressToken: ProgressToken | undefined,
  send: (notification: ServerNotification) => Promise<void>,
): OnProgress | undefined {
  if (progressToken === undefined) return undefined;
  let told = -1;
  return (run) => {
    if (run.revision <= told) return;
    told = run.revision;
    const share = run.phase === 'assess' ? `, ${run.progressMark} % of ${run.subjectsTotal ?? 0} subjects` : '';
    const message = `${run.status}: ${run.phase}${share}`;
    // A client that has gone away is noticed by its connection.
    send({ method: 'notifications/progress', params: { progressToken, progress: run.revision, message } }).catch(
      () => undefined,
    );
  };
}
