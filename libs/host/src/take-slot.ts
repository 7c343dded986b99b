/**
 * Carries out one slot of a schedule: what is decided, the run that comes of it and the row that tells of both are one
 * transaction. Workers do it for slots that are due, the API for those that somebody asks for by hand.
 *
 * Invariants:
 * - the caller holds the schedule's lock, so a slot is decided once and at most one slot waits;
 * - a run of a slot has a key of its own in the schedule's session: the database refuses a second one, whoever errs.
 */
import {
  type AcceptOutcome,
  acceptRunIn,
  type DueSlot,
  endWaitingTick,
  insertTick,
  openRunsOf,
  type RunAcceptance,
  requestCancel,
  type ScheduleRecord,
  type TickEnd,
  type TickRecord,
  type TickTrigger,
  type Tx,
  waitingTick,
} from '@muster/results';
import { decideTick, type TickSituation } from '@muster/schedules';
import { composeAcceptance } from './compose-acceptance.ts';
import { DocumentFault } from './input-document.ts';
import type { LoadedCatalog } from './load-catalog.ts';

/** What slots are carried out with. */
export interface SlotTaker {
  readonly catalog: LoadedCatalog;
  readonly now: Date;
}

/** A slot to be carried out. */
export interface SlotToTake extends DueSlot {
  readonly trigger: TickTrigger;
  readonly askedBy?: string | undefined;
  /** A later slot of the schedule is due already. */
  readonly laterIsDue: boolean;
}

/** Carries out a slot. Undefined when it has a row already. */
export async function takeSlot(
  tx: Tx,
  schedule: ScheduleRecord,
  slot: SlotToTake,
  taker: SlotTaker,
): Promise<TickRecord | undefined> {
  return await insertTick(tx, schedule, { ...slot, end: await endOf(tx, schedule, slot, taker) }, taker.now);
}

/** Starts the slot that waits, when no run of the schedule is open any more. */
export async function takeWaitingSlot(
  tx: Tx,
  schedule: ScheduleRecord,
  taker: SlotTaker,
): Promise<TickEnd['state'] | undefined> {
  const waiting = await waitingTick(tx, schedule.id);
  if (waiting === undefined || (await openRunsOf(tx, schedule.id)).length > 0) return undefined;
  const end = await startRun(tx, schedule, waiting.slot, taker);
  await endWaitingTick(tx, waiting, end, taker.now);
  return end.state;
}

async function endOf(tx: Tx, schedule: ScheduleRecord, slot: SlotToTake, taker: SlotTaker): Promise<TickEnd> {
  const { overlap, catchUpMs } = schedule;
  const idle: TickSituation = { ...slot, now: taker.now, overlap, catchUpMs, openRuns: 0, oneWaits: false };
  const alone = decideTick(idle);
  // Whatever runs, and there may be a thousand of these.
  if (alone.kind === 'missed') return { state: 'missed', code: alone.code, reason: alone.reason };
  const openRuns = await openRunsOf(tx, schedule.id);
  const waiting = await waitingTick(tx, schedule.id);
  const decision = decideTick({ ...idle, openRuns: openRuns.length, oneWaits: waiting !== undefined });
  switch (decision.kind) {
    case 'start':
      return await startRun(tx, schedule, slot.slot, taker);
    case 'queue':
      if (decision.replacesWaiting && waiting !== undefined) {
        const reason = 'a later slot took its place while it waited';
        await endWaitingTick(tx, waiting, { state: 'skipped', code: 'replaced', reason }, taker.now);
      }
      if (decision.cancelsOpenRuns) await cancelRuns(tx, schedule, openRuns, taker.now);
      return { state: 'queued', code: 'waits', reason: 'it waits for the end of the run before it' };
    default:
      return { state: decision.kind, code: decision.code, reason: decision.reason };
  }
}

async function cancelRuns(tx: Tx, { tenant, name }: ScheduleRecord, runIds: readonly string[], now: Date) {
  for (const runId of runIds) {
    await requestCancel(tx, { tenant, runId, reason: `the next slot of the schedule ${name} is due`, now });
  }
}

async function startRun(tx: Tx, schedule: ScheduleRecord, slot: Date, taker: SlotTaker): Promise<TickEnd> {
  const composed = await composeRun(schedule, slot, taker);
  if ('state' in composed) return composed;
  return readOutcome(await acceptRunIn(tx, composed));
}

async function composeRun(
  schedule: ScheduleRecord,
  slot: Date,
  { catalog, now }: SlotTaker,
): Promise<RunAcceptance | TickEnd> {
  const { id, tenant, name, runbookName, runbookVersion, inputDigest } = schedule;
  const definition = catalog.byName.get(runbookName);
  if (definition === undefined) return refused('runbook_not_offered', `no runbook ${runbookName} is offered`);
  const { version } = definition.runbook;
  if (runbookVersion !== null && runbookVersion !== version) {
    const reason = `${runbookName} is offered in version ${version}, and the schedule stays with ${runbookVersion}`;
    return refused('version_not_offered', reason);
  }
  try {
    return await composeAcceptance({
      tenant,
      session: { id: schedule.sessionId },
      definition,
      input: schedule.input,
      priority: schedule.priority,
      scopeKey: `schedule:${name}`,
      idempotency: { key: `schedule/${id}/${slot.toISOString()}`, digest: inputDigest },
      acceptedAt: now,
    });
  } catch (error) {
    // A schema of the runbook's own may do anything; what it says may hold the input.
    const reason = error instanceof DocumentFault ? error.message : 'the input could not be checked';
    return refused('input_invalid', reason);
  }
}

function readOutcome(outcome: AcceptOutcome): TickEnd {
  switch (outcome.outcome) {
    case 'accepted':
    case 'replayed':
      return { state: 'started', runId: outcome.run.id };
    case 'quota_exceeded':
      return refused('quota_exceeded', `the tenant's quota ${outcome.quota} of ${outcome.limit} is used up`);
    case 'missing_refs':
      return refused('input_invalid', 'the input names an upload, and schedules have none');
    default:
      throw new Error(`a slot cannot come to ${outcome.outcome}`);
  }
}

function refused(code: string, reason: string): TickEnd {
  return { state: 'refused', code, reason };
}
