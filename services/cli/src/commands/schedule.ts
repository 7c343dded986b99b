/** `muster schedule ACTION NAME`: what is done with one schedule, or with those of a file. */
import { parseText, ScheduleFileError, scheduleDeclarationSchema } from '@muster/schedules';
import type { ApiClient } from '../api-client.ts';
import { EXIT, RefusedError, UsageError } from '../exit-codes.ts';
import { openInputFiles } from '../input-files.ts';
import { oneLine, print } from '../output/print.ts';
import type { ScheduleView, TickView } from '../schedule-views.ts';
import { standing } from './schedules.ts';

export type ScheduleAction = 'show' | 'apply' | 'pause' | 'resume' | 'trigger' | 'ticks' | 'delete';

export interface ScheduleOptions {
  readonly reason?: string;
  readonly limit: number;
  readonly json?: boolean;
}

type Act = (api: ApiClient, name: string, options: ScheduleOptions) => Promise<number>;

const ACTS: Readonly<Record<ScheduleAction, Act>> = { show, apply, pause, resume, trigger, ticks, delete: drop };

/** Does it. @throws UsageError for an option that does not belong to the action */
export async function scheduleCommand(
  api: ApiClient,
  action: ScheduleAction,
  name: string,
  options: ScheduleOptions,
): Promise<number> {
  if (options.reason !== undefined && action !== 'pause') throw new UsageError('--reason goes with pause');
  return await ACTS[action](api, name, options);
}

async function show(api: ApiClient, name: string, { json }: ScheduleOptions): Promise<number> {
  const schedule = await api.getSchedule(name);
  await print(json ? JSON.stringify(schedule) : page(schedule));
  return EXIT.ok;
}

/** Makes what is new, and gives everything else the form that the file says, what it leaves out at its default. */
async function apply(api: ApiClient, path: string, { json }: ScheduleOptions): Promise<number> {
  for (const declared of await readDeclarations(path)) {
    const parsed = scheduleDeclarationSchema.safeParse(declared);
    // What does not fit is refused by the API, with its places.
    const body = (parsed.success ? parsed.data : declared) as { readonly name?: string };
    const { done, schedule } = await makeOrChange(api, body);
    if (json) await print(JSON.stringify(schedule));
    else process.stderr.write(`${done} ${schedule.name}: ${schedule.described}, ${standing(schedule)}\n`);
  }
  return EXIT.ok;
}

async function makeOrChange(api: ApiClient, body: { readonly name?: string }) {
  try {
    return { done: 'made', schedule: await api.createSchedule(body) };
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== 'schedule_exists') throw error;
    const { name, ...change } = body;
    return { done: 'changed', schedule: await api.changeSchedule(name!, change) };
  }
}

async function readDeclarations(path: string): Promise<readonly unknown[]> {
  const [file] = await openInputFiles([path]);
  const parts: Uint8Array[] = [];
  for await (const part of file!.open()) parts.push(part);
  try {
    const document = parseText(Buffer.concat(parts).toString('utf8'));
    const { schedules } = (document ?? {}) as { schedules?: unknown };
    return Array.isArray(schedules) ? schedules : [document];
  } catch (error) {
    if (error instanceof ScheduleFileError) throw new UsageError(`${path}: ${error.message}`);
    throw error;
  }
}

async function pause(api: ApiClient, name: string, { reason, json }: ScheduleOptions): Promise<number> {
  return await told(await api.steerSchedule(name, 'pause', reason === undefined ? {} : { reason }), json);
}

async function resume(api: ApiClient, name: string, { json }: ScheduleOptions): Promise<number> {
  return await told(await api.steerSchedule(name, 'resume', {}), json);
}

async function told(schedule: ScheduleView, json: boolean | undefined): Promise<number> {
  if (json) await print(JSON.stringify(schedule));
  else process.stderr.write(`${schedule.name}: ${standing(schedule)}\n`);
  return EXIT.ok;
}

/** Prints the id of the run, as a detached start does. */
async function trigger(api: ApiClient, name: string, { json }: ScheduleOptions): Promise<number> {
  const tick = await api.triggerSchedule(name);
  if (json) await print(JSON.stringify(tick));
  else if (tick.run_id !== undefined) await print(tick.run_id);
  else process.stderr.write(`no run was started: ${oneLine(tick.reason ?? tick.state)}\n`);
  return tick.state === 'started' || tick.state === 'queued' ? EXIT.ok : EXIT.failed;
}

async function ticks(api: ApiClient, name: string, { json, limit }: ScheduleOptions): Promise<number> {
  const found = await api.listTicks(name, limit);
  if (found.length === 0 && !json) process.stderr.write('no slot was due yet\n');
  for (const tick of found) await print(json ? JSON.stringify(tick) : tickLine(tick));
  return EXIT.ok;
}

async function drop(api: ApiClient, name: string): Promise<number> {
  await api.deleteSchedule(name);
  process.stderr.write(`${name} is deleted; its runs stay\n`);
  return EXIT.ok;
}

function tickLine(tick: TickView): string {
  const what = tick.run_id === undefined ? oneLine(tick.reason ?? '') : `${tick.run_id}  ${tick.run_status ?? 'open'}`;
  const asked = tick.trigger === 'manual' ? '  by hand' : '';
  return `${tick.slot}  ${tick.state.padEnd(8)}  ${what}${asked}`;
}

function page(schedule: ScheduleView): string {
  const lines: [string, string][] = [
    ['name', schedule.name],
    ['state', standing(schedule)],
    ['runbook', `${schedule.runbook} ${schedule.version ?? '(the version that is offered)'}`],
    ['input', JSON.stringify(schedule.input ?? null)],
    ['timing', schedule.described],
    ['overlap', schedule.overlap],
    ['caught up', `${schedule.catch_up_seconds} s`],
    ['jitter', `${schedule.jitter_seconds} s`],
    ['failures in a row', `${schedule.failures}${limitOf(schedule)}`],
    ['source', schedule.source],
    ...(schedule.next ?? []).map(({ due_at: due }, index): [string, string] => [index === 0 ? 'due at' : '', due]),
  ];
  return lines.map(([what, text]) => `${what.padEnd(20)}${oneLine(text)}`).join('\n');
}

function limitOf({ pause_after_failures: limit }: ScheduleView): string {
  return limit === null ? '' : ` of ${limit} that pause it`;
}
