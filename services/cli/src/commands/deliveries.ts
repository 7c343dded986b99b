import type { ApiClient, DeliveryView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';

export interface DeliveriesOptions {
  readonly limit: number;
  readonly hook?: string;
  readonly state?: string;
  readonly json?: boolean;
}

/** `muster deliveries`: what webhooks brought, newest first, and what came of it. */
export async function deliveriesCommand(api: ApiClient, options: DeliveriesOptions): Promise<number> {
  const { limit, hook, state, json } = options;
  const deliveries = await api.listDeliveries(limit, { ...(hook && { hook }), ...(state && { state }) });
  if (deliveries.length === 0 && !json) process.stderr.write('there are no such deliveries\n');
  for (const one of deliveries) await print(json ? JSON.stringify(one) : deliveryLine(one));
  return EXIT.ok;
}

/** A delivery as one line: when, where from, how it stands, what came of it. */
export function deliveryLine(delivery: DeliveryView): string {
  const { delivery_id: id, received_at: at, hook, state, event } = delivery;
  return [id, at, hook.padEnd(12), state.padEnd(10), ...(event === undefined ? [] : [oneLine(event)]), ending(delivery)]
    .join('  ')
    .trimEnd();
}

function ending({ counts, failure, incomplete, replay_of: source }: DeliveryView): string {
  const told = counts === undefined ? [] : Object.entries(counts).filter(([, count]) => count > 0);
  return [
    ...told.map(([what, count]) => `${count} ${what === 'runs' && count === 1 ? 'run' : what}`),
    ...(failure === undefined ? [] : [`${failure.code}: ${oneLine(failure.reason)}`]),
    ...(incomplete === undefined ? [] : ['incomplete']),
    ...(source === undefined ? [] : [`replay of ${source}`]),
  ].join(', ');
}
