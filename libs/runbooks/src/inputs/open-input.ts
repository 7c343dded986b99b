/** Inputs of a run: how they are named, and how they are opened through the host's tool. */
import type { ToolDispatch } from '@muster/envelope';
import type { InputProblem } from './input-fault.ts';
import type { FileInput } from './input-fields.ts';
import type { UnreadInput } from './unread-input.ts';

/** What the host's `input_file` tool gives for `{ ref }`. `open` may be called more than once. */
export interface InputFile {
  readonly name: string;
  readonly bytes?: number;
  open(): AsyncIterable<Uint8Array>;
}

/** The tool that opens inputs. */
export const INPUT_FILE_TOOL = 'input_file';

/** One input of a run, under a name of its own. */
export interface NamedInput {
  readonly ref: string;
  readonly name: string;
  readonly target?: string;
  /** When its evidence was taken, in ms since the epoch, where the run says so. */
  readonly takenAt?: number;
}

/** Gives every input a name of its own within its target: rows are told apart by it. */
export function nameInputs(input: FileInput): NamedInput[] {
  const times = new Map<string, number>();
  return input.files.map((file) => {
    const target = file.target ?? input.target;
    const takenAt = file.taken_at ?? input.taken_at;
    const key = JSON.stringify([target, file.name]);
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    return {
      ref: file.ref,
      name: count === 1 ? file.name : `${file.name} (${count})`,
      ...(target !== undefined && { target }),
      ...(takenAt !== undefined && { takenAt: Date.parse(takenAt) }),
    };
  });
}

/** Opens an input. @throws Error with the code `not_found` when there is none, or what the tool throws */
export async function openInput(tools: ToolDispatch, ref: string): Promise<InputFile> {
  // An absence would end the run; here it is about one input, and the gap is stated in that input's row.
  const result = (await tools.call(INPUT_FILE_TOOL, { ref }, { allowAbsent: true })) as Partial<InputFile> | null;
  if (typeof result?.open !== 'function') throw new MissingInputError();
  return result as InputFile;
}

class MissingInputError extends Error {
  readonly code = 'not_found';
}

/** What hosts say when there is nothing behind a ref. */
const MISSING_CODES: readonly string[] = ['not_found', 'input_file_missing', 'ENOENT'];

/** What kept an input from being read. Its own words are left out: they may hold paths and addresses. */
export function unreadableInput(at: { name: string; target?: string }, error: unknown): UnreadInput {
  const code = (error as { code?: unknown } | null)?.code;
  const missing = typeof code === 'string' && MISSING_CODES.includes(code);
  const problem: InputProblem = missing ? 'missing' : 'unreadable';
  const known = typeof code === 'string' && /^\w{1,40}$/.test(code) && !missing ? `: ${code}` : '';
  const detail = missing ? 'there is no such input' : `it could not be opened or read to its end${known}`;
  return { kind: 'unread', ...(at.target !== undefined && { target: at.target }), input: at.name, problem, detail };
}

/** Thrown when an input changed between its two readings: the plan is to begin again. */
export class InputChangedError extends Error {
  override readonly name = 'InputChangedError';
  readonly code = 'input_changed';

  constructor(input: string) {
    super(`the input '${input}' changed while it was being read`);
  }
}

/** What an input is called when it names no subject itself: its file's name without folder and ending. */
export function inputStem(name: string): string {
  const base = name.split('/').at(-1) ?? name;
  const plain = base.replace(/(?:\.(?:txt|log|out|jsonl?|ndjson|ya?ml|pem|crt|cer|der|gz))+$/i, '');
  return plain.replace(/[\s\p{C}]+/gu, '_').slice(0, 200) || 'input';
}
