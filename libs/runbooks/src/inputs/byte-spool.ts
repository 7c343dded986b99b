/**
 * Bytes of one part of an input, gathered across chunks up to a limit. Past the limit the bytes are dropped and the
 * part is known to be too large; the parts after it are not touched.
 */
export class ByteSpool {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get overflowed(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    this.#bytes += part.byteLength;
    if (this.overflowed) this.#parts = [];
    else this.#parts.push(part);
  }

  /** What was gathered, or undefined when it was too much; the spool is empty afterwards. */
  take(): Uint8Array | undefined {
    const taken = this.overflowed ? undefined : this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return taken;
  }
}
