/** Options that several commands have, and how their values are read. */
import { nearest } from '@muster/host/config';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from './exit-codes.ts';
import { readInstant } from './input-fields.ts';

const MAX_WORKERS = 32;
const SUBJECT_ENDS = ['ok', 'problem', 'declined', 'not_checked', 'cannot_cover'];
const CHANGES = [
  'newly_problem',
  'became_unknown',
  'rule_changed',
  'known_again',
  'new_subject',
  'gone',
  'fixed',
  'still_problem',
];

/** What to run, over what. */
export function runOptions(command: Command): Command {
  return nowOption(
    printOptions(command)
      .argument('<runbook>', 'name of the runbook')
      .argument('[files...]', 'files that become its input; - is standard input')
      .option('--input <field=value>', 'a field of its input; may be given more than once', append),
  );
}

/** The instant to judge by. */
export function nowOption(command: Command): Command {
  return command.option(
    '--now <time>',
    'the instant to judge by, like 2026-01-31T12:00:00Z (default: now)',
    (text: string) => readInstant('--now', text),
  );
}

/** How an answer is printed. */
export function printOptions(command: Command): Command {
  return command
    .addOption(new Option('--json', 'print { run, envelope } as JSON and nothing else').conflicts('rows'))
    .option('--rows', 'print one verdict row a line as JSON: subject, verdict, standing, reason, columns')
    .addOption(new Option('--fail-on <standing>', 'exit 3 when there is a row of this standing').choices(['problem']));
}

/** Whether to wait, and whether to assess. */
export function startOptions(command: Command): Command {
  return command
    .addOption(new Option('--detach', 'print the run id and do not wait').conflicts(['json', 'rows', 'failOn']))
    .addOption(new Option('--dry-run', 'count subjects and targets, and assess nothing').conflicts(['rows', 'failOn']));
}

/** What a stack on this machine is made of. */
export function serveOptions(command: Command): Command {
  return command
    .option('--workers <count>', 'worker processes', wholeNumber(1, MAX_WORKERS), 1)
    .option('--verbose', 'show the logs of the services on standard error instead of keeping them in files');
}

/** Puts a line to copy below a command's help. */
export function example(command: Command, line: string): Command {
  return command.addHelpText('after', `\nExample:\n  ${line}`);
}

/** For an option that may be given more than once. */
export function append(value: string, values: readonly string[] = []): string[] {
  return [...values, value];
}

/** Reads a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (!/^\d+$/.test(text) || count < least || count > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return count;
  };
}

/** Reads a whole number, or the word `none`: a null would be taken for no value. */
export function limit(text: string): number | 'none' {
  if (text === 'none') return text;
  const count = Number(text);
  if (/^\d{1,10}$/.test(text) && count <= 2_147_483_647) return count;
  throw new InvalidArgumentError('It must be a whole number up to 2147483647, or none.');
}

/** Reads ways in which subjects end, with commas between them. @throws UsageError with the nearest one for a typo */
export function subjectEnds(text: string): string[] {
  return readWords('--only', text, SUBJECT_ENDS);
}

/** Reads words of what changed, with commas between them. @throws UsageError with the nearest one for a typo */
export function changeWords(text: string): string[] {
  return readWords('--change', text, CHANGES);
}

function readWords(option: string, text: string, known: readonly string[]): string[] {
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !known.includes(word));
  if (unknown === undefined) return [...new Set(words)];
  throw new UsageError(
    `${option}: there is no ${JSON.stringify(unknown)}; did you mean ${nearest(unknown, known)}? It takes ${known.join(', ')}`,
  );
}

/** Reads a share like `10%` as its number. */
export function share(text: string): number {
  const [, number] = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text) ?? [];
  const percent = Number(number);
  if (percent > 0 && percent <= 100) return percent;
  throw new InvalidArgumentError('It must be a share like 10%, over 0% and at most 100%.');
}
