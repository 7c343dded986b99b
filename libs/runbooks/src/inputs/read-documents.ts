/**
 * Reads an input of JSON or YAML documents into values and named findings about the input.
 *
 * Invariants:
 * - memory holds one item of the input, not the input;
 * - everything that is read ends as an item here: a value, what stands around a list, or a finding with a name;
 * - an item that cannot be read is a finding of its own, and the items after it are read; only a fault of the whole input
 *   (cut off, brackets that do not match, no JSON or YAML) ends the reading.
 */
import { setImmediate } from 'node:timers/promises';
import { JsonCutter } from './cut-json.ts';
import { YamlCutter } from './cut-yaml.ts';
import { decodeInput } from './decode-input.ts';
import type { InputCut, InputCutter } from './input-cut.ts';
import { InputFault, type InputProblem } from './input-fault.ts';
import { describeText, isFragment, isYamlLine, type Refusal, readRefusal, sniffSyntax } from './outside-text.ts';
import { parsePart } from './parse-part.ts';

/** What a reading gives, in the input's order. */
export type DocumentItem =
  /** A document, or an item of a list that was cut out of one. */
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** Where it stands; undefined when it is all there is in its input. */
      readonly place?: string;
      /** It held bytes that are not UTF-8, each replaced by U+FFFD. */
      readonly lossy: boolean;
      /** It is the end of an input whose last line has no end: what is missing in it may have been cut off. */
      readonly open: boolean;
    }
  /** The document around a list whose items came before it, each as a value of its own. */
  | { readonly kind: 'around'; readonly list: Readonly<Record<string, unknown>>; readonly items: number }
  | UnreadPart
  /** The whole input cannot be read; it is the last item. */
  | { readonly kind: 'fault'; readonly problem: InputProblem; readonly detail: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** A line that belongs to no document. */
  | { readonly kind: 'noise' }
  /** The last line has no end: in YAML nothing else would tell that lines are missing after it. */
  | { readonly kind: 'open_end' };

/** An item that cannot be read; `place` says where it stands, undefined when it is all there is in its document. */
export interface UnreadPart {
  readonly kind: 'unread';
  readonly problem: InputProblem;
  readonly detail: string;
  readonly place?: string;
}

export interface ReadDocumentsOptions {
  readonly signal?: AbortSignal;
  /** How many unpacked bytes are read at most. */
  readonly maxBytes?: number;
}

const FRONT_BYTES = 1024 * 1024;
/** A chunk may be a whole file; this much of it is looked at before others get their turn. */
const STEP_BYTES = 64 * 1024;
const YIELD_AFTER_MS = 10;

/** Reads one input. Throws only what `source` throws, and the signal's reason. */
export async function* readDocuments(
  source: AsyncIterable<Uint8Array>,
  options: ReadDocumentsOptions = {},
): AsyncGenerator<DocumentItem> {
  try {
    yield* readDecoded(decodeInput(source, options.maxBytes), options.signal);
  } catch (error) {
    if (!(error instanceof InputFault)) throw error;
    yield { kind: 'fault', problem: error.code, detail: error.detail };
  }
}

async function* readDecoded(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<DocumentItem> {
  const reading = new Reading();
  let since = performance.now();
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += STEP_BYTES) {
      yield* reading.push(chunk.subarray(at, at + STEP_BYTES));
      // A source that is in memory never waits; without this, timers and lock renewals would starve.
      if (performance.now() - since > YIELD_AFTER_MS) {
        await setImmediate();
        since = performance.now();
      }
      signal?.throwIfAborted();
    }
  }
  yield* reading.end();
}

/** One reading: finds the syntax, cuts, parses, and says what each part is. */
class Reading {
  #front: Uint8Array = new Uint8Array(0);
  #cutter: InputCutter | undefined;
  #syntax: 'json' | 'yaml' = 'json';
  #documents = 0;
  #endsInLine = true;

