/** `muster`: the command line. */

import { readFile } from 'node:fs/promises';
import { ConfigError, readConfig } from '@muster/host';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ApiClient } from './api-client.ts';
import { printRun, waitForRun } from './commands/answer-run.ts';
import { demoSweep } from './commands/demo.ts';
import { type RunOptions, runCommand } from './commands/run.ts';
import { withStack } from './commands/serve.ts';
import { tryCommand } from './commands/try.ts';
import { connect } from './connect.ts';
import { readServerFile } from './embedded/server-file.ts';
import { CommandError, EXIT, UsageError } from './exit-codes.ts';
import { readInstant } from './input-fields.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  // A reader that went away (`| head`) is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
  );
  let code: number = EXIT.ok;
  const program = buildProgram((result) => {
    code = result;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return report(error);
  }
}

/** Says what went wrong in one line and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has said its line already; help and version are no errors.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  const { message, code, name } = error as { message?: string; code?: string; name?: string };
  const ours =
    error instanceof UsageError || error instanceof CommandError || error instanceof ConfigError || code !== undefined;
  const text = ours ? (message ?? String(error)) : `${name ?? 'Error'}: ${message ?? error}`;
  process.stderr.write(`muster: ${text.split('\n')[0]}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? EXIT.usage : EXIT.failed;
}

function buildProgram(done: (code: number) => void): Command {
  const config = () => readConfig(process.env);
  const program = new Command('muster')
    .description('Runs standing procedures over fleets and answers with evidence.')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({ outputError: (text, write) => write(`muster: ${text.replace(/^error: /, '')}`) });

  runOptions(program.command('run').description('Run a runbook over files through the API and print its answer.'))
    .addOption(new Option('--detach', 'print the run id and do not wait').conflicts(['json', 'rows', 'failOn']))
    .action(async (runbook: string, files: string[], options: RunOptions) =>
      done(await runCommand(await connect(config()), runbook, files, options)),
    );
  runOptions(
    program.command('try').description('Try a runbook over files in this process, without any service.'),
  ).action(async (runbook: string, files: string[], options: RunOptions) =>
    done(await tryCommand(config(), runbook, files, options)),
  );
  printOptions(
    program.command('get').description('Print the answer of a run that is over.').argument('<run>', 'run id'),
  ).action(async (runId: string, options: RunOptions) => {
    const api = await connect(config());
    const run = await api.getRun(runId);
    if (run.answer_kind === undefined) {
      throw new CommandError(`the run is ${run.run_status} (${run.phase}); \`muster watch ${runId}\` waits for it`);
    }
    done(await printRun(api, run, options));
  });
  printOptions(
    program.command('watch').description('Wait for a run and print its answer.').argument('<run>', 'run id'),
  ).action(async (runId: string, options: RunOptions) => {
    const api = await connect(config());
    done(await printRun(api, await waitForRun(api, runId), options));
  });
  program
    .command('cancel')
    .description('Ask a run to stop; its answer still comes.')
    .argument('<run>', 'run id')
    .option('--reason <text>', 'why')
    .action(async (runId: string, options: { reason?: string }) => {
      await (await connect(config())).cancelRun(runId, options.reason);
      process.stderr.write(`asked run ${runId} to stop\n`);
    });
  serveOptions(program.command('serve').description('Bring up everything on this machine and stay.'))
    .option('--demo', 'run the demo sweep once before staying')
    .action(async (options: { verbose?: boolean; workers: number; demo?: boolean }) => {
      const settings = config();
      const stackOptions = { verbose: options.verbose === true, workers: options.workers };
      const work = async (stack: { address: string; keyFile: string }) => {
        if (options.demo) await demoSweep(await clientOf(stack), {});
        process.stdout.write(
          `Muster is up at ${stack.address}; the admin key is in ${stack.keyFile}. Ctrl-C stops it.\n`,
        );
        return EXIT.ok;
      };
      done(await withStack(settings, stackOptions, work, true));
    });
  serveOptions(program.command('demo').description('Bring up everything, run the demo sweep once, and end.'))
    .option('--json', 'print { run, envelope } as JSON')
    .action(async (options: { verbose?: boolean; workers: number; json?: boolean }) => {
      const settings = config();
      // A Muster that runs in this folder already is good enough for the demo.
      if ((await readServerFile(settings.dataDirectory)) !== undefined) {
        return done(await demoSweep(await connect(settings), options));
      }
      // The demo leaves the configured port to whoever stays.
      if (process.env.MUSTER_PORT === undefined) process.env.MUSTER_PORT = '0';
      const stackOptions = { verbose: options.verbose === true, workers: options.workers };
      done(await withStack(settings, stackOptions, async (stack) => demoSweep(await clientOf(stack), options), false));
    });
  return program;
}

async function clientOf(stack: { readonly address: string; readonly keyFile: string }): Promise<ApiClient> {
  return new ApiClient(stack.address, (await readFile(stack.keyFile, 'utf8')).trim());
}

function runOptions(command: Command): Command {
  return printOptions(command)
    .argument('<runbook>', 'name of the runbook')
    .argument('[files...]', 'files that become its input; - is standard input')
    .option('--input <field=value>', 'a field of its input; may be given more than once', append, [])
    .option('--now <time>', 'the instant to judge by (RFC 3339); default: now', (text) => readInstant('--now', text));
}

function printOptions(command: Command): Command {
  return command
    .addOption(new Option('--json', 'print { run, envelope } as JSON').conflicts('rows'))
    .option('--rows', 'print one verdict row a line as JSON')
    .addOption(new Option('--fail-on <standing>', 'exit 3 when there is a row of this standing').choices(['problem']));
}

function serveOptions(command: Command): Command {
  return command
    .option('--workers <count>', 'worker processes', readCount, 1)
    .option('--verbose', 'show the logs of the services on standard error');
}

function append(value: string, values: string[]): string[] {
  return [...values, value];
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 32)
    throw new InvalidArgumentError('It must be a whole number from 1 to 32.');
  return count;
}
