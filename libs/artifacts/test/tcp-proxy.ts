/** A proxy between a store and its endpoint, which counts what passes and can cut the line. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly endpoint: string;
  /** Bytes that clients have sent so far. */
  received(): number;
  /** Connections of clients that are open now. */
  openConnections(): number;
  /** Resolves when a client's connection closes next. */
  nextClose(): Promise<unknown>;
  /** Drops all connections, and every new one until `heal`. */
  cut(): void;
  heal(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on a free loopback port in front of an endpoint. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let received = 0;
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const upstream = createConnection({ host: hostname, port: Number(port) });
    clients.add(client);
    client.on('close', () => {
      clients.delete(client);
      server.emit('client-close');
    });
    client.on('data', (chunk) => {
      received += chunk.length;
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    openConnections: () => clients.size,
    nextClose: () => once(server, 'client-close'),
    cut() {
      isCut = true;
      drop();
    },
    heal() {
      isCut = false;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      drop();
      await closed;
    },
  };
}