  *push(chunk: Uint8Array): Generator<DocumentItem> {
    if (chunk.byteLength > 0) this.#endsInLine = chunk.at(-1) === 0x0a;
    if (this.#cutter === undefined) {
      this.#front = this.#front.byteLength === 0 ? chunk : Buffer.concat([this.#front, chunk]);
      if (this.#front.byteLength < 64 || !this.#choose()) {
        if (this.#front.byteLength > FRONT_BYTES) this.#refuseText();
        return;
      }
      yield* this.#cut(this.#front);
    } else {
      yield* this.#cut(chunk);
    }
  }

  *end(): Generator<DocumentItem> {
    if (this.#cutter === undefined) {
      if (!this.#choose()) {
        yield* this.#endWithText();
        return;
      }
      yield* this.#cut(this.#front);
    }
    for (const cut of (this.#cutter as InputCutter).end()) yield* this.#understand(cut, true);
    if (this.#syntax === 'yaml' && !this.#endsInLine) yield { kind: 'open_end' };
  }

  #choose(): boolean {
    const syntax = sniffSyntax(textOf(this.#front));
    if (syntax === undefined) return false;
    this.#syntax = syntax;
    this.#cutter = syntax === 'json' ? new JsonCutter() : new YamlCutter();
    return true;
  }

  *#endWithText(): Generator<DocumentItem> {
    const text = textOf(this.#front);
    const refusals = text.split('\n').flatMap((line) => readRefusal(line) ?? []);
    if (refusals.length === 0) this.#refuseText();
    for (const refusal of refusals) yield { kind: 'refused', refusal };
  }

  #refuseText(): never {
    const { problem, detail } = describeText(textOf(this.#front).slice(0, 65_536));
    throw new InputFault(problem, detail);
  }

  *#cut(chunk: Uint8Array): Generator<DocumentItem> {
    for (const cut of (this.#cutter as InputCutter).push(chunk)) yield* this.#understand(cut, false);
  }

  *#understand(cut: InputCut, atEnd: boolean): Generator<DocumentItem> {
    if (cut.type === 'line') {
      yield* understandLine(textOf(cut.bytes));
      return;
    }
    if (cut.type === 'item') {
      yield* this.#part(
        cut.bytes,
        this.#documents > 0 ? `document ${this.#documents + 1} item ${cut.index + 1}` : `item ${cut.index + 1}`,
      );
      return;
    }
    this.#documents++;
    const place = this.#documents > 1 || !atEnd ? `document ${this.#documents}` : undefined;
    if (cut.items === undefined) yield* this.#part(cut.bytes, place, atEnd);
    else yield* this.#around(cut.bytes, cut.items, atEnd);
  }

  *#part(bytes: Uint8Array | undefined, place: string | undefined, atEnd = false): Generator<DocumentItem> {
    const parsed = parsePart(bytes, this.#syntax);
    const maybeCut = atEnd && this.#syntax === 'yaml' && !this.#endsInLine;
    if (!parsed.ok) {
      if (maybeCut && parsed.problem === 'not_yaml') throw new InputFault('truncated', 'it is cut off in a line');
      yield { kind: 'unread', problem: parsed.problem, detail: parsed.detail, ...(place !== undefined && { place }) };
      return;
    }
    const at = place !== undefined && { place };
    yield { kind: 'value', value: parsed.value, ...at, lossy: parsed.lossy === true, open: maybeCut };
  }

  /** The document around a list that was cut out of it. */
  *#around(bytes: Uint8Array | undefined, items: number, atEnd: boolean): Generator<DocumentItem> {
    const parsed = parsePart(bytes, this.#syntax);
    if (!parsed.ok) throw new InputFault(parsed.problem, `${parsed.detail}, around its items`);
    const list = (
      parsed.value === null || typeof parsed.value !== 'object' || Array.isArray(parsed.value) ? {} : parsed.value
    ) as Record<string, unknown>;
    // In YAML a list's kind stands behind its items: without it the end is missing.
    if (this.#syntax === 'yaml' && items > 0 && 'items' in list && list.kind === undefined) {
      throw new InputFault('truncated', atEnd ? 'its list has no end' : 'a list in it has no end');
    }
    yield { kind: 'around', list, items };
  }
}

function* understandLine(text: string): Generator<DocumentItem> {
  const refusal = readRefusal(text);
  if (refusal !== undefined) {
    yield { kind: 'refused', refusal };
  } else if (isFragment(text)) {
    throw new InputFault('not_json', 'a piece of a document stands outside of any');
  } else if (isYamlLine(text)) {
    yield { kind: 'unread', problem: 'mixed_formats', detail: 'YAML follows its JSON', place: 'between documents' };
  } else {
    yield { kind: 'noise' };
  }
}

/** For looking at shapes only: every byte one character. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
