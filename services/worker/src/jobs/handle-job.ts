import { HANDED_BACK, type JobHandler, type JobOutcome } from '@muster/queue';
import type { ProgressMarker } from '../progress-marker.ts';
import { isOutage } from '../run-tools.ts';
import { TurnGate } from '../turn-gate.ts';
import type { WorkerContext } from '../worker-context.ts';
import { assessChunk, isSuspect } from './assess-chunk.ts';
import { collectRun } from './collect-run.ts';
import { endWithoutDefinition } from './end-without-definition.ts';
import { openRun } from './open-run.ts';
import { planRun } from './plan-run.ts';
import { storeAway } from './run-attempt.ts';
import { runProcedureJob } from './run-procedure.ts';

/** Makes the handler of every job of this worker: look the run up, do the step, say what it came to. */
export function jobHandler(context: WorkerContext, progress: ProgressMarker): JobHandler {
  const gate = new TurnGate();
  return async (message, { signal }) => {
    const log = context.log.child({
      run: message.runId,
      tenant: message.tenant,
      job: message.kind,
      attempt: message.dispatchNo,
    });
    const startedAt = performance.now();
    const step = async () => {
      // The worker stops, and nothing was claimed for this job: the job itself goes to another.
      if (signal.aborted) return HANDED_BACK;
      const opened = await openRun(context, message);
      if (opened.kind === 'not_now') return opened.outcome;
      const own = { ...context, log };
      if (opened.kind === 'end_without') return await endWithoutDefinition(own, message, opened.stopReason);
      const { runbook } = opened.definition;
      if (runbook.form === 'procedure') return await runProcedureJob(own, runbook, message, signal);
      if (message.kind === 'plan') return await planRun(own, runbook, message, signal);
      if (message.kind === 'assess') return await assessChunk(own, runbook, message, signal, progress);
      return await collectRun(own, runbook, message, signal);
    };
    const outcome = await withoutOutage(async () => {
      const alone = message.kind === 'assess' && (await isSuspect(context, message.id));
      return alone ? await gate.alone(step) : await gate.shared(step);
    });
    const ms = Math.round(performance.now() - startedAt);
    const said = {
      ...('reason' in outcome && { reason: outcome.reason }),
      ...(message.kind === 'assess' && { chunk: message.id }),
      ms,
    };
    log[outcome.kind === 'retry' ? 'warn' : 'debug'](said, `${message.kind} ${outcome.kind}`);
    return outcome;
  };
}

/** A store that is away is no surprise: the job goes later. */
async function withoutOutage(work: () => Promise<JobOutcome>): Promise<JobOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!isOutage(error)) throw error;
    return storeAway(error);
  }
}
