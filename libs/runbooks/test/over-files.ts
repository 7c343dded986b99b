/** Runs a shipped runbook over files in this process. */
import { type AssessedSubject, type FleetRunbook, runFleet } from '@muster/envelope';
import { type InputFile, shippedRunbooks } from '../src/index.ts';

export interface TestFile {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly target?: string;
  readonly taken_at?: string;
  readonly chunkSize?: number;
}

type Bag = Readonly<Record<string, unknown>>;

/** The instant that tests judge by. */
export const NOW = '2026-11-30T12:00:00Z';

export function shipped(name: string): FleetRunbook {
  return shippedRunbooks.find((runbook) => runbook.name === name) as FleetRunbook;
}

/** Runs it; the answer must be an envelope. Text alone is one file. */
export async function runOver(
  runbook: FleetRunbook,
  files: string | Uint8Array | readonly TestFile[],
  input: Bag = {},
  now = NOW,
) {
  const list = isFileList(files) ? files : [{ name: 'input.txt', content: files }];
  const tools = {
    has: () => true,
    call: async (_tool: string, args: unknown): Promise<InputFile> => {
      const file = list[Number((args as { ref: string }).ref)];
      if (file === undefined) throw Object.assign(new Error('no file at /secret/place'), { code: 'ENOENT' });
      return { name: file.name, open: () => chunks(file) };
    },
  };
  const named = list.map(({ name, target, taken_at }, index) => ({
    ref: String(index),
    name,
    ...(target && { target }),
    ...(taken_at && { taken_at }),
  }));
  const args = { input: runbook.input.parse({ files: named, ...input }), now };
  const { answer, subjects } = await runFleet(runbook, args, { tools, toolCallId: 'call-1', runId: 'run-1' });
  if (answer.kind !== 'envelope') throw new Error(`expected an envelope, got ${answer.kind}`, { cause: answer });
  const body = answer.body as unknown as {
    af_coverage: Record<'checked' | 'not_checked' | 'cannot_cover', { what: string; why?: string }[] | undefined>;
  };
  return { subjects, answer, coverage: body.af_coverage, verdicts: verdictsOf(subjects) };
}

/** Key to verdict word. */
export function verdictsOf(subjects: readonly AssessedSubject[]): Record<string, string | undefined> {
  return Object.fromEntries(subjects.map((subject) => [subject.key, subject.verdict ?? subject.outcome]));
}

export async function* chunks({ content, chunkSize = 4096 }: Pick<TestFile, 'content' | 'chunkSize'>) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
}

function isFileList(files: unknown): files is readonly TestFile[] {
  return Array.isArray(files) && !(files instanceof Uint8Array);
}
