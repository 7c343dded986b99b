/** Notices that were filed, and sending one again. */
import { appendAudit, type NoticeState, pageNotices, replayNotice } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { describeNotice } from '../wire/notifier.ts';

export interface NoticeQuery {
  readonly state?: NoticeState | undefined;
  readonly notifier?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A page of the tenant's notices, newest first. @throws Problem `unknown_cursor` */
export async function readNotices(deps: ApiDeps, { tenant }: Caller, query: NoticeQuery) {
  const { state, notifier, after, limit } = query;
  const place = after === undefined ? undefined : decodeCursor('notices', after);
  const page = await pageNotices(deps.db, { tenant, state, notifier, limit, after: place });
  return {
    notices: page.notices.map(describeNotice),
    ...(page.nextAfter !== undefined && { next_after: encodeCursor('notices', page.nextAfter) }),
  };
}

/**
 * Files a notice that is over once more, as it was, under an id of its own.
 *
 * @throws Problem `notice_not_found`, `notice_open`
 */
export async function sendAgain(deps: ApiDeps, { tenant, keyId }: Caller, id: string) {
  return await deps.db.transaction(async (tx) => {
    const filed = await replayNotice(tx, { tenant, id });
    if (filed === undefined) throw new Problem('notice_not_found', `there is no notice ${id}`);
    if (filed === 'open') throw new Problem('notice_open', `the notice ${id} is still to be sent`);
    const details = { notice_id: id, again_as: filed };
    await appendAudit(tx, { tenant, keyId, action: 'notice_replayed', details, now: deps.now?.() });
    return { notice_id: filed };
  });
}
