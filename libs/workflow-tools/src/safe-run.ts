/** The safe run (workflow-tools contract): never the input, chart state, policy text or model output. */
import { cleanLine } from '@muster/envelope';
import { z } from 'zod';
import type { RunView } from './ports.ts';
import { RUN_STATUSES } from './run-status.ts';

/** How many artifact references a run shows. */
export const MAX_ARTIFACTS = 128;
/** A run record is never larger. */
export const RUN_BYTES = 64 * 1024;
const SUMMARY_LENGTH = 512;

const count = z.number().int();

/** The contract's fields, in its order. */
export const safeRunShape = {
  run_id: z.string(),
  definition_name: z.string(),
  definition_version: z.string(),
  run_status: z.enum(RUN_STATUSES),
  status_summary: z.string().optional(),
  checkpoint_revision: count,
  activity_cursor: count,
  parent_run_id: z.string().optional(),
  artifacts: z
    .array(z.object({ id: z.string(), kind: z.string(), digest: z.string().optional(), size: count }))
    .optional(),
  created_at: z.string(),
  updated_at: z.string(),
};

export type SafeRun = z.infer<z.ZodObject<typeof safeRunShape>>;

/** A run as callers see it. Artifact references go, last ones first, where the record would be over its bound. */
export function safeRun(run: RunView): SafeRun {
  const artifacts = (run.artifacts ?? []).slice(0, MAX_ARTIFACTS).map(({ id, kind, digest, size }) => ({
    id,
    kind,
    ...(digest !== undefined && { digest }),
    size,
  }));
  for (;;) {
    const shown = projected(run, artifacts);
    if (artifacts.length === 0 || new TextEncoder().encode(JSON.stringify(shown)).byteLength <= RUN_BYTES) return shown;
    artifacts.length = Math.floor(artifacts.length / 2);
  }
}

function projected(run: RunView, artifacts: NonNullable<SafeRun['artifacts']>): SafeRun {
  return {
    run_id: run.run_id,
    definition_name: run.definition_name,
    definition_version: run.definition_version,
    run_status: run.run_status,
    ...(run.status_summary !== undefined && { status_summary: cleanLine(run.status_summary, SUMMARY_LENGTH) }),
    checkpoint_revision: run.checkpoint_revision,
    activity_cursor: run.activity_cursor,
    ...(run.parent_run_id !== undefined && { parent_run_id: run.parent_run_id }),
    ...(artifacts.length > 0 && { artifacts }),
    created_at: run.created_at,
    updated_at: run.updated_at,
  };
}
