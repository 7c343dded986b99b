/**
 * Tool calls under way in this process, so that `notifications/cancelled`, which comes as a request of its own, finds the
 * one it means. It finds nothing on another replica: then the call goes on to its end, as MCP allows.
 */
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Whose call it is: the key, the client's `Mcp-Session-Id`, and its id of the request. */
export interface CallIdentity {
  readonly keyId: string;
  readonly connection: string | undefined;
  readonly requestId: RequestId | undefined;
}

export class InFlight {
  readonly #calls = new Map<string, () => void>();

  /** Notes a call until the function that is given back is called. Two calls under one id: the newer one is meant. */
  add(identity: CallIdentity, cancel: () => void): () => void {
    const name = nameOf(identity);
    if (name === undefined) return () => undefined;
    this.#calls.set(name, cancel);
    return () => {
      if (this.#calls.get(name) === cancel) this.#calls.delete(name);
    };
  }

  /** Cancels a call, when it is here. */
  cancel(identity: CallIdentity): void {
    const name = nameOf(identity);
    if (name !== undefined) this.#calls.get(name)?.();
  }

  get size(): number {
    return this.#calls.size;
  }
}

function nameOf({ keyId, connection, requestId }: CallIdentity): string | undefined {
  if (connection === undefined || requestId === undefined) return undefined;
  return JSON.stringify([keyId, connection, requestId]);
}
