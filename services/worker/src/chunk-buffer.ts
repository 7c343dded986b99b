import type { PlannedSubject } from '@muster/envelope';
import type { PlannedChunk, SubjectNames } from '@muster/results';

/** Cuts a stream of planned subjects into chunks. It never holds more than one chunk that is not full. */
export class ChunkBuffer {
  readonly #size: number;
  readonly #newId: () => string;
  readonly #seal: (chunkId: string, items: Buffer) => Buffer;
  readonly #wave: number;
  #pending: PlannedSubject[] = [];

  constructor(size: number, newId: () => string, seal: (chunkId: string, items: Buffer) => Buffer, wave = 0) {
    this.#size = size;
    this.#newId = newId;
    this.#seal = seal;
    this.#wave = wave;
  }

  /** Takes a page in; gives the chunks that became full. */
  add(page: readonly PlannedSubject[]): PlannedChunk[] {
    const chunks: PlannedChunk[] = [];
    for (const subject of page) {
      this.#pending.push(subject);
      if (this.#pending.length === this.#size) chunks.push(...this.flush());
    }
    return chunks;
  }

  /** Gives the last chunk, which may not be full. */
  flush(): PlannedChunk[] {
    const subjects = this.#pending;
    const first = subjects[0];
    if (first === undefined) return [];
    this.#pending = [];
    const id = this.#newId();
    return [
      {
        id,
        firstOrdinal: first.ordinal,
        size: subjects.length,
        items: this.#seal(id, encodeItems(subjects)),
        keys: namesOf(subjects),
        wave: this.#wave,
      },
    ];
  }
}

/** The subjects' names, with their places where some between them are in another chunk. */
function namesOf(subjects: readonly PlannedSubject[]): SubjectNames[] {
  const places = subjects.map(({ ordinal }) => ordinal);
  const isSeamless = places.at(-1)! - places[0]! === places.length - 1;
  return subjects.map(({ key, identity = null, target = null, ordinal }) =>
    isSeamless ? [key, identity, target] : [key, identity, target, ordinal],
  );
}

/** What of the subjects is kept for assess: themselves, in order. Their names stand beside them. */
export function encodeItems(subjects: readonly Pick<PlannedSubject, 'subject'>[]): Buffer {
  return Buffer.from(JSON.stringify(subjects.map(({ subject }) => subject)));
}

/** What stays of opened items when the first `covered` are done, encoded for the chunk that takes them over. */
export function encodeRest(items: Uint8Array, covered: number): Buffer {
  const subjects: unknown[] = JSON.parse(new TextDecoder().decode(items));
  return Buffer.from(JSON.stringify(subjects.slice(covered)));
}
