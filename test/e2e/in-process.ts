/** The in-process runner as the measure of the distributed way: one run's rows and answer, made comparable. */
import { inMemoryArtifacts, newArtifactRef } from '@muster/artifacts';
import { type AssessedSubject, dispatchTools, type Runbook, runFleet, runProcedure, type Tool } from '@muster/envelope';
import { inputFileTool, resolveCredential } from '@muster/host';
import type { Body } from './muster-cluster.ts';

export const NOW = '2026-05-05T05:05:05.000Z';
const CALL = 'the-call';

export interface Reference {
  readonly rows: Body[];
  readonly answer: Body;
}

/** A file of an input, by its ref. */
export type Files = ReadonlyMap<string, { readonly name: string; readonly text: string }>;

/** Runs a runbook here, in one go, on tools alone. */
export async function runHere(
  runbook: Runbook,
  tools: readonly Tool[],
  input: Record<string, unknown>,
  files: Files = new Map(),
): Promise<Reference> {
  const inputFile = inputFileTool(async (ref) => {
    const file = files.get(ref);
    return file && { name: file.name, open: () => ReadableStream.from([new TextEncoder().encode(file.text)]) };
  });
  const store = inMemoryArtifacts();
  const scope = { tenant: 'here', conversationId: 'here' };
  const call = {
    toolCallId: CALL,
    runId: CALL,
    tools: dispatchTools([...tools, inputFile], { toolCallId: CALL, runId: CALL, resolveCredential }),
    artifacts: {
      put: async (put: Parameters<typeof store.put>[1]) => ({
        ref: (await store.put(scope, { ...put, ref: newArtifactRef() })).meta.ref,
      }),
    },
  };
  if (runbook.form === 'procedure') {
    const outcome = await runProcedure(runbook, { now: NOW, ...input }, call);
    if (outcome.kind === 'interrupted') throw new Error(`the run here asks: ${outcome.question.question}`);
    const { answer, rows } = outcome;
    if (answer.kind !== 'envelope') throw new Error(`the run here gave a ${answer.kind}`);
    return { rows: [...rows], answer: comparable(answer.body) };
  }
  const { answer, subjects } = await runFleet(runbook, { input, now: NOW }, call);
  if (answer.kind !== 'envelope') throw new Error(`the run here gave a ${answer.kind}`);
  return { rows: subjects.map(rowOf), answer: comparable(answer.body) };
}

/**
 * An answer without what differs by nature: refs, ids, the manifest that only a fleet on a queue has, and what changed since
 * runs that another process knows nothing of.
 */
export function comparable(body: unknown, runId = CALL): Body {
  const text = JSON.stringify(body, (key, value) => (key === 'manifest_ref' || key === 'changes' ? undefined : value));
  const alone = text.replace(/; since run [^;]+/, '');
  return JSON.parse(alone.replaceAll(runId, 'the-run').replaceAll(/art_[0-9A-Za-z]{22}/g, 'art_ref'));
}

/** A row of the API without its place in an artifact, and without how long it has stood so. */
export function withoutWalk({
  walk: _walk,
  standing_since: _s,
  last_ok_at: _l,
  sweeps_in_standing: _n,
  ...row
}: Body): Body {
  return row;
}

function rowOf(subject: AssessedSubject): Body {
  const { ordinal, key, identity, target, outcome, verdict, standing, reason, reasonCode, columns, evidence } = subject;
  return JSON.parse(
    JSON.stringify({
      ordinal,
      subject: key,
      identity,
      target,
      outcome,
      verdict,
      standing,
      reason,
      reason_code: reasonCode,
      columns,
      evidence,
    }),
  );
}
