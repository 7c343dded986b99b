import { z } from 'zod';
import { line } from '../arguments.ts';
import { type Bundle, makeTool } from '../bundle.ts';
import { answerWeight } from '../fit-answer.ts';
import type { ArtifactPart, WorkflowExtras } from '../ports.ts';

const DEFAULT_LENGTH = 2_000;
const MAX_LENGTH = 4_000;
/** Bytes that are no text cost more than a token for two of them. */
const MAX_BINARY_LENGTH = 1_200;

/** `artifact_get` */
export function artifactGet({ maxWeight }: Bundle, extras: WorkflowExtras) {
  return makeTool({
    name: 'artifact_get',
    title: 'Read an artifact',
    description:
      'A range of the bytes behind a ref (art_...), such as a walk: as text where it is text, else in base64.',
    input: z.strictObject({
      ref: line(64),
      offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
      length: z.number().int().min(1).max(MAX_LENGTH).default(DEFAULT_LENGTH),
    }),
    output: z.object({
      ref: z.string(),
      kind: z.string(),
      media_type: z.string(),
      size: z.number().int(),
      offset: z.number().int(),
      length: z.number().int(),
      text: z.string().optional(),
      base64: z.string().optional(),
      next_offset: z.number().int().optional(),
    }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke({ ref, offset, length }) {
      const part = await extras.artifact(ref, { offset, length });
      let shown = showPart(part, part.bytes.byteLength);
      for (let cut = part.bytes.byteLength; maxWeight !== undefined && answerWeight(shown) > maxWeight && cut > 64; ) {
        cut = Math.floor((cut * maxWeight * 0.9) / answerWeight(shown));
        shown = showPart(part, cut);
      }
      return shown;
    },
  });
}

function showPart({ ref, kind, media_type, size, offset, bytes }: ArtifactPart, length: number) {
  const head = { ref, kind, media_type, size, offset };
  const cut = bytes.subarray(0, length);
  const text = isText(media_type) ? wholeText(cut) : undefined;
  if (text !== undefined) return { ...head, length: text.length, text: text.text, ...next(offset + text.length, size) };
  const binary = cut.subarray(0, MAX_BINARY_LENGTH);
  return { ...head, length: binary.byteLength, base64: base64(binary), ...next(offset + binary.byteLength, size) };
}

function next(offset: number, size: number): { next_offset?: number } {
  return offset < size ? { next_offset: offset } : {};
}

function isText(mediaType: string): boolean {
  return /^(text\/|application\/(json|x-ndjson|yaml|xml))/.test(mediaType);
}

/** Text up to its last whole character; undefined where it is none, or begins in the middle of one. */
function wholeText(bytes: Uint8Array): { text: string; length: number } | undefined {
  for (let length = bytes.byteLength; length > bytes.byteLength - 4 && length > 0; length -= 1) {
    try {
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length)), length };
    } catch {
      // It may have been cut inside of a character.
    }
  }
  return bytes.byteLength === 0 ? { text: '', length: 0 } : undefined;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
