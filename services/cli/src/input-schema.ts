import type { Runbook } from '@muster/envelope';
import { z } from 'zod';

/** A runbook's input as JSON Schema: what the API says of it too. */
export function inputSchemaOf(runbook: Runbook): Record<string, unknown> {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(runbook.input, { io: 'input', unrepresentable: 'any' });
  return schema;
}
