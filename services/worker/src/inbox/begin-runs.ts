/**
 * The runs of one delivery: each joins the run of its subject, or is accepted.
 *
 * Invariant: an input is checked against the runbook's schema before anything of it is accepted; one that does not fit hides
 * no other.
 */

import type { Hook, MappedRun } from '@muster/hooks';
import { composeAcceptance, type Definition, DocumentFault, type LoadedCatalog } from '@muster/host';
import {
  acceptRunIn,
  beginCollapse,
  type DeliveryRecord,
  type DeliveryResult,
  joinRun,
  lockHook,
  RUN_PRIORITIES,
  type RunAcceptance,
  type RunPriority,
  type Tx,
} from '@muster/results';

/** What a delivery's runs are begun from. */
export interface RunsToBegin {
  readonly hook: Hook;
  readonly delivery: DeliveryRecord;
  readonly runs: readonly MappedRun[];
  /** Whether the delivery can wait for a quota that is used up; else what does not fit is skipped. */
  readonly mayWait: boolean;
  readonly now: Date;
}

/** What became of them. */
export interface BegunRuns {
  readonly runs: DeliveryResult['runs'][number][];
  readonly collapsed: DeliveryResult['collapsed'][number][];
  readonly skipped: DeliveryResult['skipped'][number][];
}

/** The tenant has as many runs open as it may. The delivery is worked on again later, as a whole. */
export class QuotaHeldError extends Error {
  override readonly name = 'QuotaHeldError';
  readonly code = 'quota_exceeded';
}

/** Begins the runs of a delivery, or joins those that are there. @throws QuotaHeldError */
export async function beginRuns(tx: Tx, catalog: LoadedCatalog, asked: RunsToBegin): Promise<BegunRuns> {
  const { hook, runs } = asked;
  const begun: BegunRuns = { runs: [], collapsed: [], skipped: [] };
  const definition = catalog.byName.get(hook.runbook)!;
  const composed = await Promise.all(
    runs.map(async (run) => ({ run, acceptance: await compose(asked, definition, run) })),
  );
  if (hook.collapse !== undefined && runs.length > 0) await lockHook(tx, { tenant: hook.tenant, hook: hook.name });
  for (const { run, acceptance } of composed) {
    if (acceptance instanceof DocumentFault) skip(begun, run, acceptance.code, acceptance.message);
    else await joinOrBegin(tx, asked, run, acceptance, begun);
  }
  return begun;
}

async function joinOrBegin(
  tx: Tx,
  asked: RunsToBegin,
  run: MappedRun,
  acceptance: RunAcceptance,
  begun: BegunRuns,
): Promise<void> {
  const { hook, delivery } = asked;
  const { collapse } = hook;
  const alerts = Math.max(1, run.alerts.length);
  const place = { tenant: hook.tenant, hook: hook.name, key: run.collapseKey ?? '' };
  const at = delivery.receivedAt;
  // A replay is asked for because the run that is there will not do.
  if (collapse !== undefined && delivery.replayOf === null) {
    const joined = await joinRun(tx, place, { at, withinMs: collapse.withinMs, alerts });
    if (joined !== undefined) {
      begun.collapsed.push({ run_id: joined, subject: run.subjectKey, alerts });
      return;
    }
  }
  const outcome = await acceptRunIn(tx, acceptance);
  switch (outcome.outcome) {
    case 'accepted':
      if (collapse !== undefined) await beginCollapse(tx, place, { runId: outcome.run.id, at, alerts });
      begun.runs.push({ run_id: outcome.run.id, subject: run.subjectKey, alerts });
      return;
    case 'quota_exceeded': {
      const why = `the tenant's quota ${outcome.quota} of ${outcome.limit} is used up`;
      if (asked.mayWait) throw new QuotaHeldError(why);
      return skip(begun, run, 'quota_exceeded', why);
    }
    case 'missing_refs':
      return skip(begun, run, 'unknown_artifact', 'the input names an upload, and a hook has none');
    default:
      throw new Error(`a run of a hook was not accepted: ${outcome.outcome}`);
  }
}

async function compose(
  { hook, delivery, now }: RunsToBegin,
  definition: Definition,
  run: MappedRun,
): Promise<RunAcceptance | DocumentFault> {
  try {
    return await composeAcceptance({
      tenant: hook.tenant,
      session: { keyId: null, name: `hook:${hook.name}` },
      definition,
      // A hook's input is an object by its declaration.
      input: run.input as Readonly<Record<string, unknown>>,
      priority: RUN_PRIORITIES[hook.priority] as RunPriority,
      deliveryId: delivery.id,
      acceptedAt: now,
    });
  } catch (error) {
    if (error instanceof DocumentFault) return error;
    throw error;
  }
}

function skip(begun: BegunRuns, run: MappedRun, code: string, reason: string): void {
  const fingerprints = run.alerts.length === 0 ? [null] : run.alerts;
  for (const fingerprint of fingerprints) begun.skipped.push({ fingerprint, code, reason });
}
