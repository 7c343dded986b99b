/** The subjects of a turn, assessed by their runbook: what a thread does, and what is done without threads. */
import { type AssessedSubject, createAssessor, dispatchTools, type FleetRunbook } from '@muster/envelope';
import type { LoadedCatalog } from '@muster/host/catalog';
import { resolveCredential } from '@muster/host/credentials';
import { segmentPart } from '../walk-segment.ts';
import { type TurnOptions, takeTurn } from './assess-turn.ts';
import type { TurnResult, TurnSubject } from './turn-messages.ts';
import type { TurnStop } from './turn-stop.ts';

export interface TurnWork {
  readonly definitionDigest: string;
  readonly runId: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly now: string;
  readonly subjects: readonly TurnSubject[];
  readonly sliceMs: number;
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
  const tools = dispatchTools([...loaded.catalog.tools.values()], { ...call, signal: stop.signal, resolveCredential });
  const assessor = createAssessor(runbook, { input: work.input, now: work.now }, { ...call, tools });
  const planned = work.subjects.map(([ordinal, key, identity, target, subject]) => ({
    ordinal,
    key,
    ...(identity !== null && { identity }),
    ...(target !== null && { target }),
    subject,
  }));
  const startedAt = performance.now();
  await takeTurn(assessor, planned, {
    concurrency: runbook.limits.concurrency,
    sliceMs: work.sliceMs,
    stop,
    elapsedMs: () => performance.now() - startedAt,
    ...tell,
  });
}

/** An assessed subject, ready for its row. */
export function resultOf(subject: AssessedSubject): TurnResult {
  const { outcome, verdict, standing, reasonCode, reason, columns, evidence } = subject;
  const walk = segmentPart(subject.walk);
  return {
    outcome,
    ...(verdict !== undefined && { verdict, standing }),
    ...(reasonCode !== undefined && { reasonCode }),
    reason,
    columns: JSON.stringify(columns),
    ...(evidence !== undefined && { evidence: JSON.stringify(evidence) }),
    ...(walk !== undefined && { walk }),
  };
}
