/**
 * The inbox: deliveries of webhooks become runs.
 *
 * Invariants:
 * - an attempt is counted before it is made: what takes its process with it, or fails whatever is tried, is refused by name
 *   after some attempts, and waits behind the others until then;
 * - deliveries of a hook are worked on together; when one of them fails, each by itself, so that it fails alone;
 * - a delivery of a hook that this worker does not have is left for one that has it.
 */
import type { Hook } from '@muster/hooks';
import {
  claimDeliveries,
  type DeliveryClaim,
  type DeliveryResult,
  finishDeliveries,
  postponeDelivery,
  refuseUnknownHooks,
  releaseDeliveries,
} from '@muster/results';
import { QuotaHeldError } from '../inbox/run-starter.ts';
import { type InboxContext, workDeliveries } from '../inbox/work-deliveries.ts';
import type { MaintenanceService } from './maintenance-service.ts';

/** Works on deliveries. Its name is what a hint hurries. */
export const INBOX = 'inbox';

const CLAIMED_PER_HOOK = 64;
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
      const left: DeliveryClaim[] = [];
      for (const [name, ofHook] of Map.groupBy(claims, (claim) => claim.hook)) {
        const hook = hooks.get(name)!;
        // What died or failed before goes alone.
        const { fresh = [], tried = [] } = Object.groupBy(ofHook, ({ attempts }) =>
          attempts === 1 ? 'fresh' : 'tried',
        );
        left.push(...(await workOff(context, hook, { claims: fresh, together: true, until }, counts)));
        left.push(...(await workOff(context, hook, { claims: tried, together: false, until }, counts)));
      }
      if (left.length > 0) await releaseDeliveries(context.db, left);
      if (counts.done > 0 || left.length > 0) goOn();
      return counts;
    },
  };
}

/** Works on claims until they are done or the time is over. Gives those that nothing was begun of. */
async function workOff(
  context: InboxContext,
  hook: Hook,
  work: { readonly claims: readonly DeliveryClaim[]; readonly together: boolean; readonly until: number },
  counts: { done: number; failed: number },
): Promise<readonly DeliveryClaim[]> {
  const { until } = work;
  let { claims: left, together } = work;
  while (left.length > 0 && performance.now() < until) {
    if (together && left.length > 1) {
      // Whatever it is, each is tried by itself then, and the one that fails says why.
      const worked = await workDeliveries(context, hook, left).catch(() => undefined);
      counts.done += worked?.done ?? 0;
      left = left.slice(worked?.looked ?? 0);
      together = worked !== undefined;
    } else {
      counts[(await attempt(context, hook, left[0]!)) ? 'done' : 'failed']++;
      left = left.slice(1);
    }
  }
  return left;
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
    return (await workDeliveries(context, hook, [claim])).done > 0;
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
  return (await finishDeliveries(db, [{ claim, state: 'refused', result: failureOf(code, reason) }], now())) > 0;
}

function failureOf(code: string, reason: string): DeliveryResult {
  return { runs: [], collapsed: [], declined: [], skipped: [], doubts: [], failure: { code, reason } };
}

/** Codes of our own errors; the words of others may quote a payload. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : 'processing_failed';
}
