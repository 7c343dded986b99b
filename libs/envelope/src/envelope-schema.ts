/**
 * The envelope's published shape: a zod schema, and the JSON Schema made of it, under one version.
 *
 * Invariant: what {@link composeEnvelope} gives fits it, and still does after a way through JSON. Fields that a chart
 * reports are free; the envelope's own are closed in kind. The version's first number rises when a reader would break.
 */
import { z } from 'zod';
import { CHART_WALK_ARTIFACT_KIND, RECORDING_ARTIFACT_KIND } from './walk-artifact.ts';

/** The version of the published shape; it is part of the schema's `$id`. */
export const ENVELOPE_SCHEMA_VERSION = '1.1';

const count = z.int().min(0);
const entry = z.strictObject({ what: z.string().min(1), why: z.string().min(1).optional() });
const entryWithWhy = z.strictObject({ what: z.string().min(1), why: z.string().min(1) });

const coverageSchema = z.strictObject({
  checked: z.array(entry).min(1).optional(),
  not_checked: z.array(entry).min(1).optional(),
  cannot_cover: z.array(entryWithWhy).min(1).optional(),
  note: z.string(),
  sentence: z.string(),
});

const walkSchema = z.strictObject({
  ref: z.string().optional(),
  kind: z.literal(CHART_WALK_ARTIFACT_KIND).optional(),
  rows: count,
  steps_executed: count,
  projection: z.enum(['full', 'control-flow']),
  shown: count,
  total: count,
  complete: z.boolean(),
  walk_segment: z.enum(['full', 'pre-pause', 'post-resume']),
  note: z.string(),
  recording_ref: z.string().optional(),
  recording_kind: z.literal(RECORDING_ARTIFACT_KIND).optional(),
  recording_bytes: count.optional(),
  recording_note: z.string().optional(),
  manifest_ref: z.string().optional(),
});

const subjectsSchema = z.strictObject({
  total: count,
  ok: count,
  problem: count,
  declined: count,
  not_checked: count,
  cannot_cover: count,
});

const dryRunSchema = z.strictObject({
  subjects: count,
  targets: z
    .strictObject({
      distinct: count,
      without: count,
      top: z.array(z.strictObject({ target: z.string(), subjects: count })),
    })
    .optional(),
});

const rerunSchema = z.strictObject({
  of: z.string(),
  only: z.array(z.string()).optional(),
  subjects: count.optional(),
  definition_changed: z.boolean(),
});

const changesSchema = z.strictObject({
  scope: z.string(),
  outcome: z.enum(['first', 'compared', 'late', 'unlooked']),
  against: z.strictObject({ run_id: z.string(), now: z.string() }).optional(),
  counts: z
    .strictObject({
      newly_problem: count,
      fixed: count,
      still_problem: count,
      new_subject: count,
      gone: count,
      became_unknown: count,
      known_again: count,
      rule_changed: count,
      still_ok: count,
      still_unknown: count,
      baseline: count,
    })
    .optional(),
  note: z.string().optional(),
});

/** The zod schema of an envelope. */
export const runbookEnvelopeSchema = z.strictObject({
  af_coverage: coverageSchema,
  result: z.looseObject({
    af_provenance: z.looseObject({ tool: z.string(), toolCallId: z.string() }),
    rule_version: z.string().min(1),
    verdicts: z.array(z.looseObject({ verdict: z.string() })).optional(),
    rows_shown: count.optional(),
    rows_total: count.optional(),
    rows_complete: z.boolean().optional(),
    table: z.string().optional(),
    render_note: z.string().optional(),
    verdict_meanings: z.record(z.string(), z.string()).optional(),
    subjects: subjectsSchema.optional(),
    dry_run: dryRunSchema.optional(),
    rerun: rerunSchema.optional(),
    // Where nothing was looked for, a chart's report may have a field of this name.
    changes: z.union([changesSchema, z.unknown()]).optional(),
    report_note: z.string().optional(),
    walk: walkSchema,
  }),
});

/** The JSON Schema of an envelope (draft 2020-12), with its version in `$id`. */
export function envelopeJsonSchema(): Record<string, unknown> {
  return {
    $id: `urn:muster:runbook-envelope:${ENVELOPE_SCHEMA_VERSION}`,
    title: 'Runbook envelope',
    version: ENVELOPE_SCHEMA_VERSION,
    ...z.toJSONSchema(runbookEnvelopeSchema),
  };
}
