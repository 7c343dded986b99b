import { z } from 'zod';

/** What a job asks for. Plan, procedure and collect are of a run; assess is of a chunk. */
export const JOB_KINDS = ['plan', 'procedure', 'collect', 'assess'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** A job's data: ids only, well under 1 kB. The rows in PostgreSQL say everything else (DESIGN 1). */
export const jobMessageSchema = z.strictObject({
  kind: z.enum(JOB_KINDS),
  /** The run's or the chunk's id. */
  id: z.uuid(),
  runId: z.uuid(),
  tenant: z.string().min(1),
  dispatchNo: z.int().min(1),
});
export type JobMessage = z.infer<typeof jobMessageSchema>;

/** BullMQ silently ignores an id it has seen, so each dispatch has an id of its own; no `:`, not all digits (FACTS). */
export function jobIdOf(message: JobMessage): string {
  return `${message.kind}_${message.id}_${message.dispatchNo}`;
}

/** Chunks have a queue of their own, so that a run's few steps never wait behind a fleet's many. */
export const QUEUE_NAMES = { runs: 'runs', chunks: 'chunks' } as const;
export type QueueName = (typeof QUEUE_NAMES)[keyof typeof QUEUE_NAMES];

/** The queue a job goes to. */
export function queueOf(kind: JobKind): QueueName {
  return kind === 'assess' ? QUEUE_NAMES.chunks : QUEUE_NAMES.runs;
}
