/** What a case of the contract is made of. */
import assert from 'node:assert/strict';
import { ArtifactError, type ArtifactErrorCode } from '../artifact-errors.ts';
import { type ArtifactRef, newArtifactRef } from '../artifact-ref.ts';
import type { ArtifactScope, ArtifactStore } from '../artifact-store.ts';

/** How the store of a case is to be made. */
export interface HarnessOptions {
  readonly maxBytes?: number;
  readonly now?: () => number;
}

/** A store to be tried, and the one thing that its port cannot do. */
export interface ContractHarness {
  readonly store: ArtifactStore;
  /** Changes the stored bytes of an artifact behind the store's back: other content, same length. */
  tamper(ref: ArtifactRef): Promise<void>;
  /** Called after the case. */
  dispose?(): Promise<void>;
}

/** Makes a store with these options. Stores may share their disk or bucket: cases use scopes of their own. */
export type MakeHarness = (options?: HarnessOptions) => Promise<ContractHarness>;

/** One guarantee of the port, as a case that runs without a test framework. */
export interface ContractCase {
  /** The guarantee, as a sentence. */
  readonly name: string;
  run(make: MakeHarness): Promise<void>;
}

/** Makes a case over one store. */
export function contractCase(
  name: string,
  test: (harness: ContractHarness, scope: ArtifactScope) => Promise<void>,
  options?: HarnessOptions,
): ContractCase {
  return {
    name,
    async run(make) {
      const harness = await make(options);
      try {
        await test(harness, freshScope());
      } finally {
        await harness.dispose?.();
        await harness.store.close();
      }
    },
  };
}

/** A scope that nothing was put into yet, also where a disk or bucket is shared. */
export function freshScope(): ArtifactScope {
  return { tenant: 'contract', conversationId: newArtifactRef() };
}

/** The least that a put needs beside its payload. */
export const PLAIN = Object.freeze({ kind: 'contract/plain', mediaType: 'application/octet-stream' });

/** Expects an error of a store, and gives it back. Its message is one line. */
export async function refused(work: Promise<unknown>, code: ArtifactErrorCode): Promise<ArtifactError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ArtifactError, `expected ${code}, but got ${String(error)}`);
  assert.equal(error.code, code);
  assert.doesNotMatch(error.message, /\n/);
  return error;
}

/** Expects that a scope holds nothing. */
export async function nothingVisible(store: ArtifactStore, scope: ArtifactScope): Promise<void> {
  assert.deepEqual(await store.list(scope), { artifacts: [] });
}

/** Reads a stream into one array. */
export async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

/** Bytes that repeat at no power of two, so that a shifted range never looks right. */
export function patternBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) bytes[index] = index * 7 + Math.floor(index / 251);
  return bytes;
}
