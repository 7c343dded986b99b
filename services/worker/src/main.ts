/** The worker process: configuration from the environment, logs on standard error, SIGTERM to stop. */
import { setFlagsFromString } from 'node:v8';
import {
  createLogger,
  loadCatalog,
  openArtifactStore,
  readConfig,
  requireSetting,
  runProcess,
  SecretBox,
} from '@muster/host';
import { openQueueBackend } from '@muster/queue';
import { ensurePartitions, migrate, openDatabase } from '@muster/results';
import { buildWorker } from './build-worker.ts';
import { ChartThreads } from './threads/chart-threads.ts';

// Small heaps beside many short-lived buffers: by default V8 marks the whole heap for each few MB of walks that pass, on
// the main thread and on each chart thread. Twice what lives is enough to go; three times cost another 40 MB at a million.
setFlagsFromString('--heap-growing-percent=100');

await runProcess('worker', async () => {
  const config = readConfig(process.env);
  const log = createLogger(config, 'worker');
  const url = requireSetting(config, 'databaseUrl');
  const box = new SecretBox(requireSetting(config, 'secretKey'));
  const catalog = await loadCatalog(config);
  const store = openArtifactStore(config);
  const connections = config.workerConcurrency + 8;
  const db = openDatabase({
    url,
    maxConnections: connections,
    applicationName: 'muster-worker',
    onError: (error) => log.warn({ code: (error as { code?: string }).code }, 'a database connection was lost'),
  });
  const backend = openQueueBackend({ redisUrl: config.redisUrl, databaseUrl: url, prefix: config.queuePrefix });
  await db.ping(5000);
  await migrate(db);
  await ensurePartitions(db, new Date());
  await backend.ping(5000);
  await backend.prepare();
  await store.checkAvailable();
  const charts = new ChartThreads({
    count: config.chartThreads,
    heapMb: config.threadHeapMb,
    data: { runbooksModule: config.runbooksModule, buildId: config.buildId },
    log,
  });
  const worker = buildWorker({ config, db, store, backend, catalog, box, charts, log });
  await worker.start();
  log.info({ worker: worker.id, queue: backend.name, definitions: catalog.byDigest.size }, 'worker ready');
  return {
    log,
    shutdownMs: config.shutdownMs,
    async stop(graceMs) {
      await worker.stop(graceMs);
      await db.close();
      log.info({ worker: worker.id }, 'worker stopped');
    },
  };
});
