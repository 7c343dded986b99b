/**
 * A set of strings in little memory: their UTF-8 one behind the other, and a table of where each begins.
 *
 * A plan has to know every key that it has met, and a million of them in a `Set` cost a worker some 120 MB; here 30. It is
 * exact: keys with the same hash are compared byte by byte.
 */

const PAGE_BYTES = 1 << 20;
const FIRST_SLOTS = 1 << 10;
/** A table fuller than this is doubled. */
const MAX_LOAD = 0.6;
const LENGTH_BYTES = 2;
const FREE = -1;

/** A key is at most 65,535 bytes of UTF-8. */
export class KeySet {
  readonly #encoder = new TextEncoder();
  readonly #pages: Uint8Array[] = [];
  /** How much of the last page is used. */
  #used = PAGE_BYTES;
  /** Where each key begins, counted over all pages. */
  #slots = new Float64Array(FIRST_SLOTS).fill(FREE);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a well-formed key; false when it was there already. @throws RangeError when it is too long */
  add(key: string): boolean {
    if (this.#size >= this.#slots.length * MAX_LOAD) this.#grow();
    const entry = this.#write(key);
    const slot = this.#find(entry);
    // What was written for a key that is there already is written over by the next one.
    if (this.#slots[slot] !== FREE) return false;
    this.#slots[slot] = (this.#pages.length - 1) * PAGE_BYTES + this.#used;
    this.#used += entry.length;
    this.#size++;
    return true;
  }

  has(key: string): boolean {
    return this.#slots[this.#find(this.#write(key))] !== FREE;
  }

  /** Writes a key behind the others, with its length in front; a key never goes over the end of a page. */
  #write(key: string): Uint8Array {
    const most = LENGTH_BYTES + 3 * key.length;
    if (most > LENGTH_BYTES + 0xffff) throw new RangeError(`a key of ${key.length} characters is too long`);
    if (this.#used + most > PAGE_BYTES) {
      this.#pages.push(new Uint8Array(PAGE_BYTES));
      this.#used = 0;
    }
    const page = this.#pages.at(-1) as Uint8Array;
    const { written } = this.#encoder.encodeInto(key, page.subarray(this.#used + LENGTH_BYTES));
    page[this.#used] = written & 0xff;
    page[this.#used + 1] = written >> 8;
    return page.subarray(this.#used, this.#used + LENGTH_BYTES + written);
  }

  /** The slot that holds this entry, or the free one where it belongs. */
  #find(entry: Uint8Array): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(entry) & mask;
    for (;;) {
      const at = this.#slots[slot] as number;
      if (at === FREE || isSame(this.#entryAt(at), entry)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #entryAt(at: number): Uint8Array {
    const page = this.#pages[Math.floor(at / PAGE_BYTES)] as Uint8Array;
    const from = at % PAGE_BYTES;
    const length = (page[from] as number) + ((page[from + 1] as number) << 8);
    return page.subarray(from, from + LENGTH_BYTES + length);
  }

  #grow(): void {
    const held = this.#slots;
    this.#slots = new Float64Array(held.length * 2).fill(FREE);
    for (const at of held) if (at !== FREE) this.#slots[this.#find(this.#entryAt(at))] = at;
  }
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}

/** FNV-1a, with its bits stirred: neighbouring names must not sit beside each other in the table. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
