import { resumeSchemaOf, resumeSupported } from '@muster/envelope';
import type { Definition } from '@muster/host';
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

export type RunbookDescription = z.infer<typeof runbookSchema>;

const described = new WeakMap<Definition, RunbookDescription>();

/** What a caller may know of a runbook. It is also what is kept with its digest. */
export function describeRunbook(definition: Definition): RunbookDescription {
  // Every start of a run needs it, and making a JSON Schema is slow.
  const known = described.get(definition);
  if (known !== undefined) return known;
  const description = Object.freeze(makeDescription(definition));
  described.set(definition, description);
  return description;
}

function makeDescription(definition: Definition): RunbookDescription {
  const { runbook, digest } = definition;
  const resume = resumeSchemaOf(runbook);
  return {
    name: runbook.name,
    version: runbook.version,
    description: runbook.description,
    form: runbook.form,
    result_kind: runbook.resultKind,
    rules: { name: runbook.rules.name, version: runbook.rules.version },
    verdicts: { ...runbook.verdicts.standings },
    input_schema: jsonSchema(runbook.input),
    definition_digest: digest,
    resume_supported: resumeSupported(runbook),
    ...(resume !== undefined && { resume_schema: jsonSchema(resume) }),
  };
}

function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}
