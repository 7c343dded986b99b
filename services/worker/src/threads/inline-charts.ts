import { type AssessedSubject, totalSubjects } from '@muster/envelope';
import type { LoadedCatalog } from '@muster/host/catalog';
import { assessSubjects, resultOf } from './assess-subjects.ts';
import type { ChartRunner, Turn, TurnCover } from './chart-runner.ts';
import { TurnStop } from './turn-stop.ts';

/**
 * Charts on the worker's own thread, over a catalog that is in memory. Nothing shields the worker from them: a chart that
 * never yields stops it. For tests, and for runbooks that cannot be loaded by path.
 */
export class InlineCharts implements ChartRunner {
  readonly #loaded: LoadedCatalog;

  constructor(loaded: LoadedCatalog) {
    this.#loaded = loaded;
  }

  get definitions(): ReadonlyMap<string, string> {
    return new Map([...this.#loaded.byName].map(([name, { digest }]) => [name, digest]));
  }

  async start(): Promise<void> {}

  async take(turn: Turn): Promise<TurnCover> {
    const stop = new TurnStop();
    const halt = () => stop.stop(turn.stop.reason());
    const signals = [turn.stop.signal, turn.stopping];
    for (const signal of signals) {
      if (signal.aborted) halt();
      signal.addEventListener('abort', halt);
    }
    const covered: AssessedSubject[] = [];
    await assessSubjects(this.#loaded, turn, stop, {
      onBegin: () => {},
      onDone: () => {},
      onResults: (results) => void covered.push(...results),
    });
    for (const signal of signals) signal.removeEventListener('abort', halt);
    return { results: covered.map(resultOf), totals: totalSubjects(covered) };
  }

  async close(): Promise<void> {}
}
