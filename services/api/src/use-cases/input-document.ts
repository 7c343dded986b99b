/** Documents of callers, refused as problems. */
import { ANSWER_BOUNDS, DocumentFault, type InputDocument, readDocument } from '@muster/host';
import { Problem } from '../problems.ts';

/** Reads an answer that is plain JSON. @throws Problem `resume_invalid` */
export function readAnswerDocument(answer: Readonly<Record<string, unknown>>): InputDocument {
  try {
    return readDocument(answer, 'answer', ANSWER_BOUNDS);
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error;
    const errors = error.errors.map(({ expected }) => ({ path: 'resume', expected }));
    throw new Problem('resume_invalid', error.message, { errors });
  }
}

/** The problem of an input that cannot be taken. */
export function inputProblem(fault: DocumentFault): Problem {
  const { bound, limit } = fault.over ?? {};
  const extras = fault.over === undefined ? { errors: fault.errors } : { bound, limit };
  return new Problem(fault.code, fault.message, extras);
}
