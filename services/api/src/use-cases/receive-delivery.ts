/**
 * A delivery of a webhook, from the sender's bytes to its row.
 *
 * Invariants:
 * - what is not proven leaves no row, and its refusal tells nobody which hooks there are;
 * - the row is committed before the sender is answered, and nothing is made of it before that;
 * - the body is sealed before it leaves this process, and no header that proves the sender is kept.
 */
import { randomUUID } from 'node:crypto';
import {
  bodyDigest,
  deliveryIdOf,
  type Hook,
  HookSecretError,
  redactHeaders,
  type SignatureResult,
  verifySignature,
} from '@muster/hooks';
import { deliveryPlace, readHookSecrets, type SecretBox } from '@muster/host';
import type { DeliveryIdentity, DeliveryRecord, ReceiveOutcome } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { DeliveryKeeper } from '../delivery-keeper.ts';
import { Problem } from '../problems.ts';

/** What deliveries are taken with. */
export interface HookDoor extends ApiDeps {
  readonly keeper: DeliveryKeeper;
}

/** A delivery as it came. */
export interface RawRequest {
  /** Names and values in turn, as Node lists them: only there a header that came twice is seen. */
  readonly headers: readonly string[];
  readonly rawBody: Buffer;
}

/**
 * How long an equal body is the same delivery where the sender has no ids. Alertmanager tries again for a group's interval,
 * five minutes unless it is told otherwise, and repeats an alert that goes on no sooner than that.
 */
export const REPEAT_MS = 5 * 60_000;

/**
 * Takes a delivery.
 *
 * @throws Problem `delivery_unverified`, `delivery_conflict`, `hook_secret_unavailable`
 */
export async function receiveDelivery(
  deps: HookDoor,
  name: string,
  request: RawRequest,
): Promise<{ readonly delivery: DeliveryRecord; readonly repeated: boolean }> {
  const { box } = deps;
  const hook = deps.catalog.hooks?.get(name);
  const now = deps.now?.() ?? new Date();
  const signature = await checkSignature(deps, hook, request, now);
  if (hook === undefined || box === undefined || !signature.ok) {
    deps.logger.warn(
      { ...(hook !== undefined && { hook: hook.name }), why: signature.ok ? 'no_secret_key' : signature.code },
      'a delivery was refused',
    );
    throw new Problem('delivery_unverified', 'the delivery proves no sender that is known here');
  }
  const identity = identify(hook, request, now, signature.deliveryId);
  return readOutcome(await deps.keeper.keep({ identity, seal: () => seal(box, hook, request, identity) }));
}

type Unknown = { readonly ok: false; readonly code: 'hook_unknown' };

async function checkSignature(
  deps: ApiDeps,
  hook: Hook | undefined,
  { headers, rawBody }: RawRequest,
  now: Date,
): Promise<SignatureResult | Unknown> {
  if (hook === undefined || deps.resolveCredential === undefined) return { ok: false, code: 'hook_unknown' };
  const secrets = await readHookSecrets(hook, deps.resolveCredential);
  try {
    return verifySignature(hook.scheme, { headers, rawBody, secrets, now });
  } catch (error) {
    if (!(error instanceof HookSecretError)) throw error;
    const options = { cause: error, headers: { 'retry-after': '30' } };
    throw new Problem('hook_secret_unavailable', `the hook '${hook.name}' has no secret that can check`, {}, options);
  }
}

function identify(
  hook: Hook,
  { headers, rawBody }: RawRequest,
  now: Date,
  signedId: string | undefined,
): DeliveryIdentity {
  const deliveryId = signedId ?? deliveryIdOf(hook.format, { headers, rawBody, now });
  return {
    tenant: hook.tenant,
    hook: hook.name,
    deliveryId,
    bodyDigest: bodyDigest(rawBody),
    receivedAt: now,
    repeatMs: REPEAT_MS,
  };
}

function seal(box: SecretBox, hook: Hook, { headers, rawBody }: RawRequest, identity: DeliveryIdentity) {
  const id = randomUUID();
  return {
    ...identity,
    id,
    format: hook.format,
    headers: redactHeaders(headers),
    body: box.seal(rawBody, deliveryPlace(id)),
    bodyBytes: rawBody.length,
  };
}

function readOutcome({ outcome, delivery }: ReceiveOutcome) {
  if (outcome !== 'conflict') return { delivery, repeated: outcome === 'repeated' };
  throw new Problem('delivery_conflict', 'the delivery id was used for another body', { delivery_id: delivery.id });
}
