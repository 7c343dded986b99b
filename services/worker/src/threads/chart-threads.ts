/**
 * The chart threads of a worker: charts compute there, so that the main thread keeps locks alive, settles and mints.
 *
 * Invariants:
 * - a thread that dies or hangs costs the one subject that it was in, by name, and nothing else: what it had handed over
 *   stays, the rest of its turn goes on in a new thread;
 * - where several subjects were under way, in one turn or in several, each is tried alone on a thread of its own, so that
 *   no innocent is blamed;
 * - a thread of computing charts takes one turn at a time; turns of waiting charts share one.
 */
import { type CallPacer, memoryPacer } from '@muster/envelope';
import type { ChartRunner, Turn } from './chart-runner.ts';
import { ChartThread, type ChartThreadOptions, type Death } from './chart-thread-handle.ts';
import { joinCovers, setAside, type TurnCover } from './turn-cover.ts';

export interface ChartThreadsOptions extends ChartThreadOptions {
  readonly count: number;
}

const DEATHS: Readonly<Record<Death, string>> = {
  timeout: 'it kept its thread busy without an end, and was stopped',
  out_of_memory: 'it used up the memory of its thread',
  process_exit: 'it ended its thread',
  uncaught_error: 'an error that nobody awaited ended its thread',
};

export class ChartThreads implements ChartRunner {
  readonly #options: ChartThreadsOptions;
  readonly #threads: ChartThread[] = [];
  readonly #queue: { shares: boolean; start: (thread: ChartThread) => void }[] = [];
  #closed = false;
  #pacer: CallPacer | undefined;
  #definitions: ReadonlyMap<string, string> = new Map();

  constructor(options: ChartThreadsOptions) {
    this.#options = options;
  }

  /** The digest of each definition that the threads loaded, by name; known once they have started. */
  get definitions(): ReadonlyMap<string, string> {
    return this.#definitions;
  }

  /** Starts the threads and waits until each has loaded its catalog. */
  async start(pacer: CallPacer = memoryPacer()): Promise<void> {
    this.#pacer = pacer;
    await Promise.all(Array.from({ length: this.#options.count }, () => this.#open()));
  }

  /** Takes a turn on a free thread. Rejects only when the threads are closed. */
  async take(turn: Turn): Promise<TurnCover> {
    const covers: TurnCover[] = [];
    let done = 0;
    const keep = (cover: TurnCover) => {
      covers.push(cover);
      done += cover.subjects.count;
    };
    let alone = 0;
    while (done < turn.count) {
      const from = done;
      // After a death the suspects go one at a time, each alone on its thread.
      const thread = await this.#free({ shares: turn.waits && alone === 0 });
      const to = alone > 0 ? from + 1 : turn.count;
      const end = await thread.run(turn, from, to, keep);
      this.#release(thread);
      if (end.kind === 'ended') {
        if (alone > 0 && done > from) alone--;
        else break;
        continue;
      }
      await this.#replace(thread);
      if (turn.stopping.aborted) break;
      const covered = done - from;
      const suspects = end.begun.filter((index) => index >= covered);
      const only = to - from === 1 || (suspects.length === 1 && suspects[0] === covered);
      if (only && !end.others) {
        keep(setAside(end.death, DEATHS[end.death]));
        alone = Math.max(0, alone - 1);
      } else {
        alone = Math.max(alone, (suspects.at(-1) ?? covered) - covered + 1);
      }
    }
    return joinCovers(covers);
  }

  /** Ends the threads; turns under way are lost. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  async #open(): Promise<void> {
    const thread = new ChartThread(this.#options, this.#pacer as CallPacer);
    this.#definitions = await thread.ready;
    if (this.#closed) return await thread.terminate();
    this.#threads.push(thread);
    this.#serve();
  }

  async #replace(dead: ChartThread): Promise<void> {
    const index = this.#threads.indexOf(dead);
    if (index === -1) return;
    this.#threads.splice(index, 1);
    await dead.terminate();
    await this.#open();
  }

  #free(turn: { readonly shares: boolean }): Promise<ChartThread> {
    return new Promise((start) => {
      this.#queue.push({ ...turn, start });
      this.#serve();
    });
  }

  #release(thread: ChartThread): void {
    thread.held--;
    this.#serve();
  }

  #serve(): void {
    for (const entry of [...this.#queue]) {
      const thread = this.#threads
        .filter((candidate) => candidate.hasRoomFor(entry))
        .toSorted((a, b) => a.held - b.held)[0];
      if (thread === undefined) continue;
      this.#queue.splice(this.#queue.indexOf(entry), 1);
      thread.held++;
      thread.shared = entry.shares;
      entry.start(thread);
    }
  }
}
