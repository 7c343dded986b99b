/** A process that owns an embedded PostgreSQL: what `npm start` is, made small. It tells where it answers over IPC. */
import { startEmbeddedPostgres } from '../src/index.ts';

const server = await startEmbeddedPostgres({ directory: process.argv[2]! });
process.on('SIGINT', () => process.send?.({ interrupted: true }));
process.on('message', async () => {
  await server.stop();
  process.disconnect();
});
process.send?.({ url: server.url });
