/**
 * Docker's look at the worker: it said in PostgreSQL, not long ago, that it lives. That word comes from the event loop and
 * over the connection that its work needs; a container's host name is its own, so no other worker's word counts.
 */
import { hostname } from 'node:os';
import { listWorkers, openDatabase } from '@muster/results';

const FRESH_MS = 30_000;

const db = openDatabase({
  url: process.env.DATABASE_URL ?? '',
  maxConnections: 1,
  connectTimeoutMs: 3_000,
  statementTimeoutMs: 3_000,
  applicationName: 'muster-healthcheck',
});

try {
  const workers = await listWorkers(db, { seenSince: new Date(Date.now() - FRESH_MS) });
  if (!workers.some(({ id }) => id.startsWith(`${hostname()}-`))) throw new Error('no sign of life');
} catch (error) {
  console.error(`the worker on ${hostname()}: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await db.close();
}
