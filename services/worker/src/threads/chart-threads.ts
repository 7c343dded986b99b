/**
 * The chart threads of a worker: charts compute there, so that the main thread keeps locks alive, settles and mints.
 *
 * Invariants:
 * - a thread that dies or hangs costs the one subject that it was in, by name, and nothing else: what it had handed over
 *   stays, the rest of its turn goes on in a new thread;
 * - where several subjects were under way, each is tried alone on a thread of its own, so that no innocent is blamed;
 * - a thread of computing charts takes one turn at a time; turns of waiting charts share one.
 */
import { Worker } from 'node:worker_threads';
import { mergeTotals, NO_TOTALS } from '@muster/envelope';
import type { Logger } from '@muster/host';
import type { StopReason } from '@muster/results';
import type { ChartRunner, Turn, TurnCover } from './chart-runner.ts';
import type { FromThread, ThreadData, ToThread, TurnBatch, TurnResult } from './turn-messages.ts';

export interface ChartThreadsOptions {
  readonly count: number;
  readonly heapMb: number;
  readonly data: Omit<ThreadData, 'beat'>;
  readonly log: Logger;
}

/** How a thread ended without being asked to. */
type Death = 'timeout' | 'out_of_memory' | 'process_exit' | 'uncaught_error';

const DEATHS: Readonly<Record<Death, string>> = {
  timeout: 'it kept its thread busy without an end, and was stopped',
  out_of_memory: 'it used up the memory of its thread',
  process_exit: 'it ended its thread',
  uncaught_error: 'an error that nobody awaited ended its thread',
};

const WAITING_TURNS_A_THREAD = 4;
const WATCH_MS = 500;
const GRACE_MS = 1000;

export class ChartThreads implements ChartRunner {
  readonly #options: ChartThreadsOptions;
  readonly #threads: ChartThread[] = [];
  readonly #queue: { turn: Turn; start: (thread: ChartThread) => void }[] = [];
  #closed = false;
  #definitions: ReadonlyMap<string, string> = new Map();

  constructor(options: ChartThreadsOptions) {
    this.#options = options;
  }

  /** The digest of each definition that the threads loaded, by name; known once they have started. */
  get definitions(): ReadonlyMap<string, string> {
    return this.#definitions;
  }

  /** Starts the threads and waits until each has loaded its catalog. */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.count }, () => this.#open()));
  }

  /** Takes a turn on a free thread. Rejects only when the threads are closed. */
  async take(turn: Turn): Promise<TurnCover> {
    const results: TurnResult[] = [];
    let totals = NO_TOTALS;
    const keep = (cover: TurnCover) => {
      results.push(...cover.results);
      totals = mergeTotals(totals, cover.totals);
    };
    let alone = 0;
    while (results.length < turn.subjects.length) {
      const from = results.length;
      const thread = await this.#free(turn);
      // After a death the suspects go one at a time, each alone on its thread.
      const subjects = turn.subjects.slice(from, alone > 0 ? from + 1 : undefined);
      const end = await thread.run({ ...turn, subjects }, keep);
      this.#release(thread);
      if (end.kind === 'ended') {
        if (alone > 0 && results.length > from) alone--;
        else break;
        continue;
      }
      await this.#replace(thread);
      if (turn.stopping.aborted) break;
      const covered = results.length - from;
      const suspects = end.begun.filter((index) => index >= covered);
      if (subjects.length === 1 || (suspects.length === 1 && suspects[0] === covered)) {
        keep({ results: [setAside(end.death)], totals: NO_TOTALS });
        alone = Math.max(0, alone - 1);
      } else {
        alone = Math.max(alone, (suspects.at(-1) ?? covered) - covered + 1);
      }
    }
    return { results, totals };
  }

  /** Ends the threads; turns under way are lost. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  async #open(): Promise<void> {
    const thread = new ChartThread(this.#options);
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

  #free(turn: Turn): Promise<ChartThread> {
    return new Promise((start) => {
      this.#queue.push({ turn, start });
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
        .filter((candidate) => candidate.hasRoomFor(entry.turn))
        .toSorted((a, b) => a.held - b.held)[0];
      if (thread === undefined) continue;
      this.#queue.splice(this.#queue.indexOf(entry), 1);
      thread.held++;
      thread.waits = entry.turn.waits;
      entry.start(thread);
    }
  }
}

type TurnEnd =
  | { readonly kind: 'ended' }
  /** `begun` are the subjects of the turn that were under way, by their place in it. */
  | { readonly kind: 'died'; readonly death: Death; readonly begun: readonly number[] };

interface ActiveTurn {
  readonly onBatch: (cover: TurnCover) => void;
  readonly finish: (end: TurnEnd) => void;
  readonly crumbs: Uint8Array;
  readonly subjectTimeoutMs: number;
}

