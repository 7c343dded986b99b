/** The safe run (workflow-tools contract): never the input, chart state, policy text or model output. */
import { z } from 'zod';
import { boundedLine } from './bounded-text.ts';
import { answerWeight, fitList } from './fit-answer.ts';
import type { ArtifactEntry, RunView } from './ports.ts';
import { RUN_STATUSES } from './run-status.ts';

/** How many artifact references a run shows. */
export const MAX_ARTIFACTS = 128;
/** A run record is never larger. */
export const RUN_BYTES = 64 * 1024;
const SUMMARY_BYTES = 512;
/** What `"artifacts":[],"omitted":{"artifacts":128}` needs. */
const OMITTED_ROOM = 64;

const count = z.int();

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
  /** `{ id, kind, digest, size }`; told shortly, because the schema stands in four tools. */
  artifacts: z.array(z.looseObject({ id: z.string() })).optional(),
  created_at: z.string(),
  updated_at: z.string(),
};

export type SafeRun = Omit<z.infer<z.ZodObject<typeof safeRunShape>>, 'artifacts'> & {
  artifacts?: ArtifactEntry[];
  omitted?: { artifacts: number };
};

/** A run as most tools describe it: models pay for a schema in every tool that has it. `workflow_run_get` has the whole. */
export const briefRun = z.looseObject({ run_id: z.string(), run_status: z.enum(RUN_STATUSES) });

/** A safe run that weighs at most so much: references go, last ones first, and are counted. */
export function fitRun(run: RunView, maxWeight: number | undefined): SafeRun {
  const whole = safeRun(run);
  if (maxWeight === undefined || answerWeight(whole) <= maxWeight) return whole;
  const { artifacts = [], ...rest } = whole;
  const { kept, omitted } = fitList(artifacts, maxWeight - answerWeight(rest) - OMITTED_ROOM);
  return {
    ...rest,
    ...(kept.length > 0 && { artifacts: kept }),
    ...(omitted > 0 && { omitted: { artifacts: omitted } }),
  };
}

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
    ...(run.status_summary !== undefined && { status_summary: boundedLine(run.status_summary, SUMMARY_BYTES) }),
    checkpoint_revision: run.checkpoint_revision,
    activity_cursor: run.activity_cursor,
    ...(run.parent_run_id !== undefined && { parent_run_id: run.parent_run_id }),
    ...(artifacts.length > 0 && { artifacts }),
    created_at: run.created_at,
    updated_at: run.updated_at,
  };
}
