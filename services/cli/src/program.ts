/**
 * The commands, their options and their help. What a command does is loaded when it is called, and not before.
 * docs/cli.md is checked against this by a test.
 */
import { readFileSync } from 'node:fs';
import { readConfig } from '@muster/host/config';
import { Argument, Command, Option } from 'commander';
import type { ApiClient } from './api-client.ts';
import type { PrintOptions } from './commands/answer-run.ts';
import type { DeliveriesOptions } from './commands/deliveries.ts';
import type { DeliveryOptions } from './commands/delivery.ts';
import type { DiffOptions } from './commands/diff.ts';
import type { InterruptionsOptions } from './commands/interruptions.ts';
import type { McpOptions } from './commands/mcp.ts';
import type { MuteOptions } from './commands/mutes.ts';
import type { NoticesOptions } from './commands/notices.ts';
import { NOTIFIER_ACTIONS, type NotifierAction, type NotifierOptions } from './commands/notifier.ts';
import type { QuotaOptions } from './commands/quota.ts';
import type { RerunOptions } from './commands/rerun.ts';
import type { ResumeOptions } from './commands/resume.ts';
import type { RunOptions } from './commands/run.ts';
import type { RunsOptions } from './commands/runs.ts';
import { UsageError } from './exit-codes.ts';
import { scheduleCommands } from './schedule-commands.ts';
import {
  append,
  changeWords,
  example,
  limit,
  nowOption,
  printOptions,
  runOptions,
  serveOptions,
  share,
  startOptions,
  subjectEnds,
  wholeNumber,
} from './shared-options.ts';

const MAX_LISTED = 1000;
const STATUSES = ['pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed'];
const DELIVERY_STATES = ['received', 'done', 'refused', 'unreadable'];
const EXIT_CODES = `Exit codes:
  0    done, whatever the verdicts are
  1    the run failed, or something could not be carried out
  2    wrong usage, wrong configuration, an input that is not there
  3    --fail-on problem, and there is one
  4    the run waits for an answer: muster resume gives it
  130  ended by Ctrl-C`;

