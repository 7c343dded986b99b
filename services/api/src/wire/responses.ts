/** How answers are declared: a sentence, a media type and a schema; and the one problem document for everything else. */
import { z } from 'zod';
import { PROBLEM_MEDIA_TYPE, PROBLEMS } from '../problems.ts';

const codes = Object.keys(PROBLEMS) as [keyof typeof PROBLEMS];

/** RFC 9457, with our stable `code`. */
export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.enum(codes),
    instance: z.string(),
    errors: z.array(z.object({ path: z.string(), expected: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });

/** A JSON answer. */
export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

/** Every refusal of a route. */
export const refusals = {
  default: { description: 'A problem document.', content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } } },
};

/** An empty answer. */
export const nothing = z.undefined();
