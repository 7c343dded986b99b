/** What the tests of the inbox start from: hooks over the bench's runbooks, and deliveries as the API keeps them. */
import { randomUUID } from 'node:crypto';
import { defineRunbook } from '@muster/envelope';
import { bodyDigest, defineHook, type Hook, type HookDeclaration } from '@muster/hooks';
import { deliveryPlace, type SecretBox } from '@muster/host';
import { type DeliveryRecord, getDelivery, type KeptHeaders, keepDeliveries, keepReplay } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { z } from 'zod';
import { machineReport } from './bench-runbooks.ts';
import { type Bench, TENANT } from './worker-bench.ts';

export function hookOf(over: Partial<HookDeclaration> = {}): Hook {
  return defineHook({
    name: 'disks',
    tenant: TENANT,
    format: 'alertmanager',
    runbook: 'machine_check',
    scheme: 'bearer',
    secrets: [{ credential: 'disks' }],
    input: { machine: { from: 'labels.host' } },
    ...over,
  });
}

const { form: _form, charts: _charts, ...report } = machineReport;
/** A runbook that takes one machine with a short name, and perhaps an upload. */
export const strictCheck = defineRunbook({
  ...report,
  name: 'strict_check',
  input: z.strictObject({ machine: z.string().max(20), ref: z.string().optional() }),
} as never);

export const HOUR_MS = 3_600_000;
/** One run a host and hour. */
export const COLLAPSING: Partial<HookDeclaration> = {
  subject: { from: 'labels.host' },
  collapse: { by: 'subject', withinMs: HOUR_MS },
};

export function alertOf(host: string, over: Record<string, unknown> = {}): Record<string, unknown> {
  const labels = { alertname: 'DiskFull', host };
  return { status: 'firing', labels, startsAt: '2026-03-01T08:30:00Z', fingerprint: `f-${host}`, ...over };
}

export function groupOf(alerts: readonly unknown[], over: Record<string, unknown> = {}): Record<string, unknown> {
  return { version: '4', groupKey: '{}', status: 'firing', receiver: 'muster', alerts, ...over };
}

export interface Kept {
  readonly hook?: Hook;
  readonly headers?: KeptHeaders;
  readonly receivedAt?: Date;
  /** Sealed with it instead of the bench's. */
  readonly box?: SecretBox;
}

/** Keeps a delivery as the API does. */
export async function keep(bench: Bench, body: unknown, over: Kept = {}): Promise<DeliveryRecord> {
  const { hook = hookOf(), headers = {}, receivedAt = new Date(), box = bench.box } = over;
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const id = randomUUID();
  const [kept] = await keepDeliveries(bench.db, [
    {
      id,
      tenant: hook.tenant,
      hook: hook.name,
      format: hook.format,
      deliveryId: id,
      bodyDigest: bodyDigest(rawBody),
      headers,
      body: box.seal(rawBody, deliveryPlace(id)),
      bodyBytes: rawBody.length,
      receivedAt,
      repeatMs: 0,
    },
  ]);
  return kept!.delivery;
}

/** Keeps a replay of a delivery as the API does. */
export async function replay(bench: Bench, source: DeliveryRecord, body: unknown): Promise<DeliveryRecord> {
  const id = randomUUID();
  const sealed = bench.box.seal(Buffer.from(JSON.stringify(body)), deliveryPlace(id));
  return await bench.db.transaction((tx) => keepReplay(tx, source, { headers: {}, body: sealed, id, now: new Date() }));
}

/** Waits until a delivery was worked on, and gives it with what came of it. */
export async function worked(bench: Bench, delivery: DeliveryRecord): Promise<Worked> {
  const done = await waitFor(
    async () => (await getDelivery(bench.db, delivery))!,
    (seen) => seen.state !== 'received',
    { what: 'the end of the delivery' },
  );
  return done as Worked;
}

export type Worked = DeliveryRecord & { readonly result: NonNullable<DeliveryRecord['result']> };
