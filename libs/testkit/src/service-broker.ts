/**
 * Shares PostgreSQL, Redis and S3 among all test files of one run.
 *
 * It lives in the process that drives the run and is asked over a local socket. A service starts when somebody asks for
 * it first, so a run of pure tests starts none. What is lent out belongs to the asking connection: when that closes,
 * because the test let go or because its process ended in whatever way, the broker takes it back.
 */
import { rm } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeRunFolder } from './run-folder.ts';

/** Something lent out for a while. */
export interface Loan<T = unknown> {
  readonly value: T;
  takeBack(): Promise<void>;
}

/** A service that is shared; `lend` gives each asker its own part of it. */
export interface SharedService<T = unknown> {
  lend(): Promise<Loan<T>>;
  stop(): Promise<void>;
}

/** How to start each service, by the name that it is asked for. The folder is for its data and goes with the run. */
export type ServiceStarters = Readonly<Record<string, (folder: string) => Promise<SharedService>>>;

export interface ServiceBroker {
  /** Path of the socket at which it is asked. */
  readonly path: string;
  /** Takes back everything and stops every service that was started. */
  stop(): Promise<void>;
}

/** Starts a broker; no service is started yet. */
export async function startServiceBroker(starters: ServiceStarters): Promise<ServiceBroker> {
  const folder = await makeRunFolder();
  const path = join(folder, 'broker.sock');
  const started = new Map<string, Promise<SharedService>>();
  const open = new Map<Socket, Promise<void>>();
  const serviceNamed = (name: string): Promise<SharedService> => {
    const start = Object.hasOwn(starters, name) ? starters[name] : undefined;
    if (start === undefined) return Promise.reject(new Error(`no service is named ${JSON.stringify(name)}`));
    if (!started.has(name)) started.set(name, start(folder));
    return started.get(name)!;
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const served = serve(socket, serviceNamed).finally(() => open.delete(socket));
    open.set(socket, served);
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(path, listening));
  return {
    path,
    async stop() {
      for (const socket of open.keys()) socket.destroy();
      await Promise.allSettled(open.values());
      await closeServer(server);
      const services = await Promise.allSettled(started.values());
      const stops = services.map((service) => (service.status === 'fulfilled' ? service.value.stop() : undefined));
      const failed = (await Promise.allSettled(stops)).find((stop) => stop.status === 'rejected');
      await rm(folder, { recursive: true, force: true });
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** One connection: a line that names a service, a line with what was lent, and the end when it is given back. */
async function serve(socket: Socket, serviceNamed: (name: string) => Promise<SharedService>): Promise<void> {
  const closed = new Promise<void>((fulfil) => {
    socket.once('end', fulfil);
    socket.once('close', () => fulfil());
  });
  socket.on('error', () => undefined);
  const lines = createInterface({ input: socket });
  const name = await new Promise<string | undefined>((fulfil) => {
    lines.once('line', fulfil);
    void closed.then(() => fulfil(undefined));
  });
  if (name === undefined) return;
  let loan: Loan | undefined;
  try {
    loan = await (await serviceNamed(name)).lend();
    socket.write(`${JSON.stringify({ lent: loan.value })}\n`);
    await closed;
  } catch (error) {
    socket.write(`${JSON.stringify({ refused: error instanceof Error ? error.message : String(error) })}\n`);
  } finally {
    await loan
      ?.takeBack()
      .catch((error: Error) => console.error(`testkit: ${name} was not taken back: ${error.message}`));
    socket.end();
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((closed) => server.close(() => closed()));
}
