import type { FastifyReply } from 'fastify';

/** Every answer ends with it, and making an error for each would cost more than the waiting. */
const LEFT = 'the connection is closed';

/** Aborts when the connection that an answer would go out on is closed, or the answer is out. */
export function callerLeft(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort(LEFT));
  return left.signal;
}
