import { z } from 'zod';
import { decodeArguments } from '../arguments.ts';
import { boundedLine } from '../bounded-text.ts';
import { type Bundle, jsonSchema } from '../bundle.ts';
import type { DefinitionSummary, WorkflowExtras } from '../ports.ts';
import type { WorkflowTool } from '../tool.ts';
import { startARun } from './start-a-run.ts';
import { MAX_WAIT_MS, waitedRun } from './waited-run.ts';

const DESCRIPTION_BYTES = 256;

/**
 * `runbook_NAME`: a runbook as one tool (the seed's runbook-as-tool). Its answer is the envelope when that comes within the
 * wait, and the run to go on with when it takes longer, or asks.
 */
export function runbookTool(bundle: Bundle, extras: WorkflowExtras, definition: DefinitionSummary): WorkflowTool {
  return {
    name: `runbook_${definition.name}`,
    description: boundedLine(definition.description, DESCRIPTION_BYTES),
    inputSchema: { type: 'object', ...definition.input_schema } as WorkflowTool['inputSchema'],
    get outputSchema() {
      return jsonSchema(
        z.looseObject({ run_id: z.string(), run_status: z.string(), envelope: z.unknown().optional() }),
        'output',
      );
    },
    annotations: {
      title: `Run ${definition.name}`,
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    async invoke(json, { signal } = {}) {
      const input = decodeArguments(z.looseObject({}), json);
      const run = await startARun(bundle, { definition, input, inputPlace: 'arguments' });
      const waited = await extras.wait(run.run_id, MAX_WAIT_MS, signal);
      return waitedRun(waited, { withEnvelope: true, maxWeight: bundle.maxWeight });
    },
  };
}
