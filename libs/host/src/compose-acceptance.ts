/**
 * What is accepted of a run that is asked for, whoever asks: the input is validated, canonicalised and digested, and the
 * limits that hold for the run as a whole are fixed, like its `now`.
 */
import { answerDeclaration, rulesText } from '@muster/envelope';
import type { RunAcceptance } from '@muster/results';
import { describeRunbook } from './describe-runbook.ts';
import { faultSentence, fieldFaults } from './field-faults.ts';
import { DocumentFault, INPUT_BOUNDS, type InputDocument, readDocument, sha256 } from './input-document.ts';
import type { Definition } from './load-catalog.ts';

type FromDefinition = 'definition' | 'input' | 'form' | 'uploads' | 'deadlineAt' | 'errorBudget';

/** A run that is asked for: what does not follow from its definition and input. */
export interface RunAsked extends Omit<RunAcceptance, FromDefinition | 'now'> {
  readonly definition: Definition;
  readonly input: Readonly<Record<string, unknown>>;
  /** Default: the instant of acceptance. */
  readonly now?: Date | undefined;
  readonly acceptedAt: Date;
}

/**
 * Makes an acceptance of what is asked.
 *
 * @throws DocumentFault when the input is out of bounds or does not fit the runbook's schema
 */
export async function composeAcceptance(asked: RunAsked): Promise<RunAcceptance> {
  const { definition, input, now, acceptedAt, ...rest } = asked;
  const document = await readInput(definition, input);
  return {
    ...limitsOf(definition, acceptedAt),
    ...rest,
    definition: keptDefinition(definition),
    input: { digest: document.digest, canonical: document.canonical },
    form: definition.runbook.form,
    now: now ?? acceptedAt,
    uploads: document.refs,
    acceptedAt,
  };
}

/**
 * Reads an input of a runbook.
 *
 * @throws DocumentFault when it is out of bounds or does not fit the runbook's schema
 */
export async function readInput(
  { runbook }: Definition,
  input: Readonly<Record<string, unknown>>,
): Promise<InputDocument> {
  const document = readDocument(input, 'input', INPUT_BOUNDS);
  const parsed = await runbook.input.safeParseAsync(input);
  if (parsed.success) return document;
  const errors = fieldFaults('input', parsed.error.issues);
  throw new DocumentFault(faultSentence(errors), errors);
}

function keptDefinition(definition: Definition): RunAcceptance['definition'] {
  const { runbook } = definition;
  const declaration = {
    ...describeRunbook(definition),
    answer: answerDeclaration(runbook),
    rules_digest: sha256(rulesText(runbook)),
  };
  return { digest: definition.digest, name: runbook.name, version: runbook.version, declaration };
}

function limitsOf(
  { runbook }: Definition,
  acceptedAt: Date,
): Pick<RunAcceptance, 'deadlineAt' | 'errorBudget' | 'canaryPercent'> {
  const { canary, deadlineMs, errorBudget } = runbook.limits;
  return {
    ...(deadlineMs !== undefined && { deadlineAt: new Date(acceptedAt.getTime() + deadlineMs) }),
    ...(typeof errorBudget === 'number' && { errorBudget: { count: errorBudget } }),
    ...(typeof errorBudget === 'string' && { errorBudget: { percent: Number.parseFloat(errorBudget) } }),
    ...(canary !== undefined && { canaryPercent: Number.parseFloat(canary) }),
  };
}
