import { randomUUID } from 'node:crypto';
import { deliveryPlace, SecretBoxError } from '@muster/host';
import { appendAudit, type DeliveryRecord, getKeptDelivery, type KeptDelivery, keepReplay } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { type DeliveryView, describeDelivery } from '../wire/delivery.ts';
import { findDelivery } from './read-deliveries.ts';

/**
 * Works on a delivery once more, by the hook as it is declared now. The delivery itself and what came of it stay.
 *
 * @throws Problem `delivery_not_found`, `delivery_waiting`, `delivery_sealed`
 */
export async function replayDelivery(deps: ApiDeps, caller: Caller, deliveryId: string): Promise<DeliveryView> {
  const source = await findDelivery(deps, caller, deliveryId);
  if (source.state === 'received') throw new Problem('delivery_waiting', 'the delivery was not worked on yet');
  const id = randomUUID();
  const kept = await sealAgain(deps, source, id);
  const now = deps.now?.() ?? new Date();
  const replay = await deps.db.transaction(async (tx) => {
    await appendAudit(tx, {
      tenant: caller.tenant,
      keyId: caller.keyId,
      action: 'delivery_replayed',
      details: { hook: source.hook, delivery_id: source.id, replay_id: id },
      now,
    });
    return await keepReplay(tx, source, { ...kept, id, now });
  });
  return describeDelivery(replay);
}

/** A body opens in its own row alone. */
async function sealAgain({ box, db }: ApiDeps, source: DeliveryRecord, id: string): Promise<KeptDelivery> {
  const kept = await getKeptDelivery(db, source);
  if (kept === undefined) throw new Problem('delivery_not_found', 'there is no such delivery');
  if (box === undefined) throw new Problem('delivery_sealed', 'this API has no MUSTER_SECRET_KEY');
  try {
    const body = box.open(kept.body, deliveryPlace(source.id));
    return { headers: kept.headers, body: box.seal(body, deliveryPlace(id)) };
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    throw new Problem('delivery_sealed', 'the body was sealed with another MUSTER_SECRET_KEY');
  }
}
