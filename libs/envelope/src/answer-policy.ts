/**
 * What a runbook asks people, and who may answer: the schema of an answer, the policy, and a fleet's question before it is
 * assessed.
 */
import { z } from 'zod';
import { RunFailure } from './answer.ts';
import type { FleetRunbook, Runbook } from './define-runbook.ts';
import { errorIdentity } from './error-identity.ts';
import { type InterruptQuestion, readQuestion } from './interrupt-question.ts';
import { isPlainObject } from './plain-object.ts';
import { redactValue } from './redaction.ts';
import type { PlanCounts, RunbookAnswers } from './runbook.ts';
import { checkWhole, type Refusal } from './runbook-options.ts';

/** What an approval of a fleet is answered with, unless the runbook declares its own `resume`. */
export const APPROVAL_ANSWER = z.strictObject({
  approved: z.boolean().describe('Whether the subjects are to be assessed.'),
  reason: z.string().max(400).optional().describe('Why; it is kept.'),
});

/** How long a question stands when the runbook does not say: 24 hours. */
export const DEFAULT_ANSWER_MS = 86_400_000;
const [SHORTEST_MS, LONGEST_MS] = [60_000, 30 * 86_400_000];
const ROLES: readonly NonNullable<RunbookAnswers['role']>[] = ['runner', 'approver', 'admin'];

/** What an answer must be; undefined for a runbook that asks nobody anything. */
export function resumeSchemaOf(runbook: Runbook): z.ZodType<Record<string, unknown>> | undefined {
  if (runbook.resume !== undefined) return runbook.resume;
  return runbook.form === 'fleet' && runbook.fleet.approve !== undefined ? APPROVAL_ANSWER : undefined;
}

/** Whether runs of this runbook can ask, and be resumed. */
export function resumeSupported(runbook: Runbook): boolean {
  return resumeSchemaOf(runbook) !== undefined;
}

/** Who may answer, with every default filled in. */
export function answerPolicyOf({ answers }: Pick<Runbook, 'answers'>): Required<RunbookAnswers> {
  return {
    role: answers?.role ?? 'approver',
    self: answers?.self ?? false,
    withinMs: answers?.withinMs ?? DEFAULT_ANSWER_MS,
  };
}

/**
 * What a fleet asks before it is assessed; undefined when nobody has to be asked.
 *
 * @throws RunFailure `approve_failed` when the runbook's own function throws, or gives no question
 */
export function askBeforeAssess(
  { name, fleet, redact }: FleetRunbook,
  counts: PlanCounts,
  input: Readonly<Record<string, unknown>>,
): InterruptQuestion | undefined {
  const failed = (why: string) =>
    new RunFailure('approve_failed', `the approval of '${name}' could not be asked for: ${why}`);
  let asked: unknown;
  try {
    asked = fleet.approve?.(counts, input);
  } catch (error) {
    throw failed(errorIdentity(error));
  }
  if (asked === undefined) return undefined;
  // What was meant as a question, and a promise of one, must not let the sweep go on without it.
  if (!isPlainObject(asked) || typeof asked.question !== 'string') throw failed('it gave no question');
  return readQuestion(redactValue(asked, redact));
}

/** Checks what a declaration says of answers. */
export function checkAnswers(
  declaration: {
    readonly resume?: unknown;
    readonly answers?: unknown;
    readonly asTool?: unknown;
    readonly fleet?: unknown;
  },
  fail: Refusal,
): void {
  const { resume, answers, asTool, fleet } = declaration;
  if (asTool !== undefined && typeof asTool !== 'boolean') throw fail('asTool', 'true or false', asTool);
  const approve = isPlainObject(fleet) ? fleet.approve : undefined;
  if (resume !== undefined) {
    if (isPlainObject(fleet) && approve === undefined) {
      throw fail('resume', 'left out: a fleet without fleet.approve asks nothing', resume);
    }
    checkSchema(resume, approve !== undefined, fail);
  }
  if (answers === undefined) return;
  if (!isPlainObject(answers)) throw fail('answers', 'an object', answers);
  const { role, self, withinMs, ...unknown } = answers;
  const [stranger] = Object.keys(unknown);
  if (stranger !== undefined) throw fail(`answers.${stranger}`, 'one of role, self, withinMs', unknown[stranger]);
  if (role !== undefined && !ROLES.includes(role as never))
    throw fail('answers.role', `one of ${ROLES.join(', ')}`, role);
  if (self !== undefined && typeof self !== 'boolean') throw fail('answers.self', 'true or false', self);
  checkWhole(withinMs, 'answers.withinMs', fail);
  if (withinMs !== undefined && ((withinMs as number) < SHORTEST_MS || (withinMs as number) > LONGEST_MS)) {
    throw fail('answers.withinMs', `from ${SHORTEST_MS} (a minute) to ${LONGEST_MS} (30 days)`, withinMs);
  }
  if (resume === undefined && approve === undefined) {
    throw fail('answers', 'left out where nothing is asked: declare resume, or fleet.approve', answers);
  }
}

/**
 * An answer's schema is stored with its question as JSON Schema, and answers may be checked against that alone: so it has
 * to be a closed object that JSON Schema can tell, and an approval's has to be able to say no.
 */
function checkSchema(resume: unknown, isApproval: boolean, fail: Refusal): void {
  const closed = 'a closed zod object (z.strictObject) that JSON Schema can tell';
  if (!(resume instanceof z.ZodType)) throw fail('resume', closed, resume);
  let told: z.core.JSONSchema.BaseSchema;
  try {
    told = z.toJSONSchema(resume, { io: 'input' });
  } catch {
    throw fail('resume', closed, resume);
  }
  if (told.type !== 'object' || told.additionalProperties !== false) throw fail('resume', closed, resume);
  const approved = told.properties?.approved;
  const saysNo = typeof approved === 'object' && approved.type === 'boolean' && told.required?.includes('approved');
  if (isApproval && saysNo !== true) {
    throw fail(
      'resume',
      'an object with a required boolean `approved`, because fleet.approve asks for a yes or no',
      resume,
    );
  }
}
