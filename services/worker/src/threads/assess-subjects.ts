/** The subjects of a turn, assessed by their runbook: what a thread does, and what is done without threads. */
import {
  type CallPacer,
  createAssessor,
  dispatchTools,
  type FleetRunbook,
  type PlannedSubject,
} from '@muster/envelope';
import type { LoadedCatalog } from '@muster/host/catalog';
import { resolveCredential } from '@muster/host/credentials';
import { type TurnOptions, takeTurn } from './assess-turn.ts';
import type { TurnSubjects } from './turn-messages.ts';
import type { TurnStop } from './turn-stop.ts';

export interface TurnWork {
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  readonly subjects: readonly PlannedSubject[];
  readonly sliceMs: number;
  readonly pacer?: CallPacer;
}

/** Takes a turn over the subjects and tells of each step. The worker has checked that the definition is here. */
export async function assessSubjects(
  loaded: Pick<LoadedCatalog, 'catalog' | 'byDigest'>,
  work: TurnWork,
  stop: TurnStop,
  tell: Pick<TurnOptions, 'onBegin' | 'onDone' | 'onResults'>,
): Promise<void> {
  const runbook = loaded.byDigest.get(work.definitionDigest)?.runbook as FleetRunbook;
  const call = { toolCallId: work.runId, runId: work.runId };
  const tools = dispatchTools([...loaded.catalog.tools.values()], {
    ...call,
    signal: stop.signal,
    endSignal: stop.overSignal,
    resolveCredential,
    ...(work.pacer !== undefined && { pacer: work.pacer }),
    timeoutMs: runbook.limits.subjectTimeoutMs,
  });
  const assessor = createAssessor(runbook, { input: work.input, now: work.now }, { ...call, tools });
  const startedAt = performance.now();
  await takeTurn(assessor, work.subjects, {
    concurrency: runbook.limits.concurrency,
    sliceMs: work.sliceMs,
    stop,
    elapsedMs: () => performance.now() - startedAt,
    ...tell,
  });
}

/** The subjects of a chunk from one place up to and without another, as charts take them. */
export function readSubjects(subjects: TurnSubjects, from: number, to: number): PlannedSubject[] {
  const items: unknown[] = JSON.parse(new TextDecoder().decode(subjects.items));
  return subjects.names.slice(from, to).map(([key, identity, target, ordinal], index) => ({
    ordinal: ordinal ?? subjects.firstOrdinal + from + index,
    key,
    ...(identity !== null && { identity }),
    ...(target !== null && { target }),
    subject: items[from + index],
  }));
}
