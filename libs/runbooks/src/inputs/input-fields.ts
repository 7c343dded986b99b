/** The fields that every runbook over files has in its input. */
import { z } from 'zod';

/** A name of a cluster or a host goes in front of a subject, so it has no slash. */
const target = z
  .string()
  .regex(/^[^\s/\p{C}]{1,200}$/u, 'must be 1 to 200 visible characters without spaces or slashes');

const MOST_FILES = 1000;
const MOST_EXPECTED = 100_000;

/** What the words of a runbook's own fields are made of. */
export interface InputWords {
  /** What a target is: `cluster`, `host`. */
  readonly target: string;
  /** What its subjects are, in the plural: `workloads`, `disks`. */
  readonly subjects: string;
}

/** The shared fields, in the words of one runbook. Spread them into its `z.strictObject`. */
export function inputFields({ target: noun, subjects }: InputWords) {
  const takenAt = z.iso.datetime({ offset: true });
  return {
    files: z
      .array(
        z.strictObject({
          ref: z.string().min(1).max(1024).describe('What the input_file tool opens.'),
          name: z.string().min(1).max(200).describe('What the answer calls it.'),
          target: target.optional().describe(`The ${noun} it came from; goes in front of its subjects.`),
          taken_at: takenAt.optional().describe('When its evidence was taken, where the file does not tell.'),
        }),
      )
      .min(1)
      .max(MOST_FILES),
    target: target.optional().describe(`The ${noun} of every file that names none.`),
    taken_at: takenAt.optional().describe('When the evidence of every file was taken that names no instant itself.'),
    expected: z
      .array(z.string().min(1).max(1024))
      .max(MOST_EXPECTED)
      .optional()
      .describe(`The ${subjects} that must be told of, as rows name them: one that is not is never passed over.`),
    max_evidence_age: z
      .int()
      .min(1)
      .max(315_360_000)
      .optional()
      .describe(
        'Evidence older than this, or of an age that is not told, is not judged. In seconds. Default: any age.',
      ),
  };
}

/** What the shared fields come to. */
export interface FileInput {
  readonly files: readonly {
    readonly ref: string;
    readonly name: string;
    readonly target?: string | undefined;
    readonly taken_at?: string | undefined;
  }[];
  readonly target?: string | undefined;
  readonly taken_at?: string | undefined;
  readonly expected?: readonly string[] | undefined;
  readonly max_evidence_age?: number | undefined;
}
