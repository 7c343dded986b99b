import type { IncomingMessage } from 'node:http';

const MAX_DRAINED_BYTES = 32 * 1024 * 1024;
const MAX_DRAIN_MS = 10_000;

/**
 * Reads away what is left of a refused body, so that a client which only listens after it has sent everything gets its
 * answer; and closes the connection when that takes too long.
 */
export function drainOrDrop(body: IncomingMessage): void {
  if (body.readableEnded || body.destroyed) return;
  let drained = 0;
  const drop = () => body.destroy();
  const timer = setTimeout(drop, MAX_DRAIN_MS);
  timer.unref();
  body.on('data', (chunk: Buffer) => {
    drained += chunk.byteLength;
    if (drained > MAX_DRAINED_BYTES) drop();
  });
  body.on('error', () => undefined);
  body.on('close', () => clearTimeout(timer));
  body.on('end', () => clearTimeout(timer));
}
