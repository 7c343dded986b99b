/**
 * The declarative file: what it says is so after the start of the API.
 *
 * Invariants:
 * - it is checked whole before anything of it is used, and used in one transaction or not at all;
 * - a schedule that left the file is paused and never deleted: its ledger stays, and it comes back with the file;
 * - what people paused stays paused.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { cleanLine } from '@muster/envelope';
import { ConfigError, faultSentence, fieldFaults } from '@muster/host';
import {
  appendAudit,
  changeSchedule,
  createSchedule,
  lockSchedule,
  lockSchedulesOfFiles,
  pauseSchedule,
  resumeSchedule,
  type ScheduleDefinition,
  type ScheduleRecord,
  type Tx,
} from '@muster/results';
import { type FiledSchedule, nextSlot, parseScheduleFile, ScheduleFileError, type Timing } from '@muster/schedules';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { comingSlot, composeSchedule } from './compose-schedule.ts';
import { nextOf } from './define-schedule.ts';

const SETTING = 'MUSTER_SCHEDULES';
const SHOWN_LENGTH = 200;

/** What applying a file did. */
export interface AppliedFile {
  readonly created: number;
  readonly changed: number;
  readonly resumed: number;
  readonly paused: number;
}

/** What a file is applied with. */
type FileDeps = Pick<ApiDeps, 'catalog' | 'db' | 'now'>;

type Composed = readonly [FiledSchedule, ScheduleDefinition];

/**
 * Applies a file of schedules.
 *
 * @throws ConfigError for a file that cannot be read, is not closed, or names what is not offered
 */
export async function applySchedulesFile(deps: FileDeps, file: string): Promise<AppliedFile> {
  const composed: Composed[] = [];
  for (const filed of await readSchedulesFile(file)) composed.push([filed, await compose(deps, file, filed)]);
  const now = deps.now?.() ?? new Date();
  return await deps.db.transaction(async (tx) => {
    const before = await lockSchedulesOfFiles(tx);
    const done = { created: 0, changed: 0, resumed: 0, paused: 0 };
    for (const [filed, definition] of composed) {
      const what = await applyOne(tx, filed, definition, now);
      if (what !== undefined) done[what] += 1;
    }
    const names = new Set(composed.map(([{ tenant, name }]) => `${tenant}/${name}`));
    for (const schedule of before) {
      if (names.has(`${schedule.tenant}/${schedule.name}`) || schedule.state === 'paused') continue;
      await pauseSchedule(tx, schedule, { code: 'left_the_file', reason: 'it left the file of schedules' }, now);
      await note(tx, schedule, 'schedule_paused', now);
      done.paused += 1;
    }
    return done;
  });
}

async function readSchedulesFile(file: string): Promise<FiledSchedule[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigError(SETTING, `the file ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return parseScheduleFile(text);
  } catch (error) {
    if (!(error instanceof ScheduleFileError)) throw error;
    const what = error.issues.length > 0 ? faultSentence(fieldFaults('file', error.issues)) : error.message;
    throw new ConfigError(SETTING, `the file ${file}: ${what}`);
  }
}

async function compose(deps: FileDeps, file: string, filed: FiledSchedule): Promise<ScheduleDefinition> {
  try {
    return await composeSchedule(deps, filed, { source: 'file', ownerKeyId: null });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const what = cleanLine(error.message, SHOWN_LENGTH);
    throw new ConfigError(SETTING, `the file ${file}, schedule '${filed.name}': ${what}`);
  }
}

async function applyOne(
  tx: Tx,
  { name, tenant, timing }: FiledSchedule,
  definition: ScheduleDefinition,
  now: Date,
): Promise<keyof AppliedFile | undefined> {
  const before = await lockSchedule(tx, { tenant, name });
  if (before === undefined) {
    const id = randomUUID();
    const next = nextSlot({ id, timing, jitterMs: definition.jitterMs }, now);
    await note(
      tx,
      (await createSchedule(tx, { ...definition, id, tenant, name, next, now }))!,
      'schedule_created',
      now,
    );
    return 'created';
  }
  const schedule = isSame(before, definition) ? before : await change(tx, before, definition, now);
  if (schedule.pausedCode === 'left_the_file') {
    await resumeSchedule(tx, schedule, await comingSlot(tx, schedule, now), now);
    await note(tx, schedule, 'schedule_resumed', now);
    return 'resumed';
  }
  return schedule === before ? undefined : 'changed';
}

async function change(tx: Tx, before: ScheduleRecord, definition: ScheduleDefinition, now: Date) {
  const next = isSameTiming(before, definition)
    ? nextOf(before)
    : await comingSlot(tx, { ...definition, id: before.id }, now);
  await note(tx, before, 'schedule_changed', now);
  return await changeSchedule(tx, before, { ...definition, next, now });
}

/** Whether a schedule says what is declared, source and owner included: an API's schedule of that name becomes the file's. */
function isSame(schedule: ScheduleRecord, { input, timing, ...definition }: ScheduleDefinition): boolean {
  const fields = Object.entries(definition) as [keyof ScheduleRecord, unknown][];
  return (
    schedule.inputDigest === input.digest &&
    isSameTiming(schedule, { timing, jitterMs: definition.jitterMs }) &&
    fields.every(([field, value]) => schedule[field] === value)
  );
}

function isSameTiming(schedule: ScheduleRecord, definition: Pick<ScheduleDefinition, 'timing' | 'jitterMs'>): boolean {
  const text = (timing: unknown) => JSON.stringify(Object.entries(timing as Timing).sort());
  return schedule.jitterMs === definition.jitterMs && text(schedule.timing) === text(definition.timing);
}

function note(tx: Tx, { name, tenant }: ScheduleRecord, action: string, now: Date): Promise<void> {
  return appendAudit(tx, { tenant, action, details: { schedule: name, by: 'file' }, now });
}