/** Builds the program. `done` is told the exit code of the command that ran. */
export function buildProgram(done: (code: number) => void): Command {
  const program = new Command('muster')
    .usage('<command> [options]')
    .description('Runs standing procedures over fleets and answers with evidence.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', `\n${EXIT_CODES}`);

  example(
    startOptions(
      runOptions(program.command('run').description('Run a runbook over files through the API and print its answer.')),
    ),
    'muster run kubernetes_workloads pods.json --rows --fail-on problem',
  )
    .option('--canary <share>', 'the share of targets that goes first, like 10%', share)
    .option('--scope <name>', 'what it sweeps: runs of one runbook and scope are compared with each other')
    .option('--keep-input', 'keep the uploaded files when the run is over, so that a rerun can read them')
    .action(async (runbook: string, files: string[], options: RunOptions) => {
      const { runCommand } = await import('./commands/run.ts');
      done(await runCommand(await api(), runbook, files, options));
    });

  example(
    runOptions(program.command('try').description('Try a runbook over files in this process, without any service.')),
    'kubectl get pods -A -o json | muster try kubernetes_workloads -',
  ).action(async (runbook: string, files: string[], options: RunOptions) => {
    const config = readConfig(process.env);
    const { tryCommand } = await import('./commands/try.ts');
    done(await tryCommand(config, runbook, files, options));
  });

  example(
    nowOption(
      startOptions(
        printOptions(
          program
            .command('rerun')
            .description('Do a part of a run again: the same input, the chosen subjects, the runbook of now.')
            .argument('<run>', 'id of the run'),
        ),
      ),
    ),
    'muster rerun 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d --only problem,not_checked',
  )
    .addOption(
      new Option(
        '--only <ends>',
        'subjects that ended so: ok, problem, declined, not_checked, cannot_cover; several with commas',
      )
        .argParser(subjectEnds)
        .conflicts('subject'),
    )
    .option('--subject <key>', 'a subject by its key; may be given more than once', append)
    .action(async (runId: string, options: RerunOptions) => {
      if (options.only === undefined && options.subject === undefined) {
        throw new UsageError('say what is to be done again: --only problem,not_checked or --subject KEY');
      }
      const { rerunCommand } = await import('./commands/rerun.ts');
      done(await rerunCommand(await api(), runId, options));
    });

  example(
    printOptions(
      program.command('get').description('Print the answer of a run that is over.').argument('<run>', 'id of the run'),
    ),
    'muster get 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d --json',
  ).action(async (runId: string, options: PrintOptions) => {
    const { getCommand } = await import('./commands/answer-run.ts');
    done(await getCommand(await api(), runId, options));
  });

  example(
    printOptions(
      program.command('watch').description('Wait for a run and print its answer.').argument('<run>', 'id of the run'),
    ),
    'muster watch "$(muster run kubernetes_workloads pods.json --detach)"',
  ).action(async (runId: string, options: PrintOptions) => {
    const { watchCommand } = await import('./commands/answer-run.ts');
    done(await watchCommand(await api(), runId, options));
  });

  example(
    program
      .command('diff')
      .description('Print what a run changed since the sweep of its scope before it, one change a line.')
      .argument('<run>', 'id of the run'),
    'muster diff 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d --change newly_problem,became_unknown',
  )
    .option(
      '--change <words>',
      'only these: newly_problem, became_unknown, rule_changed, known_again, new_subject, gone, fixed, still_problem; several with commas',
      changeWords,
    )
    .option('--target <name>', 'only what belongs to this target')
    .option('--json', 'print one change a line as JSON')
    .action(async (runId: string, options: DiffOptions) => {
      const { diffCommand } = await import('./commands/diff.ts');
      done(await diffCommand(await api(), runId, options));
    });

  example(
    program.command('resume').description('Answer what an interrupted run asks, so that it goes on.'),
    'muster resume 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d --refuse --reason "too many clusters"',
  )
    .argument('<run>', 'id of the run')
    .addOption(new Option('--approve', 'yes').conflicts(['refuse', 'answer']))
    .addOption(new Option('--refuse', 'no: a fleet is not assessed').conflicts(['answer']))
    .option('--reason <text>', 'why; kept with the answer')
    .option('--answer <json>', 'the whole answer, for questions that want more than yes or no')
    .action(async (runId: string, options: ResumeOptions) => {
      const { resumeCommand } = await import('./commands/resume.ts');
      done(await resumeCommand(await api(), runId, options));
    });

  example(
    program.command('interruptions').description('List what runs ask and nobody has answered yet, one a line.'),
    'muster interruptions --json',
  )
    .option('--limit <count>', 'how many at most', wholeNumber(1, MAX_LISTED), 20)
    .option('--json', 'print one question a line as JSON')
    .action(async (options: InterruptionsOptions) => {
      const { interruptionsCommand } = await import('./commands/interruptions.ts');
      done(await interruptionsCommand(await api(), options));
    });

  example(
    program.command('cancel').description('Ask a run to stop; its answer still comes.'),
    'muster cancel 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d --reason "wrong file"',
  )
    .argument('<run>', 'id of the run')
    .option('--reason <text>', 'why; kept with the run')
    .action(async (runId: string, options: { reason?: string }) => {
      const client = await api();
      await client.cancelRun(runId, options.reason);
      process.stderr.write(`asked run ${runId} to stop; \`npm run muster -- watch ${runId}\` prints its answer\n`);
    });

  example(
    program.command('runs').description('List the latest runs, one a line, newest first.'),
    'muster runs --status failed --limit 5',
  )
    .option('--limit <count>', 'how many at most', wholeNumber(1, MAX_LISTED), 20)
    .addOption(new Option('--status <status>', 'only runs of this status').choices(STATUSES))
    .option('--runbook <name>', 'only runs of this runbook')
    .option('--json', 'print one run a line as JSON')
    .action(async (options: RunsOptions) => {
      const { runsCommand } = await import('./commands/runs.ts');
      done(await runsCommand(await api(), options));
    });

  example(
    program.command('deliveries').description('List what webhooks brought, one a line, newest first.'),
    'muster deliveries --hook disk-alerts --state refused',
  )
    .option('--limit <count>', 'how many at most', wholeNumber(1, MAX_LISTED), 20)
    .option('--hook <name>', 'only deliveries of this hook')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .option('--json', 'print one delivery a line as JSON')
    .action(async (options: DeliveriesOptions) => {
      const { deliveriesCommand } = await import('./commands/deliveries.ts');
      done(await deliveriesCommand(await api(), options));
    });

  example(
    program.command('delivery').description('Show a delivery and what came of it, or work on it once more.'),
    'muster delivery replay 6f1f2c9e-0c0a-4f5e-9f57-0c5a3a2c1b11',
  )
    .addArgument(new Argument('<action>', 'what to do with it').choices(['show', 'replay']))
    .argument('<delivery>', 'id of the delivery')
    .option('--json', 'print it as JSON')
    .action(async (action: 'show' | 'replay', id: string, options: DeliveryOptions) => {
      const { replayDeliveryCommand, showDeliveryCommand } = await import('./commands/delivery.ts');
      const command = action === 'show' ? showDeliveryCommand : replayDeliveryCommand;
      done(await command(await api(), id, options));
    });

  example(
    program
      .command('runbooks')
      .description(
        'List the runbooks: what each judges, its verdicts, its inputs. With MUSTER_API_URL, those of that API.',
      ),
    'MUSTER_RUNBOOKS=./my-runbooks.ts muster runbooks',
  )
    .option('--json', 'print one runbook a line as JSON')
    .action(async (options: { json?: boolean }) => {
      const config = readConfig(process.env);
      const { runbooksCommand } = await import('./commands/runbooks.ts');
      done(await runbooksCommand(config, options));
    });

  scheduleCommands(program, api, done);

  example(
    program.command('notifiers').description('List where notices go, one notifier a line.'),
    'muster notifiers --json',
  )
    .option('--json', 'print one notifier a line as JSON')
    .action(async (options: { json?: boolean }) => {
      const { notifiersCommand } = await import('./commands/notifier.ts');
      done(await notifiersCommand(await api(), options));
    });

  example(
    program
      .command('notifier')
      .description('Set, show, try or delete where notices go, or have everything told that is wrong now.'),
    'muster notifier set ops --url https://hooks.example.com/muster --changes newly_problem,fixed',
  )
    .addArgument(new Argument('<action>', 'what to do').choices(NOTIFIER_ACTIONS))
    .argument('<name>', 'name of the notifier')
    .option('--url <url>', 'where its notices are posted')
    .addOption(new Option('--format <format>', 'what it is told').choices(['muster', 'slack', 'envelope']))
    .option('--runbook <name>', 'only of this runbook; may be given more than once', append)
    .option('--scope <key>', 'only of this scope; may be given more than once', append)
    .option('--target <name>', 'only of this target; may be given more than once', append)
    .option('--changes <words>', 'the changes that are told; several with commas', (text) => text.split(','))
    .option('--disable', 'file nothing for it')
    .option('--json', 'print the notifier as JSON')
    .action(async (action: NotifierAction, name: string, options: NotifierOptions) => {
      const { notifierCommand } = await import('./commands/notifier.ts');
      done(await notifierCommand(await api(), action, name, options));
    });

  example(
    program.command('notices').description('List notices with what became of them, one a line, newest first.'),
    'muster notices --state dead',
  )
    .addOption(
      new Option('--state <state>', 'only notices in this state').choices(['pending', 'sent', 'dead', 'dropped']),
    )
    .option('--notifier <name>', 'only those of this notifier')
    .option('--limit <count>', 'how many at most', wholeNumber(1, 100), 20)
    .option('--json', 'print one notice a line as JSON')
    .action(async (options: NoticesOptions) => {
      const { noticesCommand } = await import('./commands/notices.ts');
      done(await noticesCommand(await api(), options));
    });

  example(
    program.command('resend').description('Send a notice that is over once more, as it was.'),
    'muster resend 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d',
  )
    .argument('<notice>', 'id of the notice')
    .action(async (noticeId: string) => {
      const { resendCommand } = await import('./commands/notices.ts');
      done(await resendCommand(await api(), noticeId));
    });

  example(
    program.command('mute').description('Do not tell of some subjects for a while; they stay counted, as muted.'),
    'muster mute --subject "shop/*" --until 2026-12-01T06:00:00Z --reason "moving house"',
  )
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--until <instant>', 'when it ends, RFC 3339 with a zone')
    .option('--from <instant>', 'when it begins: a window of maintenance')
    .option('--runbook <name>', 'only of this runbook')
    .option('--scope <key>', 'only of this scope')
    .option('--subject <pattern>', 'only subjects like this; * is any characters')
    .option('--target <pattern>', 'only targets like this; * is any characters')
    .action(async (options: MuteOptions) => {
      const { muteCommand } = await import('./commands/mutes.ts');
      done(await muteCommand(await api(), options));
    });

  example(program.command('mutes').description('List what is muted or will be, one a line.'), 'muster mutes --json')
    .option('--json', 'print one mute a line as JSON')
    .action(async (options: { json?: boolean }) => {
      const { mutesCommand } = await import('./commands/mutes.ts');
      done(await mutesCommand(await api(), options));
    });

  example(
    program.command('unmute').description('End a mute now; what became a problem under it is told by the next sweep.'),
    'muster unmute 0190cf3e-6f3a-7c1e-9b1e-3d5f6a7b8c9d',
  )
    .argument('<mute>', 'id of the mute')
    .action(async (muteId: string) => {
      const { unmuteCommand } = await import('./commands/mutes.ts');
      done(await unmuteCommand(await api(), muteId));
    });

  example(
    program.command('quota').description('Show what the tenant may have at most, or set it. Needs an admin key.'),
    'muster quota --max-open-runs 20 --max-subjects-per-run none',
  )
    .option('--max-open-runs <count>', 'runs that are not over; none is no limit', limit)
    .option('--max-subjects-per-run <count>', 'subjects of one run; none is no limit', limit)
    .option('--max-in-flight-chunks <count>', 'chunks that workers have at once; none is no limit', limit)
    .option('--json', 'print the limits as JSON')
    .action(async (options: QuotaOptions) => {
      const { quotaCommand } = await import('./commands/quota.ts');
      done(await quotaCommand(await api(), options));
    });

  example(
    program
      .command('mcp')
      .description('Speak MCP on standard input and output, for agents: every message goes to the API and back.'),
    'claude mcp add muster -- muster mcp --session incident-42',
  )
    .option('--session <name>', 'name of the session whose runs it sees and starts', 'default')
    .action(async (options: McpOptions) => {
      const { mcpCommand } = await import('./commands/mcp.ts');
      done(await mcpCommand(readConfig(process.env), options));
    });

  example(
    serveOptions(program.command('serve').description('Bring up everything on this machine and stay until Ctrl-C.')),
    'MUSTER_PORT=8080 muster serve --workers 2',
  )
    .option('--demo', 'run the demo sweep once before staying')
    .action(async (options: { verbose?: boolean; workers: number; demo?: boolean }) => {
      const { serveCommand } = await import('./commands/serve.ts');
      done(await serveCommand(options));
    });

  example(
    serveOptions(program.command('demo').description('Bring up everything, run the demo sweep once, and end.')),
    "muster demo --json | jq '.envelope.af_coverage'",
  )
    .option('--json', 'print { run, envelope } as JSON and nothing else')
    .action(async (options: { verbose?: boolean; workers: number; json?: boolean }) => {
      const { demoCommand } = await import('./commands/serve.ts');
      done(await demoCommand(options));
    });

  for (const command of [program, ...program.commands]) speakInOneLine(command);
  return program;
}

async function api(): Promise<ApiClient> {
  const { connect } = await import('./connect.ts');
  return await connect(readConfig(process.env));
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Wrong usage is one line that says what was expected. */
function speakInOneLine(command: Command): void {
  command.exitOverride().configureOutput({
    outputError(text, write) {
      const said = text
        .replace(/^error: /, '')
        .replaceAll(/\s*\n\s*/g, ' ')
        .trim();
      const known = command.commands.map((one) => one.name()).join(', ');
      const expected = command.parent === null ? `the commands are ${known}` : `usage: ${usageOf(command)}`;
      write(`muster: ${said.replace(/\.$/, '')}; ${expected}\n`);
    },
  });
}

function usageOf(command: Command): string {
  const places = command.usage().replace('[options]', '').trim();
  return ['muster', command.name(), places, '[options]'].filter((part) => part !== '').join(' ');
}
