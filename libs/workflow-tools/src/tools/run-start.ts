import { z } from 'zod';
import { line, runId } from '../arguments.ts';
import { type Bundle, makeTool } from '../bundle.ts';
import { briefRun, fitRun } from '../safe-run.ts';
import { resolveDefinition, startARun } from './start-a-run.ts';

const contract = {
  definition_name: line(128),
  definition_version: line(128),
  input: z.record(z.string(), z.unknown()).describe('As the definition’s input_schema says.'),
  parent_run_id: runId.optional(),
};
const more = {
  idempotency_key: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/)
    .optional()
    .describe('The same key and call give the same run again.'),
};

/** `workflow_run_start` */
export function runStart(bundle: Bundle) {
  const input = z.strictObject(bundle.extras === undefined ? contract : { ...contract, ...more });
  return makeTool({
    name: 'workflow_run_start',
    title: 'Start a run',
    description:
      'Starts a run of a runbook. Answers when the run is stored, not when it is done: wait with workflow_run_get.',
    input,
    output: briefRun,
    hints: {},
    async invoke(args) {
      const { definition_name, definition_version, input: document, parent_run_id } = args;
      const definition = await resolveDefinition(bundle, definition_name, definition_version);
      const run = await startARun(bundle, {
        definition,
        input: document,
        parentRunId: parent_run_id,
        idempotencyKey: (args as { idempotency_key?: string }).idempotency_key,
        inputPlace: 'arguments/input',
      });
      return fitRun(run, bundle.maxWeight);
    },
  });
}
