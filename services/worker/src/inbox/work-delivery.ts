/**
 * From a stored delivery to the runs that it begins: one transaction.
 *
 * Invariants:
 * - what a delivery came to and the runs that it began are there together or not at all, so a delivery begins its runs once,
 *   whatever dies on the way;
 * - every alert ends in a run, or by name and reason in `declined` or `skipped`.
 */

import { type Hook, type HookDelivery, type MappedDelivery, mapDelivery, readDelivery } from '@muster/hooks';
import { deliveryPlace } from '@muster/host';
import { type DeliveryClaim, type DeliveryResult, finishDelivery, openDelivery } from '@muster/results';
import type { WorkerContext } from '../worker-context.ts';
import { type BegunRuns, beginRuns } from './begin-runs.ts';

export type InboxContext = Pick<WorkerContext, 'db' | 'box' | 'catalog' | 'log' | 'now'>;

/** How long a tenant's quota is waited for before what does not fit is skipped by name. */
const QUOTA_PATIENCE_MS = 3_600_000;

/**
 * Works on a claimed delivery. False when somebody else did it.
 *
 * @throws QuotaHeldError when the tenant has as many runs open as it may, and the delivery can wait
 */
export function workDelivery(context: InboxContext, hook: Hook, claim: DeliveryClaim): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    const delivery = await openDelivery(tx, claim);
    if (delivery === undefined) return false;
    const now = context.now();
    const rawBody = context.box.open(delivery.body, deliveryPlace(delivery.id));
    // The instant that it came at: a later attempt, or a replay of it, reads the same.
    const reading = readDelivery(hook.format, { headers: delivery.headers, rawBody, now: delivery.receivedAt });
    const mapped = mapDelivery(hook, reading);
    const begun = await beginRuns(tx, context.catalog, {
      hook,
      delivery,
      runs: mapped.runs,
      mayWait: now.getTime() - delivery.receivedAt.getTime() < QUOTA_PATIENCE_MS,
      now,
    });
    const state = reading.kind === 'unreadable' ? 'unreadable' : 'done';
    return await finishDelivery(tx, claim, { state, result: resultOf(reading, mapped, begun), now });
  });
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
