/** Deliveries of webhooks as callers see them. What the sender sent is shown to admins alone, and without secrets. */
import type { DeliveryRecord } from '@muster/results';
import { z } from 'zod';

export const DELIVERY_STATES = ['received', 'done', 'refused', 'unreadable'] as const;
const MAX_RUN_IDS = 20;
const count = z.number().int();

/** What the sender is answered with. */
export const receiptSchema = z
  .object({
    delivery_id: z.string(),
    state: z.enum(DELIVERY_STATES).describe('`received`: kept, and not worked on yet.'),
    received_at: z.string(),
    run_ids: z.array(z.string()).optional().describe('Runs that it began or joined, when they are known; at most 20.'),
  })
  .meta({ id: 'DeliveryReceipt' });

const deliveryShape = {
  ...receiptSchema.shape,
  hook: z.string(),
  format: z.string(),
  sender_delivery_id: z.string().describe("The sender's id, or one that was made of the body's digest."),
  body_digest: z.string(),
  body_bytes: count,
  attempts: count,
  replay_of: z.string().optional().describe('The delivery of which it is a replay.'),
  processed_at: z.string().optional(),
  kind: z.string().optional().describe('`alerts`, `event`, `ping` or `unreadable`, when it was read.'),
  event: z.string().optional(),
  counts: z
    .object({ runs: count, collapsed: count, declined: count, skipped: count })
    .optional()
    .describe('What became of its alerts or events.'),
  incomplete: z.string().optional().describe('Why there are alerts that are not in it.'),
  failure: z.object({ code: z.string(), reason: z.string() }).optional(),
};

export const deliverySchema = z.object(deliveryShape).meta({ id: 'Delivery' });

const runPart = z.object({ run_id: z.string(), subject: z.string(), alerts: count });

export const deliveryDetailsSchema = z
  .object({
    ...deliveryShape,
    result: z
      .object({
        kind: z.string().optional(),
        event: z.string().optional(),
        runs: z.array(runPart).readonly().describe('Runs that it began.'),
        collapsed: z.array(runPart).readonly().describe('Runs of earlier deliveries that it joined.'),
        declined: z
          .array(z.object({ fingerprint: z.string(), reason: z.string() }))
          .readonly()
          .describe('Alerts whose sender does not know how their subject is.'),
        skipped: z
          .array(z.object({ fingerprint: z.string().nullable(), code: z.string(), reason: z.string() }))
          .readonly(),
        truncated: z.object({ missing: count.optional(), why: z.string() }).optional(),
        doubts: z.array(z.string()).readonly(),
        failure: z.object({ code: z.string(), reason: z.string() }).optional(),
      })
      .optional(),
    sent: z
      .object({
        headers: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
        body: z.unknown().optional(),
        hidden: z.string().optional().describe('Why no body is shown.'),
      })
      .optional()
      .describe('What was sent, without secrets. For admins.'),
  })
  .meta({ id: 'DeliveryDetails' });

export type DeliveryReceipt = z.infer<typeof receiptSchema>;
export type DeliveryView = z.infer<typeof deliverySchema>;
export type DeliveryDetails = z.infer<typeof deliveryDetailsSchema>;
export type DeliverySent = NonNullable<DeliveryDetails['sent']>;

/** The sender's receipt. */
export function receiptOf({ id, state, receivedAt, result }: DeliveryRecord): DeliveryReceipt {
  const runs = [...(result?.runs ?? []), ...(result?.collapsed ?? [])];
  const runIds = [...new Set(runs.map((run) => run.run_id))].slice(0, MAX_RUN_IDS);
  return {
    delivery_id: id,
    state,
    received_at: receivedAt.toISOString(),
    ...(runIds.length > 0 && { run_ids: runIds }),
  };
}

/** A delivery without what was sent. */
export function describeDelivery(record: DeliveryRecord): DeliveryView {
  const { result } = record;
  return {
    ...receiptOf(record),
    hook: record.hook,
    format: record.format,
    sender_delivery_id: record.deliveryId,
    body_digest: record.bodyDigest,
    body_bytes: record.bodyBytes,
    attempts: record.attempts,
    ...(record.replayOf !== null && { replay_of: record.replayOf }),
    ...(record.processedAt !== null && { processed_at: record.processedAt.toISOString() }),
    ...(result !== null && {
      ...(result.kind !== undefined && { kind: result.kind }),
      ...(result.event !== undefined && { event: result.event }),
      counts: {
        runs: result.runs.length,
        collapsed: result.collapsed.length,
        declined: result.declined.length,
        skipped: result.skipped.length,
      },
      ...(result.truncated !== undefined && { incomplete: result.truncated.why }),
      ...(result.failure !== undefined && { failure: result.failure }),
    }),
  };
}
