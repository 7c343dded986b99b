/** The commands of schedules; see program.ts. */
import { Argument, type Command } from 'commander';
import type { ApiClient } from './api-client.ts';
import type { ScheduleAction, ScheduleOptions } from './commands/schedule.ts';
import type { SchedulesOptions } from './commands/schedules.ts';
import { example, wholeNumber } from './shared-options.ts';

const MAX_LISTED = 1000;
const ACTIONS: readonly ScheduleAction[] = ['show', 'apply', 'pause', 'resume', 'trigger', 'ticks', 'delete'];

/** Adds them to the program. */
export function scheduleCommands(program: Command, api: () => Promise<ApiClient>, done: (code: number) => void): void {
  example(
    program.command('schedules').description('List the schedules by name, with what comes next of each, one a line.'),
    'muster schedules --json',
  )
    .option('--limit <count>', 'how many at most', wholeNumber(1, MAX_LISTED), 100)
    .option('--json', 'print one schedule a line as JSON')
    .action(async (options: SchedulesOptions) => {
      const { schedulesCommand } = await import('./commands/schedules.ts');
      done(await schedulesCommand(await api(), options));
    });

  example(
    program
      .command('schedule')
      .description('Make, show, steer or delete schedules, and read what became of their slots.'),
    'muster schedule apply nightly.yaml && muster schedule ticks nightly',
  )
    .addArgument(new Argument('<action>', 'what to do').choices(ACTIONS))
    .argument('<name>', 'name of the schedule; for apply a file with one, or with `schedules`')
    .option('--reason <text>', 'why it is paused; kept with it')
    .option('--limit <count>', 'how many ticks at most', wholeNumber(1, MAX_LISTED), 20)
    .option('--json', 'print what it prints as JSON')
    .action(async (action: ScheduleAction, name: string, options: ScheduleOptions) => {
      const { scheduleCommand } = await import('./commands/schedule.ts');
      done(await scheduleCommand(await api(), action, name, options));
    });
}
