import type { CallPacer } from '@muster/envelope';
import type { LoadedCatalog } from '@muster/host/catalog';
import { assessSubjects, readSubjects } from './assess-subjects.ts';
import type { ChartRunner, Turn } from './chart-runner.ts';
import { CoverBuilder, type TurnCover } from './turn-cover.ts';
import { TurnStop } from './turn-stop.ts';

/**
 * Charts on the worker's own thread, over a catalog that is in memory. Nothing shields the worker from them: a chart that
 * never yields stops it. For tests, and for runbooks that cannot be loaded by path.
 */
export class InlineCharts implements ChartRunner {
  readonly #loaded: LoadedCatalog;
  #pacer: CallPacer | undefined;

  constructor(loaded: LoadedCatalog) {
    this.#loaded = loaded;
  }

  get definitions(): ReadonlyMap<string, string> {
    return new Map([...this.#loaded.byName].map(([name, { digest }]) => [name, digest]));
  }

  async start(pacer?: CallPacer): Promise<void> {
    this.#pacer = pacer;
  }

  async take(turn: Turn): Promise<TurnCover> {
    const stop = new TurnStop();
    const halt = () => stop.stop(turn.stop.reason(), turn.stopping.aborted);
    const signals = [turn.stop.signal, turn.stopping];
    for (const signal of signals) {
      if (signal.aborted) halt();
      signal.addEventListener('abort', halt);
    }
    const cover = new CoverBuilder();
    const subjects = readSubjects(turn.subjects, 0, turn.count);
    await assessSubjects(
      this.#loaded,
      { ...turn, subjects, ...(this.#pacer !== undefined && { pacer: this.#pacer }) },
      stop,
      {
        onBegin: () => {},
        onDone: () => {},
        onResults: (covered) => {
          for (const subject of covered) cover.add(subject);
        },
      },
    );
    stop.close();
    for (const signal of signals) signal.removeEventListener('abort', halt);
    return cover.take();
  }

  async close(): Promise<void> {}
}
