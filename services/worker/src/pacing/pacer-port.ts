/**
 * The worker's pacer for its chart threads, which have no database: they ask over a port, and wait as a promise.
 *
 * Invariant: what a thread holds or waits for is given up when it ends, however it ends.
 */
import type { MessagePort } from 'node:worker_threads';
import { type CallPacer, type CallPermit, type PacedCall, TargetBusyError } from '@muster/envelope';

type FromThread =
  | { readonly type: 'admit'; readonly id: number; readonly call: Omit<PacedCall, 'signal'> }
  | { readonly type: 'leave'; readonly id: number }
  | { readonly type: 'release'; readonly id: number; readonly how?: 'busy' }
  | { readonly type: 'pause'; readonly call: Pick<PacedCall, 'tool' | 'target'>; readonly forMs: number };

type ToThread =
  | { readonly type: 'admitted'; readonly id: number }
  | { readonly type: 'refused'; readonly id: number; readonly busy: boolean; readonly why: string };

/** Lets the thread at the other end of a port use a pacer. */
export function servePacer(port: MessagePort, pacer: CallPacer): void {
  const waiting = new Map<number, AbortController>();
  const permits = new Map<number, CallPermit>();
  const answer = (message: ToThread) => port.postMessage(message);
  const admit = async (id: number, call: Omit<PacedCall, 'signal'>) => {
    const leaving = new AbortController();
    waiting.set(id, leaving);
    try {
      permits.set(id, await pacer.admit({ ...call, signal: leaving.signal }));
      // It may have left in the moment between.
      if (leaving.signal.aborted) release(id);
      else answer({ type: 'admitted', id });
    } catch (error) {
      if (!leaving.signal.aborted) answer({ type: 'refused', id, ...refusalOf(error) });
    } finally {
      waiting.delete(id);
    }
  };
  const release = (id: number, how?: 'busy') => {
    permits.get(id)?.release(how);
    permits.delete(id);
  };
  port.on('message', (message: FromThread) => {
    if (message.type === 'admit') void admit(message.id, message.call);
    else if (message.type === 'pause') pacer.pause(message.call, message.forMs);
    else if (message.type === 'release') release(message.id, message.how);
    else {
      waiting.get(message.id)?.abort();
      release(message.id);
    }
  });
  port.on('close', () => {
    for (const leaving of waiting.values()) leaving.abort();
    for (const id of [...permits.keys()]) release(id);
  });
  port.unref();
}

interface Asked {
  readonly call: PacedCall;
  readonly admitted: () => void;
  readonly refused: (error: unknown) => void;
}

/** The pacer at the other end of a port. */
export class PortPacer implements CallPacer {
  readonly #port: MessagePort;
  readonly #asked = new Map<number, Asked>();
  readonly #remembered = new Set<string>();
  #calls = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: ToThread) => {
      const asked = this.#asked.get(message.id);
      if (message.type === 'admitted') asked?.admitted();
      else asked?.refused(errorOf(message, asked.call));
    });
  }

  remembers(tool: string): boolean {
    return this.#remembered.has(tool);
  }

  admit(call: PacedCall): Promise<CallPermit> {
    const { signal, ...asked } = call;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = ++this.#calls;
      const end = () => {
        this.#asked.delete(id);
        signal?.removeEventListener('abort', leave);
      };
      const leave = () => {
        end();
        this.#send({ type: 'leave', id });
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave);
      this.#asked.set(id, {
        call,
        admitted: () => {
          end();
          resolve({ release: (how) => this.#send({ type: 'release', id, ...(how !== undefined && { how }) }) });
        },
        refused: (error) => {
          end();
          reject(error);
        },
      });
      this.#send({ type: 'admit', id, call: asked });
    });
  }

  pause(call: Pick<PacedCall, 'tool' | 'target'>, forMs: number): void {
    this.#remembered.add(call.tool);
    const { tool, target } = call;
    this.#send({ type: 'pause', call: { tool, ...(target !== undefined && { target }) }, forMs });
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message);
  }
}

function refusalOf(error: unknown): { busy: boolean; why: string } {
  return error instanceof TargetBusyError
    ? { busy: true, why: error.why }
    : { busy: false, why: (error as Error).message };
}

function errorOf({ busy, why }: { readonly busy: boolean; readonly why: string }, call: PacedCall): Error {
  return busy ? new TargetBusyError(call.tool, call.target, why) : new Error(why);
}
