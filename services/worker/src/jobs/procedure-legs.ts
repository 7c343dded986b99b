/**
 * The legs of a procedure that asks: where a claimed run begins, and how it begins to wait.
 *
 * Invariant: a checkpoint leaves this process sealed and bound to its run, and is opened only by the holder of a claim.
 */
import {
  answerPolicyOf,
  type ProcedureInterruption,
  type ProcedureOutcome,
  type ProcedureRunbook,
  type RunCall,
  RunFailure,
  resumeProcedure,
  resumeSchemaOf,
  runProcedure,
} from '@muster/envelope';
import { SecretBoxError } from '@muster/host';
import { type ArtifactCommit, finishRun, interruptRun, type RunClaim, takeCheckpoint } from '@muster/results';
import { z } from 'zod';
import { failureBody } from '../failure-answer.ts';
import type { WorkerContext } from '../worker-context.ts';

/** A chart's state is not meant to be large, and this one is written and read as one value. */
const MAX_CHECKPOINT_BYTES = 8_000_000;

/** Runs a claimed procedure from its beginning, or goes on from the question that was answered last. */
export async function runOrResume(
  context: WorkerContext,
  runbook: ProcedureRunbook,
  { run, fence }: RunClaim,
  args: Record<string, unknown>,
  call: RunCall,
): Promise<ProcedureOutcome | ProcedureInterruption> {
  const taken = await takeCheckpoint(context.db, { runId: run.id, fence });
  if (taken === undefined) return await runProcedure(runbook, args, call);
  const cannot = (what: string): ProcedureOutcome => {
    const error = new RunFailure('checkpoint_invalid', `the run cannot go on from question ${taken.number}: ${what}`);
    return { kind: 'answered', answer: { kind: 'failure', error }, rows: [], evidence: [] };
  };
  if (taken.definitionDigest !== run.definitionDigest) return cannot('another definition asked it');
  const checkpoint = openCheckpoint(context, run.id, taken.checkpoint);
  if (checkpoint === undefined) return cannot('the checkpoint does not open');
  const answer = await resumeSchemaOf(runbook)?.safeParseAsync(taken.answer);
  if (answer?.success !== true) return cannot('the stored answer does not fit its schema');
  return await resumeProcedure(runbook, checkpoint, answer.data, call);
}

/** Stores the question with its checkpoint. A question that cannot be answered fails the run instead. */
export async function askAndWait(
  context: WorkerContext,
  runbook: ProcedureRunbook,
  { run, fence }: RunClaim,
  { question, checkpoint }: ProcedureInterruption,
  artifacts: readonly ArtifactCommit[],
): Promise<'interrupted' | 'lost' | 'stopped' | 'failed'> {
  const schema = resumeSchemaOf(runbook);
  const bytes = Buffer.from(checkpoint);
  const refusal =
    schema === undefined
      ? new RunFailure('paused', `the runbook '${runbook.name}' asks, and does not declare what an answer is (resume)`)
      : bytes.length > MAX_CHECKPOINT_BYTES
        ? new RunFailure(
            'checkpoint_too_large',
            `the chart's state is ${bytes.length} bytes, over ${MAX_CHECKPOINT_BYTES}`,
          )
        : undefined;
  if (schema === undefined || refusal !== undefined) {
    const body = failureBody(refusal, 'procedure');
    const answer = { kind: 'failure', body } as const;
    await finishRun(context.db, {
      runId: run.id,
      fence,
      status: 'failed',
      answer,
      statusSummary: body.message,
      artifacts,
    });
    return 'failed';
  }
  return await interruptRun(context.db, {
    runId: run.id,
    fence,
    ...question,
    resumeSchema: answerSchema(schema),
    policy: answerPolicyOf(runbook),
    checkpoint: context.box.seal(bytes, placeOf(run.id)),
    artifacts,
  });
}

/** An answer's schema as JSON Schema, as it is recorded with the question. */
export function answerSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...told } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return told;
}

function openCheckpoint(context: WorkerContext, runId: string, sealed: Buffer): string | undefined {
  try {
    return context.box.open(sealed, placeOf(runId)).toString();
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}

function placeOf(runId: string): string {
  return `${runId}/checkpoint`;
}
