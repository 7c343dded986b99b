import type { ApiClient, InterruptionView } from '../api-client.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { oneLine } from '../output/print.ts';

export interface ResumeOptions {
  readonly answer?: string;
  readonly approve?: boolean;
  readonly refuse?: boolean;
  readonly reason?: string;
}

/** `muster resume`: answers what an interrupted run asks. */
export async function resumeCommand(api: ApiClient, runId: string, options: ResumeOptions): Promise<number> {
  const answer = answerOf(options);
  const asked = await api.getInterruption(runId);
  await api.resumeRun(runId, answer, asked.number);
  process.stderr.write(`${told(asked, answer)}; \`npm run muster -- watch ${runId}\` prints its answer\n`);
  return EXIT.ok;
}

/** What is to be sent. @throws UsageError */
export function answerOf({ answer, approve, refuse, reason }: ResumeOptions): Readonly<Record<string, unknown>> {
  const given = [answer !== undefined, approve === true, refuse === true].filter(Boolean).length;
  if (given !== 1) throw new UsageError('give one answer: --approve, --refuse, or --answer with a JSON object');
  if (answer === undefined) return { approved: approve === true, ...(reason !== undefined && { reason }) };
  if (reason !== undefined) throw new UsageError('--reason goes with --approve and --refuse; --answer has all of it');
  let value: unknown;
  try {
    value = JSON.parse(answer);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError('--answer takes one JSON object, like \'{"approved": true}\'');
}

function told(asked: InterruptionView, answer: Readonly<Record<string, unknown>>): string {
  const question = `answered "${oneLine(asked.question)}"`;
  return asked.source === 'approval' && answer.approved === false
    ? `${question}: the run ends without being assessed`
    : `${question}: the run goes on`;
}