class ChartThread {
  /** Turns that were given to it. */
  held = 0;
  /** Whether those turns wait. */
  waits = false;
  readonly ready: Promise<ReadonlyMap<string, string>>;
  readonly #worker: Worker;
  readonly #log: Logger;
  readonly #beat = new Int32Array(new SharedArrayBuffer(4));
  readonly #active = new Map<number, ActiveTurn>();
  readonly #watch: NodeJS.Timeout;
  #turns = 0;
  #dead: Death | undefined;
  #seenBeat = 0;
  #seenAt = performance.now();

  constructor(options: ChartThreadsOptions) {
    this.#log = options.log;
    const data: ThreadData = { ...options.data, beat: this.#beat.buffer };
    this.#worker = new Worker(new URL('./chart-thread.ts', import.meta.url), {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
      stdout: true,
      stderr: true,
    });
    // What a chart prints is a payload: it goes nowhere.
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: FromThread) => {
        if (message.type === 'ready') resolve(new Map(message.definitions));
        else this.#receive(message);
      });
      this.#worker.on('error', (error: NodeJS.ErrnoException) => {
        reject(error);
        this.#die(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'uncaught_error');
      });
      this.#worker.on('exit', () => {
        reject(new Error('a chart thread ended before it was ready'));
        this.#die('process_exit');
      });
    });
    this.#watch = setInterval(() => this.#look(), WATCH_MS);
    this.#watch.unref();
  }

  hasRoomFor(turn: Turn): boolean {
    if (this.#dead !== undefined) return false;
    return this.held === 0 || (turn.waits && this.waits && this.held < WAITING_TURNS_A_THREAD);
  }

  run(turn: Turn, onBatch: (cover: TurnCover) => void): Promise<TurnEnd> {
    const number = ++this.#turns;
    const crumbs = new Uint8Array(new SharedArrayBuffer(turn.subjects.length));
    return new Promise((resolve) => {
      const stop = () => this.#post({ type: 'stop', turn: number, ...reasonOf(turn) });
      const finish = (end: TurnEnd) => {
        this.#active.delete(number);
        for (const signal of [turn.stop.signal, turn.stopping]) signal.removeEventListener('abort', stop);
        resolve(end);
      };
      if (this.#dead !== undefined) return finish({ kind: 'died', death: this.#dead, begun: [] });
      this.#active.set(number, { onBatch, finish, crumbs, subjectTimeoutMs: turn.subjectTimeoutMs });
      for (const signal of [turn.stop.signal, turn.stopping]) signal.addEventListener('abort', stop);
      const subjects = new TextEncoder().encode(JSON.stringify(turn.subjects));
      const { definitionDigest, runId, input, now, sliceMs } = turn;
      const known = turn.stop.reason();
      this.#seenAt = performance.now();
      this.#post(
        {
          type: 'turn',
          request: {
            turn: number,
            definitionDigest,
            runId,
            input,
            now,
            sliceMs,
            subjects,
            crumbs: crumbs.buffer,
            ...(known !== undefined && { stop: known }),
          },
        },
        [subjects.buffer],
      );
      if (turn.stop.signal.aborted || turn.stopping.aborted) stop();
    });
  }

  async terminate(): Promise<void> {
    clearInterval(this.#watch);
    await this.#worker.terminate();
  }

  #post(message: ToThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #receive(message: Exclude<FromThread, { type: 'ready' }>): void {
    const active = this.#active.get(message.turn);
    if (active === undefined) return;
    if (message.type === 'end') active.finish({ kind: 'ended' });
    else active.onBatch(JSON.parse(new TextDecoder().decode(message.bytes)) as TurnBatch);
  }

  /** A loop that never yields is seen by a heart that does not beat. */
  #look(): void {
    const beat = Atomics.load(this.#beat, 0);
    const now = performance.now();
    if (beat !== this.#seenBeat || this.#active.size === 0) {
      this.#seenBeat = beat;
      this.#seenAt = now;
      return;
    }
    const patience = Math.max(...[...this.#active.values()].map((active) => active.subjectTimeoutMs)) + GRACE_MS;
    if (now - this.#seenAt > patience) this.#die('timeout');
  }

  #die(death: Death): void {
    if (this.#dead !== undefined) return;
    this.#dead = death;
    if (this.#active.size > 0) this.#log.warn({ death }, 'a chart thread ended');
    void this.#worker.terminate();
    for (const { finish, crumbs } of [...this.#active.values()]) {
      const begun = [...crumbs.keys()].filter((index) => crumbs[index] === 1);
      finish({ kind: 'died', death, begun });
    }
  }
}

function setAside(death: Death): TurnResult {
  return { outcome: 'not_checked', reasonCode: death, reason: DEATHS[death], columns: '{}' };
}

function reasonOf(turn: Turn): { reason?: StopReason } {
  const reason = turn.stop.reason();
  return reason === undefined ? {} : { reason };
}
