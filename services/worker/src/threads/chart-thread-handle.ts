/**
 * One chart thread as the worker holds it: turns are run on it, its heart is watched, its death is told with what was
 * under way.
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { CallPacer } from '@muster/envelope';
import type { Logger } from '@muster/host';
import type { StopReason } from '@muster/results';
import { servePacer } from '../pacing/pacer-port.ts';
import type { Turn } from './chart-runner.ts';
import type { TurnCover } from './turn-cover.ts';
import type { FromThread, ThreadData, ToThread } from './turn-messages.ts';

export interface ChartThreadOptions {
  readonly heapMb: number;
  readonly data: Omit<ThreadData, 'beat' | 'pacing'>;
  readonly log: Logger;
}

/** How a thread ended without being asked to. */
export type Death = 'timeout' | 'out_of_memory' | 'process_exit' | 'uncaught_error';

/** Two halves of 16 MB and their reserve: what processes are started with (PROCESS_MEMORY) holds for threads too. */
const YOUNG_GENERATION_MB = 48;
const WAITING_TURNS_A_THREAD = 4;
const WATCH_MS = 500;
const GRACE_MS = 1000;

/** How a turn ended on its thread. */
export type TurnEnd =
  | { readonly kind: 'ended' }
  /** `begun` are the subjects of the turn that were under way, by their place in it; `others`: or it was another turn's. */
  | { readonly kind: 'died'; readonly death: Death; readonly begun: readonly number[]; readonly others: boolean };

interface ActiveTurn {
  readonly onBatch: (cover: TurnCover) => void;
  readonly finish: (end: TurnEnd) => void;
  readonly crumbs: Uint8Array;
  readonly subjectTimeoutMs: number;
}

export class ChartThread {
  /** Turns that were given to it. */
  held = 0;
  /** Whether those turns share it with others. */
  shared = false;
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

  constructor(options: ChartThreadOptions, pacer: CallPacer) {
    this.#log = options.log;
    const { port1, port2 } = new MessageChannel();
    servePacer(port1, pacer);
    const data: ThreadData = { ...options.data, beat: this.#beat.buffer, pacing: port2 };
    this.#worker = new Worker(new URL('./chart-thread.ts', import.meta.url), {
      workerData: data,
      transferList: [port2],
      resourceLimits: {
        maxOldGenerationSizeMb: options.heapMb,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      },
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

  hasRoomFor(turn: { readonly shares: boolean }): boolean {
    if (this.#dead !== undefined) return false;
    return this.held === 0 || (turn.shares && this.shared && this.held < WAITING_TURNS_A_THREAD);
  }

  /** Runs the subjects of a turn from one place up to and without another. */
  run(turn: Turn, from: number, to: number, onBatch: (cover: TurnCover) => void): Promise<TurnEnd> {
    const number = ++this.#turns;
    const crumbs = new Uint8Array(new SharedArrayBuffer(to - from));
    return new Promise((resolve) => {
      const stop = () => this.#post({ type: 'stop', turn: number, ...reasonOf(turn), atOnce: turn.stopping.aborted });
      const finish = (end: TurnEnd) => {
        this.#active.delete(number);
        for (const signal of [turn.stop.signal, turn.stopping]) signal.removeEventListener('abort', stop);
        resolve(end);
      };
      if (this.#dead !== undefined) return finish({ kind: 'died', death: this.#dead, begun: [], others: true });
      this.#active.set(number, { onBatch, finish, crumbs, subjectTimeoutMs: turn.subjectTimeoutMs });
      for (const signal of [turn.stop.signal, turn.stopping]) signal.addEventListener('abort', stop);
      const { names, ...held } = turn.subjects;
      const { definitionDigest, runId, input, now, sliceMs } = turn;
      const known = turn.stop.reason();
      this.#seenAt = performance.now();
      this.#post({
        type: 'turn',
        request: {
          turn: number,
          definitionDigest,
          runId,
          input,
          now,
          sliceMs,
          subjects: { ...held, namesJson: JSON.stringify(names) },
          from,
          to,
          crumbs: crumbs.buffer,
          ...(known !== undefined && { stop: known }),
        },
      });
      if (turn.stop.signal.aborted || turn.stopping.aborted) stop();
    });
  }

  async terminate(): Promise<void> {
    clearInterval(this.#watch);
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: Exclude<FromThread, { type: 'ready' }>): void {
    const active = this.#active.get(message.turn);
    if (active === undefined) return;
    if (message.type === 'end') active.finish({ kind: 'ended' });
    else active.onBatch(message.cover);
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
    const active = [...this.#active.values()];
    for (const { finish, crumbs } of active) {
      const begun = [...crumbs.keys()].filter((index) => crumbs[index] === 1);
      finish({ kind: 'died', death, begun, others: active.length > 1 });
    }
  }
}

function reasonOf(turn: Turn): { reason?: StopReason } {
  const reason = turn.stop.reason();
  return reason === undefined ? {} : { reason };
}
