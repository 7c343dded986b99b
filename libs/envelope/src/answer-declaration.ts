/**
 * What an answer needs of a runbook when nobody has its charts any more (DESIGN 7): plain JSON, kept with the definition
 * at acceptance, so that a run whose definition was withdrawn is still answered under the rules that judged it.
 */
import { z } from 'zod';
import type { Runbook } from './define-runbook.ts';
import { declaredMeanings } from './verdict-meanings.ts';
import { DEFAULT_MAX_ROWS } from './verdict-rows.ts';
import { DEFAULT_WALK_CAP } from './walk.ts';

const answerDeclarationSchema = z.object({
  name: z.string(),
  resultKind: z.string(),
  rules: z.object({ name: z.string(), version: z.string() }),
  presentation: z.enum(['prose', 'panel']).optional(),
  maxRows: z.int().min(1),
  walkCap: z.int().min(1),
  /** What its charts say the verdict words mean. Labels that a run heard go over it. */
  meanings: z.record(z.string(), z.string()),
  /** It has a chart of its own that sums a fleet up. */
  sumsUp: z.boolean(),
});

/** What of a runbook outlives its code. */
export type AnswerDeclaration = Readonly<z.infer<typeof answerDeclarationSchema>>;

/** Takes from a runbook what an answer needs. */
export function answerDeclaration(runbook: Runbook): AnswerDeclaration {
  const { name, resultKind, rules, presentation, verdicts, walk } = runbook;
  const chart = runbook.form === 'fleet' ? runbook.charts.assess : runbook.charts.procedure;
  return {
    name,
    resultKind,
    rules: { name: rules.name, version: rules.version },
    ...(presentation !== undefined && { presentation }),
    maxRows: verdicts.maxRows ?? DEFAULT_MAX_ROWS,
    walkCap: walk?.cap ?? DEFAULT_WALK_CAP,
    meanings: declaredMeanings([chart.buildTimeStructure], verdicts.decider),
    sumsUp: runbook.form === 'fleet' && runbook.fleet.collect !== undefined,
  };
}

/** Reads what was kept; undefined when it is something else, as an older build left it. */
export function readAnswerDeclaration(kept: unknown): AnswerDeclaration | undefined {
  const parsed = answerDeclarationSchema.safeParse(kept);
  return parsed.success ? parsed.data : undefined;
}
