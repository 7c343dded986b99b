/**
 * Leak tests: a marker that stands for a secret is put in at one end, and must be nowhere at the other.
 *
 * It is looked for as it is and as it would look after the usual ways of packing: base64, hex, URL encoding, and inside
 * gzip in files.
 */
import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A marker that occurs nowhere by accident. It has characters that encodings change, so that those are looked for too. */
export function canarySecret(): string {
  return `canary+${randomBytes(12).toString('hex')}/secret`;
}

/** Where the marker was found in a text or in rows: the text around each place, in short. Empty: nowhere. */
export function findCanary(canary: string, inside: unknown): string[] {
  const text = typeof inside === 'string' ? inside : JSON.stringify(inside, packable);
  return text === undefined ? [] : findInText(canary, text);
}

/** The files below a folder that hold the marker, as relative paths; names of files count as well. Empty: none. */
export async function findCanaryInFolder(canary: string, folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (findInText(canary, entry.name).length > 0 || (await fileHolds(canary, path, entry))) {
      found.push(relative(folder, path));
    }
  }
  return found.sort();
}

async function fileHolds(canary: string, path: string, entry: Dirent): Promise<boolean> {
  if (!entry.isFile()) return false;
  const bytes = await readFile(path);
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? Buffer.concat([bytes, unpacked(bytes)]) : bytes;
  return findInText(canary, plain.toString('latin1')).length > 0;
}

function unpacked(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes);
  } catch {
    return Buffer.alloc(0);
  }
}

function findInText(canary: string, text: string): string[] {
  const places: string[] = [];
  for (const form of formsOf(canary)) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      places.push(text.slice(Math.max(0, at - 40), at + form.length + 20));
    }
  }
  return places;
}

/** The middle of the marker survives escaping; base64 looks different at each of three offsets, less its ragged ends. */
function formsOf(canary: string): string[] {
  const core = canary.split(/[^0-9A-Za-z]/).reduce((longest, part) => (part.length > longest.length ? part : longest));
  const base64 = [0, 1, 2].map((offset) => {
    const packed = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)]).toString('base64');
    return packed.slice(offset === 0 ? 0 : offset + 1, packed.length - (packed.endsWith('=') ? 4 : 0));
  });
  return [
    core,
    Buffer.from(core).toString('hex'),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-')),
  ].filter((form, index, all) => form.length >= 8 && all.indexOf(form) === index);
}

function packable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return { ...value, name: value.name, message: value.message, stack: value.stack };
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value];
  return value;
}
