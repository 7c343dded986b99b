/** What is stored of a schedule that somebody declares: everything that can be wrong with it is told before. */
import { DocumentFault, type InputDocument, readInput } from '@muster/host';
import {
  type DueSlot,
  lastSlotOf,
  type Queryable,
  RUN_PRIORITIES,
  type ScheduleDefinition,
  type ScheduleRecord,
} from '@muster/results';
import { nextSlot, type ScheduleDeclaration, shortestGap, type Timing } from '@muster/schedules';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { inputProblem } from './input-document.ts';
import { resolveDefinition } from './resolve-definition.ts';

type Whole = Omit<ScheduleDeclaration, 'name'>;

/** Who declares it: a key, or the file. */
export type Declarer = Pick<ScheduleDefinition, 'source' | 'ownerKeyId'>;

/**
 * Checks a declaration against what is offered here.
 *
 * @throws Problem `unknown_runbook`, `unknown_runbook_version`, `input_out_of_bounds`, `input_invalid`, `invalid_request`
 */
export async function composeSchedule(
  deps: Pick<ApiDeps, 'catalog' | 'now'>,
  declared: Whole,
  by: Declarer,
): Promise<ScheduleDefinition> {
  const definition = resolveDefinition(deps, declared.runbook, declared.version ?? undefined);
  checkJitter(declared.timing, declared.jitter_seconds, deps.now?.() ?? new Date());
  const { canonical, digest } = await readOwnInput(() => readInput(definition, declared.input));
  return {
    ...by,
    runbookName: declared.runbook,
    runbookVersion: declared.version,
    input: { canonical, digest },
    priority: RUN_PRIORITIES[declared.priority],
    timing: declared.timing,
    overlap: declared.overlap,
    jitterMs: declared.jitter_seconds * 1000,
    catchUpMs: declared.catch_up_seconds * 1000,
    pauseAfterFailures: declared.pause_after_failures,
  };
}

/** What a schedule says, as it would be declared. */
export function declarationOf(schedule: ScheduleRecord): Whole {
  const priority = Object.entries(RUN_PRIORITIES).find(([, number]) => number === schedule.priority);
  return {
    runbook: schedule.runbookName,
    version: schedule.runbookVersion,
    input: schedule.input as Whole['input'],
    timing: schedule.timing as Timing,
    overlap: schedule.overlap,
    priority: priority![0] as Whole['priority'],
    jitter_seconds: schedule.jitterMs / 1000,
    catch_up_seconds: schedule.catchUpMs / 1000,
    pause_after_failures: schedule.pauseAfterFailures,
  };
}

/** The slot that a schedule goes on with: the first one from now on that has no row. */
export async function comingSlot(
  db: Queryable,
  schedule: { readonly id: string; readonly timing: unknown; readonly jitterMs: number },
  now: Date,
): Promise<DueSlot | undefined> {
  const last = await lastSlotOf(db, schedule.id);
  const after = last !== undefined && last > now ? last : now;
  return nextSlot({ ...schedule, timing: schedule.timing as Timing }, after);
}

async function readOwnInput(read: () => Promise<InputDocument>): Promise<InputDocument> {
  let document: InputDocument;
  try {
    document = await read();
  } catch (error) {
    throw error instanceof DocumentFault ? inputProblem(error) : error;
  }
  if (document.refs.length === 0) return document;
  // An upload goes with the run that reads it, and would be the same in each run after that.
  const errors = [
    { path: 'input', expected: 'no refs of uploads: each run of a schedule finds its subjects by itself' },
  ];
  throw new Problem('input_invalid', 'the input of a schedule may name no uploads', { errors });
}

function checkJitter(timing: Timing, seconds: number, now: Date): void {
  const gapMs = shortestGap(timing, now);
  if (gapMs === undefined || seconds * 1000 <= gapMs) return;
  const expected = `at most ${gapMs / 1000}, the shortest time from one slot to the next`;
  throw new Problem('invalid_request', `body/jitter_seconds: expected ${expected}`, {
    errors: [{ path: 'body/jitter_seconds', expected }],
  });
}
