/** The asking side of the service broker: what a test file borrows is its own until it gives it back or its process ends. */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the service broker's socket. */
    musterServices: string;
  }
}

/** Something borrowed. */
export interface Borrowed<T> {
  readonly value: T;
  /** Gives it back and waits until it is gone. May be called twice. */
  giveBack(): Promise<void>;
}

/**
 * Borrows from a shared service of this test run.
 *
 * @throws Error when the service cannot be had, with the reason.
 */
export async function borrowService<T>(name: string): Promise<Borrowed<T>> {
  const path = inject('musterServices');
  if (path === undefined) throw new Error('the shared services are there only in tests run through vitest.config.ts');
  const socket = connect(path);
  const closed = new Promise<void>((fulfil) => socket.once('close', () => fulfil()));
  socket.write(`${name}\n`);
  const line = await new Promise<string>((fulfil, reject) => {
    socket.once('error', reject);
    createInterface({ input: socket }).once('line', fulfil);
    void closed.then(() => reject(new Error(`the test services ended before they could give ${name}`)));
  });
  socket.on('error', () => undefined);
  socket.unref();
  const answer = JSON.parse(line) as { lent: T } | { refused: string };
  if ('refused' in answer) {
    socket.destroy();
    throw new Error(`test service ${name}: ${answer.refused}`);
  }
  return {
    value: answer.lent,
    async giveBack() {
      socket.ref();
      socket.end();
      await closed;
    },
  };
}
