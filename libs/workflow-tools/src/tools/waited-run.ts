/** A run as it stands after waiting: what it came to, or what is there to know until then. */
import { z } from 'zod';
import { answerWeight, fitEnvelope } from '../fit-answer.ts';
import type { WaitedRun } from '../ports.ts';
import { isOver } from '../run-status.ts';
import { safeRun } from '../safe-run.ts';

/** What goes beyond the safe run. */
export const waitedShape = {
  counts: z.record(z.string(), z.number()).optional(),
  interruption: z.record(z.string(), z.unknown()).optional(),
  poll_after_ms: z.number().int().optional(),
  envelope: z.unknown().optional(),
  failure: z.unknown().optional(),
};

/** The longest wait of one call. */
export const MAX_WAIT_MS = 30_000;
const [SOON_MS, LATER_MS] = [1_000, 10_000];
/** The least that is left to an envelope beside a run. */
const ENVELOPE_ROOM = 1_000;

export function waitedRun(
  { run, envelope, failure }: WaitedRun,
  options: { readonly withEnvelope: boolean; readonly maxWeight: number | undefined },
): Readonly<Record<string, unknown>> {
  const over = isOver(run.run_status);
  const shown = {
    ...light(safeRun(run), options.maxWeight),
    ...(run.counts !== undefined && { counts: run.counts }),
    ...(run.interruption !== undefined && { interruption: run.interruption }),
    ...(!over && { poll_after_ms: pollAfterMs(run.run_status, run.counts) }),
    ...(failure !== undefined && { failure }),
  };
  if (!options.withEnvelope || envelope === undefined) return shown;
  const left =
    options.maxWeight === undefined ? undefined : Math.max(ENVELOPE_ROOM, options.maxWeight - answerWeight(shown));
  return { ...shown, envelope: fitEnvelope(envelope, left) };
}

/** References go where they would take the room of everything else. */
function light(run: ReturnType<typeof safeRun>, maxWeight: number | undefined): Readonly<Record<string, unknown>> {
  const { artifacts, ...rest } = run;
  if (artifacts === undefined || maxWeight === undefined) return run;
  const kept = [...artifacts];
  while (kept.length > 0 && answerWeight(kept) > maxWeight / 4) kept.pop();
  const omitted = artifacts.length - kept.length;
  return {
    ...rest,
    ...(kept.length > 0 && { artifacts: kept }),
    ...(omitted > 0 && { omitted: { artifacts: omitted } }),
  };
}

/** When looking again is worth a turn: soon while little is left, later for a person or a large fleet. */
function pollAfterMs(status: string, counts: Readonly<Record<string, number>> | undefined): number {
  if (status === 'interrupted') return LATER_MS;
  const { total = 0, settled = 0 } = counts ?? {};
  return total - settled > 10_000 ? LATER_MS : SOON_MS;
}
