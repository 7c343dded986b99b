import { type ArtifactStore, isArtifactRef } from '@muster/artifacts';
import { dispatchTools, type ToolDispatch } from '@muster/envelope';
import { type InputFile, inputFileTool, resolveCredential, scopeOf } from '@muster/host';
import type { RunRecord } from '@muster/results';
import type { StepSignals } from './stop-watch.ts';
import type { WorkerContext } from './worker-context.ts';

/** The tools of one run: those of the catalog, and the files of its input. */
export interface RunTools {
  readonly tools: ToolDispatch;
  /** Notes when a store is away for some work of this run's attempt, and lets the error through. */
  noting<T>(work: Promise<T>): Promise<T>;
  /** The error of a store that was away: the attempt is then to be tried again, whatever the chart made of it. */
  outage(): unknown;
}

/** Makes the tools of a run. They are told when their step is asked to stop, and none is begun once it is over. */
export function runTools(
  context: WorkerContext,
  run: RunRecord,
  { stopSignal, signal: endSignal }: StepSignals,
): RunTools {
  let outage: unknown;
  const noting = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (isOutage(error)) outage = error;
      throw error;
    }
  };
  const inputFile = inputFileTool((ref) => noting(findFile(context.store, run, ref, stopSignal, noting)));
  const tools = dispatchTools([...context.catalog.catalog.tools.values(), inputFile], {
    toolCallId: run.id,
    runId: run.id,
    signal: stopSignal,
    endSignal,
    resolveCredential,
    pacer: context.pacer,
    timeoutMs: context.catalog.byDigest.get(run.definitionDigest)?.runbook.limits.chartTimeoutMs,
  });
  return { tools, noting, outage: () => outage };
}

/** Whether an error says that a store is away, and not that something is wrong. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'artifact_store_unavailable' || code === 'results_unavailable';
}

async function findFile(
  store: ArtifactStore,
  run: RunRecord,
  ref: string,
  signal: AbortSignal,
  noting: <T>(work: Promise<T>) => Promise<T>,
): Promise<InputFile | undefined> {
  if (!isArtifactRef(ref)) return undefined;
  const scope = scopeOf(run);
  const meta = await store.head(scope, ref);
  if (meta === null) return undefined;
  return {
    name: meta.label ?? ref,
    bytes: meta.bytes,
    async *open() {
      const record = await noting(store.getStream(scope, ref, { signal }));
      if (record === null) throw new Error('the file went away while it was being read');
      const reader = record.body.getReader();
      try {
        for (;;) {
          const { done, value } = await noting(reader.read());
          if (done) return;
          yield value;
        }
      } finally {
        await reader.cancel().catch(() => {});
      }
    },
  };
}
