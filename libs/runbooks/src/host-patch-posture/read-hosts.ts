/**
 * Reads one input into hosts: transcripts as text (of one host, or of many under headings as Ansible and `tail` print them)
 * or JSON (one record, a list of them, NDJSON).
 *
 * Invariants:
 * - memory holds one host's counts and one item of the input, not the input;
 * - one item that cannot be read is named, and the others are read.
 */
import { setImmediate } from 'node:timers/promises';
import { JsonCutter } from '../inputs/cut-json.ts';
import { decodeInput } from '../inputs/decode-input.ts';
import { InputFault, type InputProblem } from '../inputs/input-fault.ts';
import { parsePart } from '../inputs/parse-part.ts';
import type { HostFacts } from './host-facts.ts';
import { readRecord } from './read-record.ts';
import { TranscriptReader } from './read-transcript.ts';

/** What an input holds, in its order. */
export type HostItem =
  | { readonly kind: 'host'; readonly host: HostFacts }
  | { readonly kind: 'unread'; readonly place?: string; readonly problem: InputProblem; readonly detail: string };

export interface ReadHostsOptions {
  /** What a transcript that names no host is called. */
  readonly host: string;
  readonly target?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How many unpacked bytes are read at most. */
  readonly maxBytes?: number;
}

const YIELD_AFTER_MS = 10;
const STEP_BYTES = 64 * 1024;

/** Reads one input. Throws only what `source` throws, and the signal's reason. */
export async function* readHosts(
  source: AsyncIterable<Uint8Array>,
  options: ReadHostsOptions,
): AsyncGenerator<HostItem> {
  try {
    yield* readDecoded(decodeInput(source, options.maxBytes), options);
  } catch (error) {
    if (!(error instanceof InputFault)) throw error;
    yield { kind: 'unread', problem: error.code, detail: error.detail };
  }
}

interface ItemReader {
  push(chunk: Uint8Array): Generator<HostItem>;
  end(): Generator<HostItem>;
}

async function* readDecoded(chunks: AsyncIterable<Uint8Array>, options: ReadHostsOptions): AsyncGenerator<HostItem> {
  let reader: ItemReader | undefined;
  let since = performance.now();
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += STEP_BYTES) {
      const part = chunk.subarray(at, at + STEP_BYTES);
      reader ??= chooseReader(part, options);
      if (reader !== undefined) yield* reader.push(part);
      if (performance.now() - since > YIELD_AFTER_MS) {
        await setImmediate();
        since = performance.now();
      }
      options.signal?.throwIfAborted();
    }
  }
  if (reader === undefined) throw new InputFault('empty', 'there is nothing in it');
  yield* reader.end();
}

/** By the first character that is not blank; undefined: there is none yet. */
function chooseReader(part: Uint8Array, options: ReadHostsOptions): ItemReader | undefined {
  const front = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('latin1');
  if (front.trim() === '') return undefined;
  return /^\s*(?:\{|\[\s*[{[\]"])/.test(front) ? new RecordItems(options) : new TextItems(options);
}

class RecordItems implements ItemReader {
  readonly #cutter = new JsonCutter();
  readonly #options: ReadHostsOptions;
  /** Packages of a list that jc made of `dpkg -l`. */
  readonly #packages: unknown[] = [];
  #parts = 0;

  constructor(options: ReadHostsOptions) {
    this.#options = options;
  }

  *push(chunk: Uint8Array): Generator<HostItem> {
    for (const cut of this.#cutter.push(chunk)) yield* this.#take(cut);
  }

  *end(): Generator<HostItem> {
    for (const cut of this.#cutter.end()) yield* this.#take(cut);
    if (this.#packages.length > 0) yield this.#record(this.#packages, undefined);
    else if (this.#parts === 0) throw new InputFault('wrong_kind', 'it lists no host');
  }

  *#take(cut: ReturnType<JsonCutter['push']> extends Generator<infer Cut> ? Cut : never): Generator<HostItem> {
    if (cut.type === 'line') return;
    // The brackets around items say nothing of their own.
    if (cut.type === 'document' && cut.items !== undefined) return;
    const place = `item ${++this.#parts}`;
    const parsed = parsePart(cut.bytes, 'json');
    if (!parsed.ok) yield { kind: 'unread', place, problem: parsed.problem, detail: parsed.detail };
    else if (isPackage(parsed.value) && this.#packages.length < MAX_PACKAGES) this.#packages.push(parsed.value);
    else yield this.#record(parsed.value, place);
  }

  #record(value: unknown, place: string | undefined): HostItem {
    const read = readRecord(value, this.#options.host, this.#options.target);
    if (typeof read !== 'string') return { kind: 'host', host: read };
    return { kind: 'unread', ...(place !== undefined && { place }), problem: 'wrong_kind', detail: read };
  }
}

const MAX_PACKAGES = 100_000;

function isPackage(value: unknown): boolean {
  const { codes, name } = (value ?? {}) as { codes?: unknown; name?: unknown };
  return typeof codes === 'string' && typeof name === 'string';
}

/** Headings under which tools print what many hosts said: `web1 | CHANGED | rc=0 >>` and `==> web1 <==`. */
const HEADING =
  /^(?:==> ([^\s/]{1,253}) <==|([^\s|/]{1,253}) \| (SUCCESS|CHANGED|FAILED|UNREACHABLE)!?(?: \|.*)? (?:>>|=>))\s*$/;

class TextItems implements ItemReader {
  readonly #decoder = new TextDecoder();
  readonly #options: ReadHostsOptions;
  #rest = '';
  #reader = new TranscriptReader();
  #host: string;
  #lines = 0;
  #failed = false;

  constructor(options: ReadHostsOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  *push(chunk: Uint8Array): Generator<HostItem> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    // A line without an end is no line of a package manager; what is kept of it is bounded.
    if (this.#rest.length > STEP_BYTES) this.#rest = this.#rest.slice(0, STEP_BYTES);
    for (const line of lines) yield* this.#line(line);
  }

  *end(): Generator<HostItem> {
    const last = this.#rest + this.#decoder.decode();
    if (last !== '') yield* this.#line(last);
    yield* this.#finish();
  }

  *#line(line: string): Generator<HostItem> {
    const heading = HEADING.exec(line);
    if (heading === null) {
      if (line.trim() !== '') this.#lines++;
      this.#reader.push(line);
      return;
    }
    if (this.#lines > 0 || this.#failed) yield* this.#finish();
    this.#host = heading[1] ?? heading[2] ?? this.#options.host;
    this.#failed = heading[3] === 'FAILED' || heading[3] === 'UNREACHABLE';
    this.#reader = new TranscriptReader();
    this.#lines = 0;
  }

  *#finish(): Generator<HostItem> {
    const host = this.#reader.end(this.#host, this.#options.target);
    const place = this.#host === this.#options.host ? undefined : this.#host;
    const at = place !== undefined && { place };
    if (host.sources.length > 0) {
      // A command that failed may have told only a part; what it named stands all the same.
      const doubt = this.#failed ? (host.doubt ?? 'error') : host.doubt;
      yield { kind: 'host', host: { ...host, doubt } };
    } else if (this.#failed)
      yield { kind: 'unread', ...at, problem: 'refused', detail: 'the host was not reached, or the command failed' };
    else yield { kind: 'unread', ...at, problem: 'wrong_kind', detail: 'no line of it is known to tell of updates' };
  }
}
