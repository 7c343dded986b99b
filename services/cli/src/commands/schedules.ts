import type { ApiClient } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';
import type { ScheduleView } from '../schedule-views.ts';

export interface SchedulesOptions {
  readonly limit: number;
  readonly json?: boolean;
}

/** `muster schedules`: the schedules of the tenant, by name. */
export async function schedulesCommand(api: ApiClient, { limit, json }: SchedulesOptions): Promise<number> {
  const schedules = await api.listSchedules(limit);
  if (schedules.length === 0 && !json) process.stderr.write('there are no schedules\n');
  for (const schedule of schedules) await print(json ? JSON.stringify(schedule) : scheduleLine(schedule));
  return EXIT.ok;
}

function scheduleLine(schedule: ScheduleView): string {
  const { described, name, runbook, version } = schedule;
  return [name, standing(schedule), described, `${runbook} ${version ?? ''}`.trim()].join('  ');
}

/** Whether it runs, and why not. */
export function standing({ next_due_at: next, paused, state }: ScheduleView): string {
  if (paused !== undefined) return `${state} (${oneLine(paused.reason)})`;
  return next === undefined ? 'nothing to come' : `next ${next}`;
}
