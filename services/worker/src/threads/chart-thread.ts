/**
 * The body of a chart thread: takes turns, hands results over in batches. It holds nothing that must not be lost: the
 * worker's main thread keeps locks, settles and mints.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type AssessedSubject, totalSubjects } from '@muster/envelope';
import { type LoadedCatalog, loadCatalog } from '@muster/host/catalog';
import { assessSubjects, resultOf } from './assess-subjects.ts';
import type { FromThread, ThreadData, ToThread, TurnBatch, TurnRequest, TurnSubject } from './turn-messages.ts';
import { TurnStop } from './turn-stop.ts';

/** Results wait no longer than this before they are handed over, so that a death of the thread costs little. */
const BATCH_MS = 250;
const BATCH_SUBJECTS = 250;
const BEAT_MS = 200;

const port = parentPort;
if (port === null) throw new Error('a chart thread is started by a worker, not by itself');
const data = workerData as ThreadData;
const beat = new Int32Array(data.beat);
setInterval(() => Atomics.add(beat, 0, 1), BEAT_MS).unref();

const loaded = await loadCatalog(data);
const stops = new Map<number, TurnStop>();

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') return stops.get(message.turn)?.stop(message.reason);
  void runTurn(loaded, message.request);
});
send({ type: 'ready', definitions: [...loaded.byName].map(([name, { digest }]) => [name, digest] as const) });

async function runTurn(catalog: LoadedCatalog, request: TurnRequest): Promise<void> {
  const stop = new TurnStop(request.stop);
  stops.set(request.turn, stop);
  const crumbs = new Uint8Array(request.crumbs);
  const batches = new BatchSender(request.turn);
  const subjects = JSON.parse(new TextDecoder().decode(request.subjects)) as TurnSubject[];
  await assessSubjects(catalog, { ...request, subjects }, stop, {
    onBegin: (index) => crumbs.fill(1, index, index + 1),
    onDone: (index) => crumbs.fill(2, index, index + 1),
    onResults: (covered) => batches.add(covered),
  });
  batches.flush();
  stops.delete(request.turn);
  send({ type: 'end', turn: request.turn });
}

class BatchSender {
  readonly #turn: number;
  #pending: AssessedSubject[] = [];
  #sentAt = performance.now();

  constructor(turn: number) {
    this.#turn = turn;
  }

  add(subjects: readonly AssessedSubject[]): void {
    this.#pending.push(...subjects);
    const due = this.#pending.length >= BATCH_SUBJECTS || performance.now() - this.#sentAt >= BATCH_MS;
    if (due) this.flush();
  }

  flush(): void {
    if (this.#pending.length === 0) return;
    const batch: TurnBatch = { results: this.#pending.map(resultOf), totals: totalSubjects(this.#pending) };
    this.#pending = [];
    this.#sentAt = performance.now();
    const bytes = new TextEncoder().encode(JSON.stringify(batch));
    send({ type: 'batch', turn: this.#turn, bytes }, [bytes.buffer]);
  }
}

function send(message: FromThread, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}
