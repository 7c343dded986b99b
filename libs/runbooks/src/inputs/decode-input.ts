/**
 * Bytes of any origin, turned into a stream of UTF-8 bytes without a byte order mark.
 *
 * Invariants:
 * - nothing is held but one chunk;
 * - UTF-16 (with a mark, or told by its zero bytes) and gzip are unpacked; what cannot be unpacked ends in an
 *   {@link InputFault}, never in guessed text;
 * - whether UTF-8 is valid is not judged here: the part that holds the bad byte is judged where it is parsed, so that
 *   the other parts stay readable.
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputFault } from './input-fault.ts';

/** More unpacked bytes than this are refused: no honest listing is that large, and a gzip bomb is. */
export const MAX_DECODED_BYTES = 4 * 1024 ** 3;

const FRONT_BYTES = 6;

/** @throws InputFault `encoding`, `compressed`, `truncated` or `too_large`. */
export async function* decodeInput(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_DECODED_BYTES,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of decodeOnce(source, true)) {
    total += chunk.byteLength;
    if (total > maxBytes) throw new InputFault('too_large', `it is larger than ${maxBytes} bytes when unpacked`);
    yield chunk;
  }
}

async function* decodeOnce(source: AsyncIterable<Uint8Array>, mayUnpack: boolean): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    const { front, ended } = await readFront(chunks);
    const rest = ended ? single(front) : resume(front, chunks);
    const format = sniff(front);
    if (format === 'gzip') {
      if (!mayUnpack) throw new InputFault('compressed', 'it is gzip inside gzip');
      yield* decodeOnce(unpack(rest), false);
    } else if (format === 'utf-16le' || format === 'utf-16be') {
      yield* transcode(rest, format);
    } else if (format === 'utf-8 mark') {
      yield* withoutMark(rest);
    } else {
      yield* rest;
    }
  } finally {
    await chunks.return?.();
  }
}

async function readFront(chunks: AsyncIterator<Uint8Array>): Promise<{ front: Uint8Array; ended: boolean }> {
  let front: Uint8Array = new Uint8Array(0);
  while (front.byteLength < FRONT_BYTES) {
    const next = await chunks.next();
    if (next.done) return { front, ended: true };
    front = front.byteLength === 0 ? next.value : Buffer.concat([front, next.value]);
  }
  return { front, ended: false };
}

async function* single(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

async function* resume(front: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield front;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

type Format = 'plain' | 'utf-8 mark' | 'utf-16le' | 'utf-16be' | 'gzip';

function sniff(front: Uint8Array): Format {
  const [a = -1, b = -1, c = -1, d = -1] = front;
  const starts = (...bytes: number[]) => bytes.every((byte, index) => front[index] === byte);
  if (starts(0x1f, 0x8b)) return 'gzip';
  for (const [name, ...magic] of OTHER_PACKINGS) {
    if (starts(...magic)) throw new InputFault('compressed', `it is packed with ${name}; unpack it first`);
  }
  if (starts(0xff, 0xfe, 0, 0) || starts(0, 0, 0xfe, 0xff)) throw new InputFault('encoding', 'it is UTF-32');
  if (starts(0xef, 0xbb, 0xbf)) return 'utf-8 mark';
  if (starts(0xff, 0xfe)) return 'utf-16le';
  if (starts(0xfe, 0xff)) return 'utf-16be';
  if (a > 0 && b === 0 && c > 0 && d === 0) return 'utf-16le';
  if (a === 0 && b > 0 && c === 0 && d > 0) return 'utf-16be';
  return 'plain';
}

const OTHER_PACKINGS: readonly (readonly [string, ...number[]])[] = [
  ['zip', 0x50, 0x4b, 0x03, 0x04],
  ['zstd', 0x28, 0xb5, 0x2f, 0xfd],
  ['bzip2', 0x42, 0x5a, 0x68],
  ['xz', 0xfd, 0x37, 0x7a, 0x58, 0x5a],
];

async function* unpack(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = Readable.from(source, { objectMode: false });
  const gunzip = createGunzip();
  input.on('error', (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === 'Z_BUF_ERROR') throw new InputFault('truncated', 'its gzip packing is cut off');
    if (typeof code === 'string' && code.startsWith('Z_')) {
      throw new InputFault('compressed', 'its gzip packing is damaged');
    }
    throw error;
  } finally {
    input.destroy();
    gunzip.destroy();
  }
}

async function* transcode(source: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const encoder = new TextEncoder();
  try {
    for await (const chunk of source) yield encoder.encode(decoder.decode(chunk, { stream: true }));
    yield encoder.encode(decoder.decode());
  } catch (error) {
    if (error instanceof TypeError) throw new InputFault('encoding', `it is not valid ${encoding.toUpperCase()}`);
    throw error;
  }
}

async function* withoutMark(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let first = true;
  for await (const chunk of source) {
    yield first ? chunk.subarray(3) : chunk;
    first = false;
  }
}
