/**
 * Cuts a stream of YAML documents into list items.
 *
 * Invariants:
 * - YAML's own rules about indentation make the cuts safe: a line `---` at the start of a line always parts documents, and
 *   a dash at the indentation of a list always starts its next element, also inside block text;
 * - only a block list under a top-level `items:`, or a top-level block list, is cut; any other document stays whole;
 * - a second `apiVersion:` at the start of a line begins a new document: that is how two outputs in one file look, and
 *   neither may hide the other.
 */
import { ByteSpool } from './byte-spool.ts';
import { type InputCut, type InputCutter, MAX_LINE_BYTES, MAX_PART_BYTES } from './input-cut.ts';
import { isOutsideLine } from './outside-text.ts';

const LF = 0x0a;

export class YamlCutter implements InputCutter {
  readonly #document = new ByteSpool(MAX_PART_BYTES);
  readonly #item = new ByteSpool(MAX_PART_BYTES);
  readonly #pending = new ByteSpool(MAX_PART_BYTES);
  #items: number | undefined;
  #listAhead = false;
  #listIndent: number | undefined;
  #itemOpen = false;
  #hasContent = false;
  #hasVersion = false;

  *push(chunk: Uint8Array): Generator<InputCut> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      this.#pending.add(chunk.subarray(from, end + 1));
      from = end + 1;
      yield* this.#takeLine();
    }
    this.#pending.add(chunk.subarray(from));
  }

  *end(): Generator<InputCut> {
    if (this.#pending.bytes > 0) yield* this.#takeLine();
    yield* this.#endDocument();
  }

  *#takeLine(): Generator<InputCut> {
    const bytes = this.#pending.take();
    if (bytes === undefined) {
      // A line over the part limit: whatever it belongs to is over it too.
      (this.#itemOpen ? this.#item : this.#document).add(new Uint8Array(MAX_PART_BYTES + 1));
      this.#hasContent = true;
      return;
    }
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 256)).toString('latin1');
    if (/^(---|\.\.\.)(\s|$)/.test(head)) {
      yield* this.#endDocument();
      if (/^---\s+\S/.test(head) && !/^---\s+[#!&]/.test(head)) this.#content(bytes.subarray(3));
      return;
    }
    if (isOutsideLine(head)) {
      yield { type: 'line', bytes: bytes.subarray(0, MAX_LINE_BYTES) };
      return;
    }
    if (/^(%YAML|%TAG)\s/.test(head) && !this.#hasContent) return;
    if (/^\s*(#|$)/.test(head)) {
      if (this.#itemOpen) this.#item.add(bytes);
      else if (this.#hasContent) this.#document.add(bytes);
      return;
    }
    yield* this.#contentLine(bytes, head);
  }

  *#contentLine(bytes: Uint8Array, head: string): Generator<InputCut> {
    const dash = /^( *)-(\s|$)/.exec(head);
    if (this.#listAhead || (!this.#hasContent && dash?.[1] === '')) {
      this.#listAhead = false;
      if (dash !== null) {
        this.#listIndent = (dash[1] ?? '').length;
        this.#items ??= 0;
      }
    }
    if (this.#listIndent !== undefined && dash !== null && dash[1]?.length === this.#listIndent) {
      yield* this.#endItem();
      this.#itemOpen = true;
      this.#hasContent = true;
      this.#item.add(withoutDash(bytes, this.#listIndent));
      return;
    }
    if (this.#itemOpen && /^\s/.test(head) && indentOf(head) > (this.#listIndent ?? 0)) {
      this.#item.add(bytes);
      return;
    }
    yield* this.#endItem();
    this.#listIndent = undefined;
    if (/^apiVersion:/.test(head)) {
      if (this.#hasVersion) yield* this.#endDocument();
      this.#hasVersion = true;
    }
    this.#listAhead = /^items:\s*(#.*)?$/.test(head);
    this.#content(bytes);
  }

  #content(bytes: Uint8Array): void {
    this.#hasContent = true;
    this.#document.add(bytes);
  }

  *#endItem(): Generator<InputCut> {
    if (!this.#itemOpen) return;
    const index = this.#items ?? 0;
    this.#items = index + 1;
    this.#itemOpen = false;
    yield { type: 'item', index, bytes: this.#item.take() };
  }

  *#endDocument(): Generator<InputCut> {
    yield* this.#endItem();
    const bytes = this.#document.take();
    if (this.#hasContent) yield { type: 'document', bytes, items: this.#items };
    this.#items = undefined;
    this.#listAhead = false;
    this.#listIndent = undefined;
    this.#hasContent = false;
    this.#hasVersion = false;
  }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function withoutDash(bytes: Uint8Array, indent: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[indent] = 0x20;
  return copy;
}
