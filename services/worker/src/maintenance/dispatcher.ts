/**
 * The dispatcher (DESIGN 1): PostgreSQL rows become a bounded window of jobs. Sending what was never sent and sending
 * again what got lost are one loop over the same two columns.
 *
 * Invariant: a thing is marked as sent before it is sent. One that was marked and never arrived, or that the queue has
 * lost, is found by the reconciler and becomes due again; a job that was sent twice claims nothing the second time.
 */
import type { JobMessage, JobProducer } from '@muster/queue';
import {
  type Database,
  type DispatchItem,
  listDispatched,
  redispatch,
  startReadyCollects,
  takeDue,
  touchDispatched,
} from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const LOST_AFTER_MS = 5000;
const RECONCILE_LIMIT = 500;
const READY_COLLECTS = 100;

/** Sends what is due. Its name is what a hint hurries. */
export const DISPATCHER = 'dispatcher';

export function dispatcher(
  db: Database,
  producer: JobProducer,
  options: { readonly window: number; readonly digests: readonly string[]; readonly now: () => Date },
): MaintenanceService {
  const { window, digests, now } = options;
  return {
    name: DISPATCHER,
    intervalMs: 500,
    async runOnce() {
      let sent = 0;
      for (;;) {
        const due = await takeDue(db, { window, digests, now: now() });
        if (due.length === 0) return { sent };
        try {
          await producer.send(due.map((item) => ({ message: messageOf(item), priority: item.priority })));
        } catch (error) {
          // Nobody got them for certain: they are due again at once, under another number.
          await redispatch(db, due);
          throw error;
        }
        sent += due.length;
      }
    },
  };
}

/** Finds what was sent and got lost, and runs whose last settler died before it could move them on. */
export function reconciler(db: Database, producer: JobProducer, now: () => Date): MaintenanceService {
  return {
    name: 'reconciler',
    intervalMs: 2000,
    async runOnce() {
      const olderThan = new Date(now().getTime() - LOST_AFTER_MS);
      const sent = await listDispatched(db, { olderThan, limit: RECONCILE_LIMIT });
      const found = new Set((await producer.findLiving(sent.map(messageOf))).map(({ id }) => id));
      const { living = [], lost = [] } = Object.groupBy(sent, ({ id }) => (found.has(id) ? 'living' : 'lost'));
      await touchDispatched(db, living, now());
      const resent = await redispatch(db, lost);
      const collects = await startReadyCollects(db, { limit: READY_COLLECTS });
      return { resent, collects: collects.length };
    },
  };
}

function messageOf(item: DispatchItem): JobMessage {
  return { kind: item.kind, id: item.id, runId: item.runId, tenant: item.tenant, dispatchNo: item.dispatchNo };
}
