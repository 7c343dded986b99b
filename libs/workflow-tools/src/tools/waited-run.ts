/** A run as it stands after waiting: what it came to, or what is there to know until then. */
import { z } from 'zod';
import { answerWeight, fitEnvelope } from '../fit-answer.ts';
import type { WaitedRun } from '../ports.ts';
import { isOver } from '../run-status.ts';
import { fitRun } from '../safe-run.ts';

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
/** What `,"envelope":` needs. */
const KEY_ROOM = 12;
/** Parts of a question that go where they take the room of everything else, the ones that explain first. */
const SPARE_PARTS = ['details', 'resume_schema'];

export function waitedRun(
  { run, envelope, failure }: WaitedRun,
  options: { readonly withEnvelope: boolean; readonly maxWeight: number | undefined },
): Readonly<Record<string, unknown>> {
  const over = isOver(run.run_status);
  const shown = {
    ...fitRun(run, options.maxWeight === undefined ? undefined : options.maxWeight / 4),
    ...(run.counts !== undefined && { counts: run.counts }),
    ...(run.interruption !== undefined && { interruption: fitQuestion(run.interruption, options.maxWeight) }),
    ...(!over && { poll_after_ms: pollAfterMs(run.run_status, run.counts) }),
    ...(failure !== undefined && { failure }),
  };
  if (!options.withEnvelope || envelope === undefined) return shown;
  const left =
    options.maxWeight === undefined
      ? undefined
      : Math.max(ENVELOPE_ROOM, options.maxWeight - answerWeight(shown) - KEY_ROOM);
  return { ...shown, envelope: fitEnvelope(envelope, left) };
}

/** What is asked always stays; what goes of the rest is named. */
function fitQuestion(question: Readonly<Record<string, unknown>>, maxWeight: number | undefined) {
  const light: Record<string, unknown> = { ...question };
  const omitted: string[] = [];
  for (const part of SPARE_PARTS) {
    if (maxWeight === undefined || answerWeight(light) <= maxWeight / 2) break;
    if (light[part] === undefined) continue;
    delete light[part];
    omitted.push(part);
  }
  return omitted.length === 0 ? question : { ...light, omitted };
}

/** When looking again is worth a turn: soon while little is left, later for a person or a large fleet. */
function pollAfterMs(status: string, counts: Readonly<Record<string, number>> | undefined): number {
  if (status === 'interrupted') return LATER_MS;
  const { total = 0, settled = 0 } = counts ?? {};
  return total - settled > 10_000 ? LATER_MS : SOON_MS;
}
