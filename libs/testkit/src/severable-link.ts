/**
 * A TCP connection to a real store that can be cut: what was open breaks, and what is opened afterwards is refused until
 * it is mended.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SeverableLink {
  /** The store's URL by way of this link. */
  readonly url: string;
  cut(): Promise<void>;
  /** Connections are taken again, at the same address. */
  mend(): Promise<void>;
}

/** Opens a link to the host and port of a URL. It is cut for good when the test ends. */
export async function severableLink(storeUrl: string): Promise<SeverableLink> {
  const target = new URL(storeUrl);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(cut);
  const url = new URL(storeUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { url: url.href, cut, mend: () => listen(port) };
}
