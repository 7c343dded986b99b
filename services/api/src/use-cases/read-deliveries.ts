import { type HookFormat, redactBody } from '@muster/hooks';
import { deliveryPlace, SecretBoxError } from '@muster/host';
import { type DeliveryRecord, type DeliveryState, getDelivery, getKeptDelivery, listDeliveries } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { type Caller, roleCovers } from '../caller.ts';
import { Problem } from '../problems.ts';
import { type DeliveryDetails, type DeliverySent, type DeliveryView, describeDelivery } from '../wire/delivery.ts';

export interface ListDeliveriesQuery {
  readonly hook?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface DeliveryViewPage {
  readonly deliveries: DeliveryView[];
  readonly next_after?: string;
}

/** Deliveries of the caller's tenant, newest first. @throws UnknownCursorError */
export async function readDeliveries(
  deps: ApiDeps,
  caller: Caller,
  query: ListDeliveriesQuery,
): Promise<DeliveryViewPage> {
  const page = await listDeliveries(deps.db, { tenant: caller.tenant, ...query });
  return {
    deliveries: page.deliveries.map(describeDelivery),
    ...(page.nextAfter !== undefined && { next_after: page.nextAfter }),
  };
}

/** One delivery with what came of it; admins see what was sent, too, without secrets. @throws Problem `delivery_not_found` */
export async function readDeliveryDetails(deps: ApiDeps, caller: Caller, id: string): Promise<DeliveryDetails> {
  const delivery = await findDelivery(deps, caller, id);
  const sent = roleCovers(caller.role, 'admin') ? await readSent(deps, delivery) : undefined;
  return {
    ...describeDelivery(delivery),
    ...(delivery.result !== null && { result: delivery.result }),
    ...(sent !== undefined && { sent }),
  };
}

/** @throws Problem `delivery_not_found` */
export async function findDelivery(deps: ApiDeps, caller: Caller, id: string): Promise<DeliveryRecord> {
  const delivery = await getDelivery(deps.db, { tenant: caller.tenant, id });
  if (delivery === undefined) throw new Problem('delivery_not_found', 'there is no such delivery');
  return delivery;
}

async function readSent({ box, db }: ApiDeps, { tenant, id, format }: DeliveryRecord): Promise<DeliverySent> {
  const kept = await getKeptDelivery(db, { tenant, id });
  if (kept === undefined || box === undefined)
    return { headers: kept?.headers ?? {}, hidden: 'it cannot be opened here' };
  try {
    const rawBody = box.open(kept.body, deliveryPlace(id));
    const { headers, body, hidden } = redactBody(format as HookFormat, { headers: kept.headers, rawBody });
    return { headers, ...(hidden === undefined ? { body } : { hidden }) };
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return { headers: kept.headers, hidden: 'it was sealed with another MUSTER_SECRET_KEY' };
  }
}
