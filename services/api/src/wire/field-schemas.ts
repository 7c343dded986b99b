/** Fields that several requests share. All text is one line: PostgreSQL takes no NUL, and logs no control characters. */
import { scheduleName } from '@muster/schedules';
import { z } from 'zod';

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

/** One line of text, without control characters and half characters. */
export function line(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => text.isWellFormed() && !CONTROL.test(text), 'one line of text without control characters');
}

/** The `Idempotency-Key` of a request. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/)
  .describe('1 to 200 visible ASCII characters, for one session.');

/** A nonzero UUID. */
export const id = z.guid().refine((text) => !/^[0-]+$/.test(text), 'a nonzero UUID');

/** Revisions are whole numbers of PostgreSQL's. */
export const MAX_REVISION = 2_147_483_647;

/** A run's revision in a query. */
export const revisionNumber = z.coerce.number().int().min(0).max(MAX_REVISION);

/** A page size. */
export function pageLimit(max: number, fallback: number) {
  return z.coerce.number().int().min(1).max(max).default(fallback);
}

/** An instant with its zone. */
export const instant = z
  .string()
  .max(40)
  .refine(isInstant, 'an RFC 3339 instant with a zone, such as 2026-11-30T12:00:00Z, from 1970 to 9999')
  .meta({ format: 'date-time' });

/** A session's name. */
export const sessionName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/);

/** Headers that choose the session. */
export const sessionHeaders = z.looseObject({
  'muster-session': sessionName.optional().describe('Name of the session; `default` when it is left out.'),
});

/** Path of a run. */
export const runParams = z.strictObject({ run_id: id });

/** Path of a delivery. */
export const deliveryParams = z.strictObject({ delivery_id: id });
/** What sweeps of one runbook share that are compared with each other. */
export const scopeName = line(200);

/** Path of a schedule. */
export const scheduleParams = z.strictObject({ name: scheduleName });

/** A flag in a query. */
export const flag = z.enum(['true', 'false']);

function isInstant(text: string): boolean {
  if (!RFC_3339.test(text)) return false;
  const day = text.slice(0, 10);
  const at = Date.parse(text.toUpperCase());
  // Date.parse lets the 30th of February roll over into March.
  const isDay = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return Number.isFinite(at) && isDay && at >= EARLIEST && at <= LATEST;
}
