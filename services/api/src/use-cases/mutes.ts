/** What is not told for a while. */
import { addMute, appendAudit, liftMute, listMutes } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { describeMute, type MuteRequest } from '../wire/notifier.ts';

/** Mutes are for a while: what is muted for ever is not watched. */
const MAX_MUTE_MS = 366 * 86_400_000;

/** Mutes from now or later on. @throws Problem `invalid_request` for an end that is over, before the beginning, or far off */
export async function setMute(deps: ApiDeps, { tenant, keyId }: Caller, asked: MuteRequest) {
  const now = deps.now?.() ?? new Date();
  const startsAt = asked.from === undefined ? now : new Date(asked.from.toUpperCase());
  const endsAt = new Date(asked.until.toUpperCase());
  const least = Math.max(now.getTime(), startsAt.getTime());
  if (endsAt.getTime() <= least) throw badEnd('an instant to come, after `from`');
  if (endsAt.getTime() - least > MAX_MUTE_MS) throw badEnd('an instant within 366 days');
  const { runbook = null, scope = null, subject = null, target = null, reason } = asked;
  return await deps.db.transaction(async (tx) => {
    const mute = await addMute(tx, { tenant, runbook, scope, subject, target, reason, keyId, startsAt, endsAt, now });
    const details = { mute_id: mute.id, until: endsAt.toISOString() };
    await appendAudit(tx, { tenant, keyId, action: 'muted', details, now });
    return describeMute(mute);
  });
}

export async function readMutes(deps: ApiDeps, { tenant }: Caller, limit: number) {
  const now = deps.now?.() ?? new Date();
  return (await listMutes(deps.db, { tenant, now, limit })).map(describeMute);
}

/** Ends a mute now. @throws Problem `mute_not_found` */
export async function unmute(deps: ApiDeps, { tenant, keyId }: Caller, id: string): Promise<void> {
  const now = deps.now?.() ?? new Date();
  await deps.db.transaction(async (tx) => {
    if (!(await liftMute(tx, { tenant, id, now }))) throw new Problem('mute_not_found', `there is no mute ${id}`);
    await appendAudit(tx, { tenant, keyId, action: 'unmuted', details: { mute_id: id }, now });
  });
}

function badEnd(expected: string): Problem {
  const errors = [{ path: 'body/until', expected }];
  return new Problem('invalid_request', `body/until: expected ${expected}`, { errors });
}
