/**
 * Cuts a stream of JSON documents into list items.
 *
 * Invariants:
 * - only brackets and strings are looked at; every part then goes through `JSON.parse`, which is strict (a bare NaN, a
 *   single quote or a comma too many is refused);
 * - the elements of a top-level `items` list, or of a top-level list, are cut out one by one; all else is kept as the
 *   document around them;
 * - documents may follow each other with or without a line end; text between them comes out as lines, never vanishes;
 * - brackets that do not match end the reading: after them no boundary can be trusted.
 */
import { ByteSpool } from './byte-spool.ts';
import { type InputCut, type InputCutter, MAX_LINE_BYTES, MAX_PART_BYTES } from './input-cut.ts';
import { InputFault } from './input-fault.ts';

const MAX_DEPTH = 512;
const LF = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET_OPEN = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const OPEN_LIST = Buffer.from('[');

export class JsonCutter implements InputCutter {
  readonly #document = new ByteSpool(MAX_PART_BYTES);
  readonly #item = new ByteSpool(MAX_PART_BYTES);
  readonly #closers = new Uint8Array(MAX_DEPTH);
  #depth = 0;
  #inString = false;
  #escaped = false;

  #line: number[] = [];
  #lineBlank = true;
  /** A `[` at a line's start: a list when a value follows, the mark of a log line otherwise. */
  #bracketAhead = false;

  /** The depth of the list whose elements are being cut; 0 when there is none. */
  #listDepth = 0;
  #items: number | undefined;
  #itemBlank = true;
  #expectKey = false;
  #key: string | undefined;
  #afterItemsKey = false;

  *push(chunk: Uint8Array): Generator<InputCut> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#inString) {
        at = this.#skipString(chunk, at);
        continue;
      }
      const byte = chunk[at] as number;
      if (this.#depth === 0) {
        if (byte === LF && !this.#bracketAhead) {
          yield* this.#takeLine();
          continue;
        }
        if (!this.#startsDocument(byte)) continue;
        from = at;
      }
      if (byte === QUOTE) {
        this.#startString();
      } else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) {
        if (this.#depth === 1 && this.#afterItemsKey && byte === BRACKET_OPEN) {
          this.#document.add(chunk.subarray(from, at + 1));
          from = at + 1;
          this.#enter(byte);
          this.#startList();
        } else {
          this.#enter(byte);
        }
      } else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
        if (this.#depth === this.#listDepth) {
          this.#item.add(chunk.subarray(from, at));
          from = at;
          yield* this.#endList();
        }
        this.#leave(byte);
        if (this.#depth === 0) {
          this.#document.add(chunk.subarray(from, at + 1));
          from = at + 1;
          yield this.#takeDocument();
        }
      } else if (byte === COMMA && this.#depth === this.#listDepth) {
        this.#item.add(chunk.subarray(from, at));
        from = at + 1;
        yield this.#takeItem();
      } else {
        this.#seePunctuation(byte);
      }
    }
    if (this.#depth > 0) (this.#listDepth > 0 ? this.#item : this.#document).add(chunk.subarray(from));
  }

  *end(): Generator<InputCut> {
    if (this.#depth > 0 || this.#bracketAhead) {
      throw new InputFault('truncated', 'it is cut off before the end of its last document');
    }
    yield* this.#takeLine();
  }

  /** Between documents: whether this byte belongs to a new one. The opening bracket itself is entered by the caller. */
  #startsDocument(byte: number): boolean {
    if (this.#lineBlank && isBlank(byte)) return false;
    if (this.#bracketAhead) {
      this.#bracketAhead = false;
      if (byte === BRACE_OPEN || byte === BRACKET_OPEN || byte === BRACKET_CLOSE) {
        this.#document.add(OPEN_LIST);
        this.#enter(BRACKET_OPEN);
        this.#startList();
        return true;
      }
      this.#line.push(BRACKET_OPEN);
    } else if (this.#lineBlank && byte === BRACE_OPEN) {
      this.#expectKey = true;
      return true;
    } else if (this.#lineBlank && byte === BRACKET_OPEN) {
      this.#bracketAhead = true;
      return false;
    }
    this.#lineBlank = false;
    if (this.#line.length < MAX_LINE_BYTES) this.#line.push(byte);
    return false;
  }

  *#takeLine(): Generator<InputCut> {
    const line = this.#line;
    this.#line = [];
    this.#lineBlank = true;
    if (line.length > 0) yield { type: 'line', bytes: Uint8Array.from(line) };
  }

  #startString(): void {
    this.#inString = true;
    this.#itemBlank = false;
    this.#afterItemsKey = false;
    if (this.#depth === 1 && this.#expectKey) this.#key = '';
  }

  /** Goes on inside a string; gives the place of its end, or of the chunk's. */
  #skipString(chunk: Uint8Array, start: number): number {
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#escaped) {
        this.#escaped = false;
      } else if (byte === BACKSLASH) {
        this.#escaped = true;
      } else if (byte === QUOTE) {
        this.#inString = false;
        break;
      }
      if (this.#key !== undefined && this.#key.length <= 'items'.length)
        this.#key += String.fromCharCode(byte as number);
    }
    return at;
  }

  #seePunctuation(byte: number): void {
    if (isBlank(byte)) return;
    this.#itemBlank = false;
    if (this.#depth !== 1) return;
    this.#afterItemsKey = byte === COLON && this.#key === 'items';
    this.#expectKey = byte === COMMA && this.#closers[0] === BRACE_CLOSE;
    this.#key = undefined;
  }

  #enter(byte: number): void {
    if (this.#depth === MAX_DEPTH) throw new InputFault('not_json', `it is nested deeper than ${MAX_DEPTH} levels`);
    this.#closers[this.#depth++] = byte === BRACE_OPEN ? BRACE_CLOSE : BRACKET_CLOSE;
    this.#itemBlank = false;
    this.#afterItemsKey = false;
  }

  #leave(byte: number): void {
    this.#depth--;
    if (this.#closers[this.#depth] !== byte) throw new InputFault('not_json', 'its brackets do not match');
  }

  #startList(): void {
    this.#listDepth = this.#depth;
    this.#items ??= 0;
    this.#itemBlank = true;
  }

  *#endList(): Generator<InputCut> {
    if (!this.#itemBlank || (this.#items ?? 0) > 0) yield this.#takeItem();
    this.#item.take();
    this.#listDepth = 0;
    this.#itemBlank = false;
  }

  #takeItem(): InputCut {
    const index = this.#items ?? 0;
    this.#items = index + 1;
    this.#itemBlank = true;
    return { type: 'item', index, bytes: this.#item.take() };
  }

  #takeDocument(): InputCut {
    const cut: InputCut = { type: 'document', bytes: this.#document.take(), items: this.#items };
    this.#items = undefined;
    this.#expectKey = false;
    this.#key = undefined;
    this.#lineBlank = true;
    return cut;
  }
}

/** White space, and the bytes of a byte order mark that a concatenated file may carry. */
function isBlank(byte: number): boolean {
  return (
    byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09 || byte === 0xef || byte === 0xbb || byte === 0xbf
  );
}
