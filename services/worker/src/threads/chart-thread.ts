/**
 * The body of a chart thread: takes turns, hands results over in batches. It holds nothing that must not be lost: the
 * worker's main thread keeps locks, settles and mints.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { AssessedSubject } from '@muster/envelope';
import { type LoadedCatalog, loadCatalog } from '@muster/host/catalog';
import { PortPacer } from '../pacing/pacer-port.ts';
import { assessSubjects, readSubjects } from './assess-subjects.ts';
import { plainClone } from './plain-clone.ts';
import { CoverBuilder } from './turn-cover.ts';
import type { FromThread, ThreadData, ToThread, TurnRequest } from './turn-messages.ts';
import { TurnStop } from './turn-stop.ts';

/** Results wait no longer than this before they are handed over, so that a death of the thread costs little. */
const BATCH_MS = 250;
const BATCH_SUBJECTS = 1000;
const BEAT_MS = 200;

const port = parentPort;
if (port === null) throw new Error('a chart thread is started by a worker, not by itself');
const data = workerData as ThreadData;
const beat = new Int32Array(data.beat);
setInterval(() => Atomics.add(beat, 0, 1), BEAT_MS).unref();

globalThis.structuredClone = plainClone(globalThis.structuredClone);
const loaded = await loadCatalog(data);
const stops = new Map<number, TurnStop>();
/** Builders that no turn holds: their space is used again. */
const builders: CoverBuilder[] = [];
const pacer = new PortPacer(data.pacing);

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') return stops.get(message.turn)?.stop(message.reason, message.atOnce);
  void runTurn(loaded, message.request);
});
send({ type: 'ready', definitions: [...loaded.byName].map(([name, { digest }]) => [name, digest] as const) });

async function runTurn(catalog: LoadedCatalog, request: TurnRequest): Promise<void> {
  const stop = new TurnStop(request.stop);
  stops.set(request.turn, stop);
  const crumbs = new Uint8Array(request.crumbs);
  const batches = new BatchSender(request.turn);
  const { namesJson, ...held } = request.subjects;
  const subjects = readSubjects({ ...held, names: JSON.parse(namesJson) }, request.from, request.to);
  await assessSubjects(catalog, { ...request, subjects, pacer }, stop, {
    onBegin: (index) => crumbs.fill(1, index, index + 1),
    onDone: (index) => crumbs.fill(2, index, index + 1),
    onResults: (covered) => batches.add(covered),
  });
  batches.close();
  stop.close();
  stops.delete(request.turn);
  send({ type: 'end', turn: request.turn });
}

class BatchSender {
  readonly #turn: number;
  readonly #cover = builders.pop() ?? new CoverBuilder();
  #sentAt = performance.now();

  constructor(turn: number) {
    this.#turn = turn;
  }

  add(subjects: readonly AssessedSubject[]): void {
    for (const subject of subjects) this.#cover.add(subject);
    const due = this.#cover.count >= BATCH_SUBJECTS || performance.now() - this.#sentAt >= BATCH_MS;
    if (due) this.flush();
  }

  close(): void {
    this.flush();
    builders.push(this.#cover);
  }

  flush(): void {
    if (this.#cover.count === 0) return;
    const cover = this.#cover.take();
    this.#sentAt = performance.now();
    const bulk = [cover.walk, cover.recordings, ...cover.subjects.columns].map((bytes) => bytes.buffer as ArrayBuffer);
    send({ type: 'batch', turn: this.#turn, cover }, bulk);
  }
}

function send(message: FromThread, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}
