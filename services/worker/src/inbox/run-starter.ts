/**
 * The runs of a hook's deliveries: each joins the run of its subject, or is accepted.
 *
 * Invariants: an input is checked against the runbook's schema before anything of it is accepted; one that does not fit hides
 * no other; who may join runs holds the hook's lock, so two deliveries at once never begin two for one subject.
 */

import type { Hook, MappedRun } from '@muster/hooks';
import { composeAcceptance, type Definition, DocumentFault, type LoadedCatalog } from '@muster/host';
import {
  acceptRunIn,
  beginCollapse,
  countJoins,
  type DeliveryRecord,
  type DeliveryResult,
  type JoinableRun,
  joins,
  lockHook,
  newestRun,
  RUN_PRIORITIES,
  type RunAcceptance,
  type RunJoin,
  type RunPriority,
  type Tx,
} from '@muster/results';

/** A delivery's runs. */
export interface RunsToBegin {
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

/** Begins runs of one hook in one transaction. */
export class RunStarter {
  readonly #tx: Tx;
  readonly #hook: Hook;
  readonly #definition: Definition;
  /** The newest run of each key that was looked for. */
  readonly #newest = new Map<string, JoinableRun | undefined>();
  readonly #joined: RunJoin[] = [];

  constructor(tx: Tx, catalog: LoadedCatalog, hook: Hook) {
    this.#tx = tx;
    this.#hook = hook;
    // The catalog was checked: the hook's runbook is there.
    this.#definition = catalog.byName.get(hook.runbook)!;
  }

  /** Makes others who may join runs of this hook wait. Before anything else. */
  async lock(): Promise<void> {
    if (this.#hook.collapse !== undefined)
      await lockHook(this.#tx, { tenant: this.#hook.tenant, hook: this.#hook.name });
  }

  /** Begins the runs of a delivery, or joins those that are there. @throws QuotaHeldError */
  async begin(asked: RunsToBegin): Promise<BegunRuns> {
    const begun: BegunRuns = { runs: [], collapsed: [], skipped: [] };
    for (const run of asked.runs) {
      const acceptance = await this.#compose(asked, run);
      if (acceptance instanceof DocumentFault) skip(begun, run, acceptance.code, acceptance.message);
      else if (!(await this.#join(asked.delivery, run, begun))) await this.#accept(asked, run, acceptance, begun);
    }
    return begun;
  }

  /** Writes how much joined runs. After everything else. */
  async countJoins(): Promise<void> {
    await countJoins(this.#tx, this.#joined);
  }

  async #join({ receivedAt, replayOf }: DeliveryRecord, run: MappedRun, begun: BegunRuns): Promise<boolean> {
    const { collapse } = this.#hook;
    const { collapseKey: key } = run;
    // A replay is asked for because the run that is there will not do.
    if (collapse === undefined || key === undefined || replayOf !== null) return false;
    if (!this.#newest.has(key)) this.#newest.set(key, await newestRun(this.#tx, this.#placeOf(key)));
    const newest = this.#newest.get(key);
    if (newest === undefined || !joins(newest, receivedAt, collapse.withinMs)) return false;
    this.#joined.push({ runId: newest.runId, at: receivedAt, count: weightOf(run) });
    begun.collapsed.push({ run_id: newest.runId, subject: run.subjectKey, alerts: weightOf(run) });
    return true;
  }

  async #accept(asked: RunsToBegin, run: MappedRun, acceptance: RunAcceptance, begun: BegunRuns): Promise<void> {
    const outcome = await acceptRunIn(this.#tx, acceptance);
    switch (outcome.outcome) {
      case 'accepted':
        await this.#note(outcome.run.id, run, asked.delivery.receivedAt);
        begun.runs.push({ run_id: outcome.run.id, subject: run.subjectKey, alerts: weightOf(run) });
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

  /** Lets later ones join. */
  async #note(runId: string, run: MappedRun, at: Date): Promise<void> {
    const { collapseKey: key } = run;
    if (key === undefined) return;
    await beginCollapse(this.#tx, this.#placeOf(key), { runId, at, count: weightOf(run) });
    const before = this.#newest.get(key);
    if (before === undefined || before.firstAt <= at) this.#newest.set(key, { runId, firstAt: at, isOver: false });
  }

  async #compose({ delivery, now }: RunsToBegin, run: MappedRun): Promise<RunAcceptance | DocumentFault> {
    const { name, priority, tenant } = this.#hook;
    try {
      return await composeAcceptance({
        tenant,
        session: { keyId: null, name: `hook:${name}` },
        definition: this.#definition,
        // A hook's input is an object by its declaration.
        input: run.input as Readonly<Record<string, unknown>>,
        priority: RUN_PRIORITIES[priority] as RunPriority,
        deliveryId: delivery.id,
        acceptedAt: now,
      });
    } catch (error) {
      if (error instanceof DocumentFault) return error;
      throw error;
    }
  }

  #placeOf(key: string) {
    return { tenant: this.#hook.tenant, hook: this.#hook.name, key };
  }
}

/** How many alerts a run stands for; an event is one. */
function weightOf(run: MappedRun): number {
  return Math.max(1, run.alerts.length);
}

function skip(begun: BegunRuns, run: MappedRun, code: string, reason: string): void {
  const fingerprints = run.alerts.length === 0 ? [null] : run.alerts;
  for (const fingerprint of fingerprints) begun.skipped.push({ fingerprint, code, reason });
}
