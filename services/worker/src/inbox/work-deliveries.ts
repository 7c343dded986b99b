/**
 * From stored deliveries of a hook to the runs that they begin: one transaction for as many as are claimed.
 *
 * Invariants:
 * - what a delivery came to and the runs that it began are there together or not at all, so a delivery begins its runs once,
 *   whatever dies on the way;
 * - every alert ends in a run, or by name and reason in `declined` or `skipped`;
 * - a transaction begins a bounded number of runs: what is claimed beyond that is left for the next one.
 */

import { type Hook, type HookDelivery, type MappedDelivery, mapDelivery, readDelivery } from '@muster/hooks';
import { deliveryPlace } from '@muster/host';
import {
  type DeliveryClaim,
  type DeliveryEnd,
  type DeliveryRecord,
  type DeliveryResult,
  finishDeliveries,
  type KeptDelivery,
  openDeliveries,
} from '@muster/results';
import type { WorkerContext } from '../worker-context.ts';
import { type BegunRuns, RunStarter } from './run-starter.ts';

export type InboxContext = Pick<WorkerContext, 'db' | 'box' | 'catalog' | 'log' | 'now'>;

/** How long a tenant's quota is waited for before what does not fit is skipped by name. */
const QUOTA_PATIENCE_MS = 3_600_000;
/** Runs that one transaction begins, but for those of its last delivery. */
const RUNS_AT_ONCE = 100;

/**
 * Works on claimed deliveries of one hook, in the order of the claims, and gives how many of them it came to: at least one.
 * Claims that are not good any more count, too.
 *
 * @throws QuotaHeldError when the tenant has as many runs open as it may, and the delivery can wait
 */
export function workDeliveries(
  context: InboxContext,
  hook: Hook,
  claims: readonly DeliveryClaim[],
): Promise<{ readonly looked: number; readonly done: number }> {
  return context.db.transaction(async (tx) => {
    const starter = new RunStarter(tx, context.catalog, hook);
    await starter.lock();
    const opened = await openDeliveries(tx, claims);
    const ends: DeliveryEnd[] = [];
    let begun = 0;
    for (const { claim, delivery } of opened) {
      if (begun >= RUNS_AT_ONCE) break;
      const end = await workOne(context, starter, hook, delivery);
      begun += end.result.runs.length;
      ends.push({ claim, ...end });
    }
    await starter.countJoins();
    await finishDeliveries(tx, ends, context.now());
    const last = ends.at(-1)?.claim;
    const isAll = last === undefined || ends.length === opened.length;
    return { looked: isAll ? claims.length : claims.indexOf(last) + 1, done: ends.length };
  });
}

async function workOne(
  context: InboxContext,
  starter: RunStarter,
  hook: Hook,
  delivery: DeliveryRecord & KeptDelivery,
): Promise<Pick<DeliveryEnd, 'state' | 'result'>> {
  const now = context.now();
  const rawBody = context.box.open(delivery.body, deliveryPlace(delivery.id));
  // The instant that it came at: a later attempt reads the same.
  const reading = readDelivery(hook.format, { headers: delivery.headers, rawBody, now: delivery.receivedAt });
  const mapped = mapDelivery(hook, reading);
  const mayWait = now.getTime() - delivery.receivedAt.getTime() < QUOTA_PATIENCE_MS;
  const begun = await starter.begin({ delivery, runs: mapped.runs, mayWait, now });
  return { state: reading.kind === 'unreadable' ? 'unreadable' : 'done', result: resultOf(reading, mapped, begun) };
}

function resultOf(reading: HookDelivery, mapped: MappedDelivery, begun: BegunRuns): DeliveryResult {
  const declined = reading.alerts.filter((alert) => alert.status === 'declined');
  const told = new Set(declined.map((alert) => alert.fingerprint));
  const skipped = mapped.skipped.filter(
    ({ code, fingerprint }) =>
      code !== 'unreadable' && !(code === 'status_not_asked' && fingerprint !== null && told.has(fingerprint)),
  );
  const { code, detail } = reading.unreadable ?? {};
  return {
    kind: reading.kind,
    ...(reading.event !== undefined && { event: reading.event }),
    runs: begun.runs,
    collapsed: begun.collapsed,
    declined: declined.map(({ fingerprint, declinedReason = 'status_unknown' }) => ({
      fingerprint,
      reason: declinedReason,
    })),
    skipped: [...skipped, ...begun.skipped],
    ...(reading.truncated !== undefined && { truncated: reading.truncated }),
    doubts: reading.doubts,
    ...(code !== undefined && detail !== undefined && { failure: { code, reason: detail } }),
  };
}
