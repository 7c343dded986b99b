/**
 * The inbox: deliveries of webhooks become runs.
 *
 * Invariants:
 * - an attempt is counted before it is made: what takes its process with it, or fails whatever is tried, is refused by name
 *   after some attempts, and waits behind the others until then;
 * - a delivery of a hook that this worker does not have is left for one that has it.
 */
import type { Hook } from '@muster/hooks';
import {
  claimDeliveries,
  type DeliveryClaim,
  type DeliveryResult,
  finishDelivery,
  postponeDelivery,
  refuseUnknownHooks,
  releaseDeliveries,
} from '@muster/results';
import { QuotaHeldError } from '../inbox/begin-runs.ts';
import { type InboxContext, workDelivery } from '../inbox/work-delivery.ts';
import type { MaintenanceService } from './maintenance-service.ts';

/** Works on deliveries. Its name is what a hint hurries. */
export const INBOX = 'inbox';

const CLAIMED_PER_HOOK = 16;
/** A claim that nobody finished, because its process died, is good again after this time. */
const LEASE_MS = 15_000;
/** What is claimed and not begun by then is given back, long before its claim is good again. */
const ROUND_MS = 5_000;
const MAX_ATTEMPTS = 6;
const FIRST_WAIT_MS = 1_000;
const QUOTA_WAIT_MS = 15_000;
const REFUSED_AT_ONCE = 100;

/** @param goOn asks for another round at once: there may be more */
export function inbox(context: InboxContext, goOn: () => void): MaintenanceService {
  const hooks = context.catalog.hooks ?? new Map<string, Hook>();
  const places = [...hooks.values()].map(({ tenant, name }) => ({ tenant, hook: name }));
  return {
    name: INBOX,
    intervalMs: 2000,
    async runOnce() {
      const counts = { done: 0, failed: 0 };
      if (places.length === 0) return counts;
      const claims = await claimDeliveries(context.db, {
        hooks: places,
        limitPerHook: CLAIMED_PER_HOOK,
        leaseMs: LEASE_MS,
      });
      const until = performance.now() + ROUND_MS;
      while (claims.length > 0 && performance.now() < until) {
        const claim = claims.shift()!;
        const done = await attempt(context, hooks.get(claim.hook)!, claim);
        counts[done ? 'done' : 'failed']++;
      }
      if (claims.length > 0) await releaseDeliveries(context.db, claims);
      if (counts.done > 0 || claims.length > 0) goOn();
      return counts;
    },
  };
}

/** Refuses deliveries that are due for so long that no worker can have their hook any more. */
export function hookWithdrawer(
  { db, catalog, now }: Pick<InboxContext, 'db' | 'catalog' | 'now'>,
  patienceMs: number,
): MaintenanceService {
  const hooks = [...(catalog.hooks?.values() ?? [])].map(({ tenant, name }) => ({ tenant, hook: name }));
  const result = failureOf('hook_withdrawn', 'no worker has this hook any more');
  return {
    name: 'hook-withdrawer',
    intervalMs: 30_000,
    async runOnce() {
      return {
        refused: await refuseUnknownHooks(db, { hooks, patienceMs, result, now: now(), limit: REFUSED_AT_ONCE }),
      };
    },
  };
}

async function attempt(context: InboxContext, hook: Hook, claim: DeliveryClaim): Promise<boolean> {
  const { db, log } = context;
  if (claim.attempts > MAX_ATTEMPTS) {
    return await refuse(context, claim, 'worker_died', 'each process that worked on it ended before it was done');
  }
  try {
    return await workDelivery(context, hook, claim);
  } catch (error) {
    if (error instanceof QuotaHeldError) {
      await postponeDelivery(db, claim, { waitMs: QUOTA_WAIT_MS, counts: false });
      return false;
    }
    const code = codeOf(error);
    log.warn({ hook: hook.name, delivery: claim.id, attempt: claim.attempts, code }, 'a delivery failed');
    if (claim.attempts >= MAX_ATTEMPTS) return await refuse(context, claim, code, 'nothing could be made of it');
    await postponeDelivery(db, claim, { waitMs: FIRST_WAIT_MS * 2 ** claim.attempts, counts: true });
    return false;
  }
}

async function refuse({ db, now }: InboxContext, claim: DeliveryClaim, code: string, reason: string): Promise<boolean> {
  return await finishDelivery(db, claim, { state: 'refused', result: failureOf(code, reason), now: now() });
}

function failureOf(code: string, reason: string): DeliveryResult {
  return { runs: [], collapsed: [], declined: [], skipped: [], doubts: [], failure: { code, reason } };
}

/** Codes of our own errors; the words of others may quote a payload. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : 'processing_failed';
}
