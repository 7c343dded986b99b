/**
 * Reads an input's bytes into pods and named findings about the input.
 *
 * Invariants:
 * - memory holds one item of the input, not the input;
 * - everything that is read ends as an item here: a pod, something else that is counted, or a finding with a name;
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
import type { PodFacts } from './pod-facts.ts';
import { type PodCopy, projectPod, readPodCopy } from './project-pod.ts';

/** What a reading gives, in the input's order. */
export type PodInputItem =
  | { readonly kind: 'pod'; readonly pod: PodFacts; readonly copy: PodCopy }
  /** An item that cannot be read; `place` says where it stands, undefined when it is all there is in its document. */
  | { readonly kind: 'unread'; readonly problem: InputProblem; readonly detail: string; readonly place?: string }
  /** The whole input cannot be read; it is the last item. */
  | { readonly kind: 'fault'; readonly problem: InputProblem; readonly detail: string }
  /** An object that is no pod, by its kind. */
  | { readonly kind: 'other'; readonly name: string }
  /** A page of a longer list. */
  | { readonly kind: 'page'; readonly remaining?: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** A list without any item. */
  | { readonly kind: 'empty_list' }
  /** A watch saw this pod go; it stands for no pod any more. */
  | { readonly kind: 'deleted'; readonly namespace: string; readonly name: string }
  /** A line that belongs to no document. */
  | { readonly kind: 'noise' }
  /** The last line has no end: in YAML nothing else would tell that lines are missing after it. */
  | { readonly kind: 'open_end' };

export interface ReadPodsOptions {
  readonly signal?: AbortSignal;
  /** How many unpacked bytes are read at most. */
  readonly maxBytes?: number;
}

type Bag = Record<string, unknown>;

const FRONT_BYTES = 1024 * 1024;
const YIELD_AFTER_MS = 10;

/** Reads one input. Throws only what `source` throws, and the signal's reason. */
export async function* readPods(
  source: AsyncIterable<Uint8Array>,
  options: ReadPodsOptions = {},
): AsyncGenerator<PodInputItem> {
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
): AsyncGenerator<PodInputItem> {
  const reading = new Reading();
  let since = performance.now();
  for await (const chunk of chunks) {
    yield* reading.push(chunk);
    // A source that is in memory never waits; without this, timers and lock renewals would starve (FACTS).
    if (performance.now() - since > YIELD_AFTER_MS) {
      await setImmediate();
      since = performance.now();
    }
    signal?.throwIfAborted();
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

  *push(chunk: Uint8Array): Generator<PodInputItem> {
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

  *end(): Generator<PodInputItem> {
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

  *#endWithText(): Generator<PodInputItem> {
    const text = textOf(this.#front);
    const refusals = text.split('\n').flatMap((line) => readRefusal(line) ?? []);
    if (refusals.length === 0) this.#refuseText();
    for (const refusal of refusals) yield { kind: 'refused', refusal };
  }

  #refuseText(): never {
    const { problem, detail } = describeText(textOf(this.#front).slice(0, 65_536));
    throw new InputFault(problem, detail);
  }

  *#cut(chunk: Uint8Array): Generator<PodInputItem> {
    for (const cut of (this.#cutter as InputCutter).push(chunk)) yield* this.#understand(cut, false);
  }

  *#understand(cut: InputCut, atEnd: boolean): Generator<PodInputItem> {
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

  *#part(bytes: Uint8Array | undefined, place: string | undefined, atEnd = false): Generator<PodInputItem> {
    const parsed = parsePart(bytes, this.#syntax);
    const maybeCut = atEnd && this.#syntax === 'yaml' && !this.#endsInLine;
    if (!parsed.ok) {
      if (maybeCut && parsed.problem === 'not_yaml') throw new InputFault('truncated', 'it is cut off in a line');
      yield { kind: 'unread', problem: parsed.problem, detail: parsed.detail, ...(place !== undefined && { place }) };
      return;
    }
    for (const item of understandObject(parsed.value, place)) {
      // The phase stands near the end of what a cluster prints: without it, and in an open line, the rest is missing.
      if (maybeCut && item.kind === 'pod' && item.pod.phase === null) {
        throw new InputFault('truncated', 'it is cut off in a line');
      }
      yield parsed.lossy ? withLostBytes(item) : item;
    }
  }

  /** The document around a list that was cut out of it. */
  *#around(bytes: Uint8Array | undefined, items: number, atEnd: boolean): Generator<PodInputItem> {
    const parsed = parsePart(bytes, this.#syntax);
    if (!parsed.ok) throw new InputFault(parsed.problem, `${parsed.detail}, around its items`);
    const list = Array.isArray(parsed.value) ? {} : bag(parsed.value);
    // In YAML a list's kind stands behind its items: without it the end is missing.
    if (this.#syntax === 'yaml' && items > 0 && list !== undefined && 'items' in list && list.kind === undefined) {
      throw new InputFault('truncated', atEnd ? 'its list has no end' : 'a list in it has no end');
    }
    yield* understandList(list ?? {}, items);
  }
}

/** A pod in which bytes were lost can still be named; it is healthy only when it can be read as it was. */
function withLostBytes(item: PodInputItem): PodInputItem {
  return item.kind === 'pod' ? { ...item, pod: { ...item.pod, doubt: 'it holds bytes that are not UTF-8' } } : item;
}

function* understandLine(text: string): Generator<PodInputItem> {
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

function* understandObject(value: unknown, place: string | undefined): Generator<PodInputItem> {
  const object = bag(value);
  const at = place !== undefined && { place };
  if (object === undefined) {
    if (Array.isArray(value)) yield* understandItems(value, place);
    else yield { kind: 'unread', problem: 'not_an_object', detail: 'it is no object', ...at };
    return;
  }
  const watched = watchedObject(object);
  if (watched !== undefined) {
    yield* understandWatch(String(object.type), watched, place);
  } else if (object.kind === 'Status' && isKubernetes(object)) {
    if (object.status !== 'Success') yield { kind: 'refused', refusal: statusRefusal(object) };
  } else if (isPod(object)) {
    const pod = projectPod(object);
    if (pod === undefined)
      yield { kind: 'unread', problem: 'unnamed', detail: 'it is a pod without a usable name', ...at };
    else yield { kind: 'pod', pod, copy: readPodCopy(object, pod) };
  } else if ('items' in object && (object.kind === undefined || /List$/.test(String(object.kind)))) {
    const { items } = object;
    if (Array.isArray(items)) {
      yield* understandItems(items, place);
      yield* understandList(object, items.length);
    } else if (items === null) {
      yield* understandList(object, 0);
    } else {
      yield { kind: 'unread', problem: 'not_an_object', detail: 'its items are no list', ...at };
    }
  } else if (object.kind === 'List' || object.kind === 'PodList') {
    yield { kind: 'unread', problem: 'wrong_kind', detail: 'it is a list without items', ...at };
  } else {
    yield { kind: 'other', name: kindOf(object) };
  }
}

function* understandItems(items: readonly unknown[], place: string | undefined): Generator<PodInputItem> {
  for (const [index, item] of items.entries()) {
    const at = place === undefined ? `item ${index + 1}` : `${place} item ${index + 1}`;
    // One level down is what tools make of several answers; a list deeper than that is nothing a cluster gave.
    if (Array.isArray(item))
      yield { kind: 'unread', problem: 'not_an_object', detail: 'it is a list in a list', place: at };
    else yield* understandObject(item, at);
  }
}

/** What the document around its items says about them. */
function* understandList(list: Bag, items: number): Generator<PodInputItem> {
  const metadata = bag(list.metadata);
  const remaining = metadata?.remainingItemCount;
  const more = typeof remaining === 'number' && remaining > 0;
  if (more || (typeof metadata?.continue === 'string' && metadata.continue !== '')) {
    yield { kind: 'page', ...(more && { remaining }) };
  }
  if (items > 0) return;
  const kind = list.kind;
  if (kind === undefined || kind === 'List' || kind === 'PodList') yield { kind: 'empty_list' };
  else yield { kind: 'other', name: kindOf(list) };
}

function* understandWatch(type: string, object: Bag, place: string | undefined): Generator<PodInputItem> {
  if (type === 'BOOKMARK') return;
  const pod = type === 'DELETED' && isPod(object) ? projectPod(object) : undefined;
  if (pod !== undefined) yield { kind: 'deleted', namespace: pod.namespace, name: pod.name };
  else yield* understandObject(object, place);
}

function watchedObject(object: Bag): Bag | undefined {
  const known = /^(?:ADDED|MODIFIED|DELETED|BOOKMARK|ERROR)$/.test(String(object.type)) && object.kind === undefined;
  return known ? bag(object.object) : undefined;
}

function statusRefusal(status: Bag): Refusal {
  const { reason } = status;
  return { reason: typeof reason === 'string' && /^\w{1,40}$/.test(reason) ? reason : 'Error' };
}

function isKubernetes(object: Bag): boolean {
  return object.apiVersion === undefined || object.apiVersion === 'v1';
}

/** Items of a typed list carry no kind; such a one is a pod when it looks like one, or like nothing else. */
function isPod(object: Bag): boolean {
  if (object.kind === 'Pod') return isKubernetes(object);
  if (!(object.kind === undefined || object.kind === null || object.kind === '') || 'items' in object) return false;
  const spec = bag(object.spec);
  const status = bag(object.status);
  if (Array.isArray(spec?.containers) || Array.isArray(status?.containerStatuses)) return true;
  if (typeof status?.phase === 'string' && bag(object.metadata) !== undefined && spec === undefined) return true;
  return bag(object.metadata) !== undefined && spec === undefined && status === undefined && object.data === undefined;
}

function kindOf(object: Bag): string {
  const { kind } = object;
  return typeof kind === 'string' && /^[A-Za-z][\w.-]{0,62}$/.test(kind) ? kind : 'object without a kind';
}

function bag(value: unknown): Bag | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Bag) : undefined;
}

/** For looking at shapes only: every byte one character. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
