/** Files of schedules: YAML or JSON, `{ schedules: [...] }`, checked whole before anything of them is used. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { type FiledSchedule, filedScheduleSchema } from './declaration.ts';

/** More text than that is no file of schedules. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_SCHEDULES = 1000;
const MAX_ALIASES = 100;

const fileSchema = z.strictObject({ schedules: z.array(filedScheduleSchema).max(MAX_SCHEDULES) });

/** What is wrong with a file, in one line. `issues` are the schema's, where it is that. */
export class ScheduleFileError extends Error {
  override readonly name = 'ScheduleFileError';
  readonly code = 'schedule_file_invalid';
  readonly issues: readonly z.core.$ZodIssue[];

  constructor(message: string, issues: readonly z.core.$ZodIssue[] = []) {
    super(message);
    this.issues = issues;
  }
}

/**
 * Reads the text of a file of schedules.
 *
 * @throws ScheduleFileError
 */
export function parseScheduleFile(text: string): FiledSchedule[] {
  const parsed = fileSchema.safeParse(parseText(text));
  if (!parsed.success) throw new ScheduleFileError('it does not fit the schema', parsed.error.issues);
  const { schedules } = parsed.data;
  const seen = new Set<string>();
  for (const { tenant, name } of schedules) {
    const key = `${tenant}/${name}`;
    if (seen.has(key)) throw new ScheduleFileError(`the schedule '${name}' of the tenant '${tenant}' is there twice`);
    seen.add(key);
  }
  return schedules;
}

/**
 * Reads one YAML or JSON document.
 *
 * @throws ScheduleFileError naming line and column
 */
export function parseText(text: string): unknown {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new ScheduleFileError(`it has more than ${MAX_FILE_BYTES} bytes`);
  // YAML is a superset of JSON. Repeated keys are an error in both.
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true });
  const [fault] = document.errors;
  if (fault !== undefined) {
    const [at] = fault.linePos ?? [];
    const place = at === undefined ? '' : ` in line ${at.line}, column ${at.col}`;
    throw new ScheduleFileError(`it is neither YAML nor JSON${place} (${fault.code})`);
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch {
    throw new ScheduleFileError('it refers to more of itself than a file of schedules needs to');
  }
}
