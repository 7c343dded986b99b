import { z } from 'zod';
import { line } from '../arguments.ts';
import { boundedLine } from '../bounded-text.ts';
import { type Bundle, makeTool } from '../bundle.ts';
import { answerWeight, fitList } from '../fit-answer.ts';
import { nearestOf } from '../nearest.ts';
import { WorkflowToolError } from '../tool.ts';

const MAX_DEFINITIONS = 100;
const DESCRIPTION_BYTES = 1024;

const output = z.object({
  definitions: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      description: z.string(),
      input_schema: z.record(z.string(), z.unknown()),
      resume_supported: z.boolean(),
    }),
  ),
  truncated: z.boolean(),
  omitted: z.array(z.string()).optional(),
});

/** `workflow_definition_list` */
export function definitionList({ catalog, extras, maxWeight }: Bundle) {
  const byName = { name: line(128).optional().describe('Only this one.') };
  return makeTool({
    name: 'workflow_definition_list',
    title: 'List runbooks',
    description: 'What can be run: name, version, description and the JSON Schema of the input of each runbook.',
    input: z.strictObject(extras === undefined ? {} : byName),
    output,
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke(args) {
      const all = catalog.list();
      const wanted = chosen(all, (args as { name?: string }).name).map((definition) => ({
        name: definition.name,
        version: definition.version,
        description: boundedLine(definition.description, DESCRIPTION_BYTES),
        input_schema: definition.input_schema,
        resume_supported: definition.resume_supported,
      }));
      const shown = wanted.slice(0, MAX_DEFINITIONS);
      const whole = { definitions: shown, truncated: shown.length < wanted.length };
      if (maxWeight === undefined || answerWeight(whole) <= maxWeight) return whole;
      // Names of what is left out go into the answer, so there has to be room for them.
      const { kept } = fitList(shown, maxWeight * 0.8);
      const omitted = wanted.slice(kept.length).map(({ name }) => name);
      return { definitions: kept, truncated: true, omitted: fitList(omitted, maxWeight * 0.15).kept };
    },
  });
}

function chosen<Named extends { readonly name: string }>(all: readonly Named[], name: string | undefined) {
  if (name === undefined) return all;
  const found = all.filter((definition) => definition.name === name);
  if (found.length > 0) return found;
  const place = 'arguments/name';
  const nearest = nearestOf(
    name,
    all.map((definition) => definition.name),
  );
  throw new WorkflowToolError({ code: 'unknown_runbook', message: 'there is no runbook of this name', place, nearest });
}
