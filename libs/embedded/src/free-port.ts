import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A TCP port on 127.0.0.1 that nobody listens on at this moment.
 *
 * Another process may take it before the caller does; who starts a server on it should be ready to ask again.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('freePort: the probe has no TCP address');
  return address.port;
}
