import { z } from 'zod';

const standing = z.enum(['ok', 'problem', 'declined']);

export const runbookSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    description: z.string(),
    form: z.enum(['procedure', 'fleet']),
    result_kind: z.string(),
    rules: z.object({ name: z.string(), version: z.string() }),
    verdicts: z.record(z.string(), standing).describe('Verdict words and how they stand.'),
    input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the input.'),
    definition_digest: z.string(),
    resume_supported: z.boolean().describe('A run of it may become `interrupted` and ask.'),
    resume_schema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of an answer to that.'),
  })
  .meta({ id: 'Runbook' });
