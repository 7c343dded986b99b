import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/**
 * A stream of events that always ends with this answer, also when it breaks off. Whoever reads it drops an answer to what
 * was answered before: so a request whose stream was cut is told of it, and no request is answered twice.
 */
export function endWithAnswer(response: Response, answer: JSONRPCMessage): Response {
  const last = new TextEncoder().encode(`\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
  const reader = response.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = (await reader?.read().catch(() => undefined)) ?? { done: true, value: undefined };
      controller.enqueue(done ? last : value);
      if (done) controller.close();
    },
    cancel: (why) => reader?.cancel(why),
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
