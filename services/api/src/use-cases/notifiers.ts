/** Where the notices of a tenant go, and sending one there on demand. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { SecretBox } from '@muster/host';
import { receiverFault } from '@muster/notices';
import {
  appendAudit,
  deleteNotifier,
  fileNotice,
  getNotifier,
  listNotifiers,
  lockNotifier,
  MAX_NOTIFIERS,
  type NotifierRecord,
  putNotifier,
} from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { describeNotifier, type NotifierRequest } from '../wire/notifier.ts';

const SECRET_BYTES = 32;

/**
 * Sets a notifier as a whole, and makes its secret where there is none.
 *
 * @throws Problem `invalid_request` for a receiver that may not be, `too_many_notifiers`, `secrets_unavailable`
 */
export async function setNotifier(deps: ApiDeps, caller: Caller, name: string, asked: NotifierRequest) {
  const box = requireBox(deps);
  checkReceiver(deps, 'body/url', asked.url);
  const { tenant, keyId } = caller;
  const now = deps.now?.() ?? new Date();
  return await deps.db.transaction(async (tx) => {
    const before = await lockNotifier(tx, { tenant, name });
    if (before === undefined && (await listNotifiers(tx, tenant)).length >= MAX_NOTIFIERS) {
      throw new Problem('too_many_notifiers', `a tenant has at most ${MAX_NOTIFIERS} notifiers`);
    }
    const id = before?.id ?? randomUUID();
    const made = asked.secret === undefined && before === undefined ? newSecret() : undefined;
    const given = asked.secret ?? made;
    const secret = given === undefined ? before!.secret : box.seal(Buffer.from(given), id);
    const { secret: _asked, ...rest } = asked;
    const notifier = await putNotifier(tx, { id, tenant, name, ...rest, secret, now });
    const details = { name, format: asked.format, enabled: asked.enabled };
    await appendAudit(tx, { tenant, keyId, action: 'notifier_set', details, now });
    return {
      created: before === undefined,
      ...describeNotifier(notifier),
      ...(made !== undefined && { secret: made }),
    };
  });
}

export async function readNotifiers(deps: ApiDeps, { tenant }: Caller) {
  return (await listNotifiers(deps.db, tenant)).map(describeNotifier);
}

/** @throws Problem `notifier_not_found` */
export async function readNotifier(deps: ApiDeps, caller: Caller, name: string) {
  return describeNotifier(await findNotifier(deps, caller, name));
}

/** Deletes a notifier with what it still had to send. @throws Problem `notifier_not_found` */
export async function dropNotifier(deps: ApiDeps, { tenant, keyId }: Caller, name: string): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (!(await deleteNotifier(tx, { tenant, name }))) throw notFound(name);
    await appendAudit(tx, { tenant, keyId, action: 'notifier_deleted', details: { name }, now: deps.now?.() });
  });
}

/**
 * Files a notice on demand: a test, or everything that is wrong now. It is sent by the workers.
 *
 * @throws Problem `notifier_not_found`
 */
export async function fileOnDemand(deps: ApiDeps, caller: Caller, name: string, kind: 'test' | 'announcement') {
  const { id: notifierId, tenant } = await findNotifier(deps, caller, name);
  const noticeId = await fileNotice(deps.db, { tenant, notifierId, kind });
  return { notice_id: noticeId };
}

/** Refuses a receiver that notices may not go to. @throws Problem `invalid_request` */
export function checkReceiver({ notifyPrivate = 'refuse' }: ApiDeps, path: string, url: string): void {
  const expected = receiverFault(url, notifyPrivate);
  if (expected === undefined) return;
  throw new Problem('invalid_request', `${path}: expected ${expected}`, { errors: [{ path, expected }] });
}

/** @throws Problem `secrets_unavailable` */
export function requireBox({ box }: ApiDeps): SecretBox {
  if (box === undefined) throw new Problem('secrets_unavailable', 'this API was started without MUSTER_SECRET_KEY');
  return box;
}

async function findNotifier(deps: ApiDeps, { tenant }: Caller, name: string): Promise<NotifierRecord> {
  const found = await getNotifier(deps.db, { tenant, name });
  if (found === undefined) throw notFound(name);
  return found;
}

function notFound(name: string): Problem {
  return new Problem('notifier_not_found', `there is no notifier '${name}'`);
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
