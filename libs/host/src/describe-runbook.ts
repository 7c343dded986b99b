import { resumeSchemaOf, resumeSupported, type Standing } from '@muster/envelope';
import { z } from 'zod';
import type { Definition } from './load-catalog.ts';

/** What a caller may know of a runbook, as it goes over the wire. It is also what is kept with its digest. */
export interface RunbookDescription {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly form: 'procedure' | 'fleet';
  readonly result_kind: string;
  readonly rules: { readonly name: string; readonly version: string };
  /** Verdict words and how they stand. */
  readonly verdicts: Readonly<Record<string, Standing>>;
  /** JSON Schema of the input. */
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly definition_digest: string;
  /** A run of it may become `interrupted` and ask. */
  readonly resume_supported: boolean;
  /** JSON Schema of an answer to that. */
  readonly resume_schema?: Readonly<Record<string, unknown>>;
}

const described = new WeakMap<Definition, RunbookDescription>();

/** Describes a definition. */
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
