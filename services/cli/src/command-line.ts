/** One call of the command line: its arguments in, its exit code out, and one line for whatever went wrong. */
import { CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { ReaderGone, watchOutput } from './output/print.ts';
import { progress } from './output/progress-line.ts';
import { buildProgram } from './program.ts';

/** Names of errors whose message says what the user typed or configured wrongly. */
const USAGE_ERRORS = new Set(['UsageError', 'ConfigError']);
/** Names of our own errors: their messages are one line for a person. */
const OWN_ERRORS = new Set([
  'CommandError',
  'EmbeddedError',
  'CatalogError',
  'RunbookDefinitionError',
  'ArtifactError',
]);

/** Runs one command line and gives the code that the process should end with. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  watchOutput();
  let code: number = EXIT.ok;
  const program = buildProgram((result) => {
    code = result;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    progress.clear();
    return report(error);
  }
}

/** Says what went wrong in one line and gives the exit code. */
function report(error: unknown): number {
  // Commander has said its line already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  // A reader that went away (`| head`) has what it wanted.
  if (error instanceof ReaderGone) return EXIT.ok;
  const { message = String(error), name = 'Error', code } = (error ?? {}) as NodeJS.ErrnoException;
  const text = USAGE_ERRORS.has(name) || OWN_ERRORS.has(name) || code !== undefined ? message : `${name}: ${message}`;
  process.stderr.write(`muster: ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  return USAGE_ERRORS.has(name) ? EXIT.usage : EXIT.failed;
}
