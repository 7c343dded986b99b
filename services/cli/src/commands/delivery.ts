import type { ApiClient, DeliveryDetailsView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';
import { deliveryLine } from './deliveries.ts';

export interface DeliveryOptions {
  readonly json?: boolean;
}

/** `muster delivery show`: what came of each alert of a delivery, and for admins what was sent. */
export async function showDeliveryCommand(api: ApiClient, id: string, { json }: DeliveryOptions): Promise<number> {
  const delivery = await api.getDelivery(id);
  await print(json ? JSON.stringify(delivery) : page(delivery));
  return EXIT.ok;
}

/** `muster delivery replay`: works on a delivery once more, and prints the id of the new one. */
export async function replayDeliveryCommand(api: ApiClient, id: string, { json }: DeliveryOptions): Promise<number> {
  const replay = await api.replayDelivery(id);
  await print(json ? JSON.stringify(replay) : replay.delivery_id);
  if (!json) {
    const show = `npm run muster -- delivery show ${replay.delivery_id}`;
    process.stderr.write(`the delivery is worked on once more; \`${show}\` prints what came of it\n`);
  }
  return EXIT.ok;
}

function page(delivery: DeliveryDetailsView): string {
  const { result, sent } = delivery;
  const lines = [
    deliveryLine(delivery),
    `  sent as ${oneLine(delivery.sender_delivery_id)}, ${delivery.body_bytes} bytes`,
  ];
  for (const run of result?.runs ?? []) lines.push(`  run        ${run.run_id}  ${oneLine(run.subject)}`);
  for (const run of result?.collapsed ?? []) lines.push(`  joined     ${run.run_id}  ${oneLine(run.subject)}`);
  for (const alert of result?.declined ?? []) lines.push(`  declined   ${oneLine(alert.fingerprint)}  ${alert.reason}`);
  for (const alert of result?.skipped ?? []) {
    lines.push(`  skipped    ${oneLine(alert.fingerprint ?? '-')}  ${alert.code}: ${oneLine(alert.reason)}`);
  }
  if (result?.truncated !== undefined) lines.push(`  incomplete ${oneLine(result.truncated.why)}`);
  for (const doubt of result?.doubts ?? []) lines.push(`  doubt      ${oneLine(doubt)}`);
  if (sent !== undefined) lines.push(...sentLines(sent));
  return lines.join('\n');
}

function sentLines({ headers, body, hidden }: NonNullable<DeliveryDetailsView['sent']>): string[] {
  const named = Object.entries(headers).map(([name, value]) => `  ${name}: ${oneLine([value].flat().join(', '))}`);
  // As JSON, so that nothing in it moves the cursor.
  const text = hidden === undefined ? JSON.stringify(body, null, 2) : `no body is shown: ${hidden}`;
  return [...named, ...text.split('\n').map((line) => `  ${line}`)];
}
