import type { PlannedSubject } from '@muster/envelope';
import type { PlannedChunk } from '@muster/results';
import type { TurnSubject } from './threads/turn-messages.ts';

/** Cuts a stream of planned subjects into chunks. It never holds more than one chunk that is not full. */
export class ChunkBuffer {
  readonly #size: number;
  readonly #newId: () => string;
  readonly #seal: (chunkId: string, items: Buffer) => Buffer;
  #pending: PlannedSubject[] = [];

  constructor(size: number, newId: () => string, seal: (chunkId: string, items: Buffer) => Buffer) {
    this.#size = size;
    this.#newId = newId;
    this.#seal = seal;
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
        keys: subjects.map(({ key, identity = null, target = null }) => [key, identity, target] as const),
      },
    ];
  }
}

/** What of the subjects is kept for assess: themselves, in order. Their names stand beside them. */
export function encodeItems(subjects: readonly Pick<PlannedSubject, 'subject'>[]): Buffer {
  return Buffer.from(JSON.stringify(subjects.map(({ subject }) => subject)));
}

/** The subjects of a chunk as a turn takes them, from its opened items and its names. */
export function decodeItems(
  items: Buffer,
  chunk: { readonly firstOrdinal: number; readonly keys: PlannedChunk['keys'] },
): TurnSubject[] {
  const subjects: unknown[] = JSON.parse(items.toString('utf8'));
  return chunk.keys.map(
    ([key, identity, target], index) => [chunk.firstOrdinal + index, key, identity, target, subjects[index]] as const,
  );
}

/** What stays of a chunk that was covered in part, encoded for the chunk that takes it over. */
export function encodeRest(subjects: readonly TurnSubject[]): Buffer {
  return encodeItems(subjects.map(([, , , , subject]) => ({ subject })));
}
