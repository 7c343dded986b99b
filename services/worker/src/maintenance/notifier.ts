/**
 * Brings notices to their receivers: at least once, each attempt under the same id and with the same bytes.
 *
 * Invariants:
 * - an attempt is a claim for a while: what dies with its process is tried again when the claim is over;
 * - one slow receiver holds up nobody else: it has a few attempts under way at most, and a round waits for none of them;
 * - no secret, URL or body gets into a log.
 */
import { signStandard } from '@muster/hooks';
import type { Logger, SecretBox } from '@muster/host';
import { MAX_ATTEMPTS, type PrivateAddresses, receptionOf, retryAfterMs, waitAfter } from '@muster/notices';
import {
  claimNotices,
  type Database,
  type NoticeClaim,
  type NoticeOutcome,
  settleNotice,
  writeNotice,
} from '@muster/results';
import { composeNotice } from '../notices/compose-notice.ts';
import { NoticePostError, postNotice } from '../notices/post-notice.ts';
import type { MaintenanceService } from './maintenance-service.ts';

export const NOTIFIER = 'notifier';

const AT_ONCE = 32;
const PER_NOTIFIER = 4;
const TIMEOUT_MS = 10_000;
/** Longer than an attempt can take, so that no two processes have the same one. */
const LEASE_MS = 30_000;

export interface NotifierParts {
  readonly db: Database;
  readonly box: SecretBox;
  readonly log: Logger;
  readonly now: () => Date;
  readonly privateAddresses: PrivateAddresses;
}

/** Sends what is due. */
export function notifier(parts: NotifierParts): MaintenanceService {
  const underWay = new Set<Promise<void>>();
  return {
    name: NOTIFIER,
    intervalMs: 1000,
    async runOnce() {
      const limit = AT_ONCE - underWay.size;
      if (limit <= 0) return { claimed: 0 };
      const claims = await claimNotices(parts.db, { limit, perNotifier: PER_NOTIFIER, leaseMs: LEASE_MS });
      for (const claim of claims) {
        const attempt = carryOut(parts, claim).finally(() => underWay.delete(attempt));
        underWay.add(attempt);
      }
      return { claimed: claims.length };
    },
  };
}

/** One attempt with all that belongs to it. Never throws: what fails is tried again. */
async function carryOut(parts: NotifierParts, claim: NoticeClaim): Promise<void> {
  const { db, log } = parts;
  try {
    const outcome = await attempt(parts, claim);
    await settleNotice(db, claim, outcome);
    if (outcome.state === 'dead') {
      log.warn({ notice: claim.id, kind: claim.kind, why: outcome.why, status: outcome.status }, 'a notice is dead');
    }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    // The claim runs out, and the notice is due again.
    log.warn({ notice: claim.id, error: name, code }, 'a notice could not be sent or settled; it is tried again');
  }
}

async function attempt(parts: NotifierParts, claim: NoticeClaim): Promise<NoticeOutcome> {
  if (claim.url === null) return { state: 'dropped', why: 'its address is gone' };
  const now = parts.now();
  let body = claim.body;
  if (body === null) {
    const composed = await composeNotice(parts.db, claim, now);
    if ('nothing' in composed) return { state: 'dropped', why: composed.nothing };
    body = await writeNotice(parts.db, claim.id, composed.body);
  }
  const headers = signed(parts.box, claim, body, now);
  if (headers === undefined) return { state: 'dead', why: 'secret_unreadable' };
  const { url } = claim;
  try {
    const { privateAddresses } = parts;
    const answer = await postNotice({ url, body, headers, timeoutMs: TIMEOUT_MS, privateAddresses });
    const { status } = answer;
    switch (receptionOf(status)) {
      case 'taken':
        return { state: 'sent', status };
      case 'never':
        return { state: 'dead', status, why: 'gone' };
      case 'again':
        return again(claim, retryAfterMs(answer.retryAfter, now), `status_${status}`, status);
    }
  } catch (error) {
    if (!(error instanceof NoticePostError)) throw error;
    return again(claim, undefined, error.code);
  }
}

function again(claim: NoticeClaim, askedMs: number | undefined, why: string, status?: number): NoticeOutcome {
  const waitMs = claim.attempt >= MAX_ATTEMPTS ? undefined : waitAfter(claim.attempt, askedMs, Math.random());
  return waitMs === undefined ? { state: 'dead', status, why } : { state: 'pending', status, why, waitMs };
}

/** Headers of Standard Webhooks; without a secret the signature is left out. Undefined: the secret does not open, or sign. */
function signed(
  box: SecretBox,
  claim: NoticeClaim,
  body: string,
  sentAt: Date,
): Readonly<Record<string, string>> | undefined {
  if (claim.secret === null) {
    return { 'webhook-id': claim.id, 'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)) };
  }
  try {
    const secret = box.open(claim.secret, claim.notifierId ?? claim.runId!).toString('utf8');
    return signStandard({ id: claim.id, sentAt, body, secrets: [secret] });
  } catch {
    return undefined;
  }
}
