/**
 * Builds a worker of its parts. Whoever builds it starts and stops it.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ArtifactStore } from '@muster/artifacts';
import type { Config, LoadedCatalog, Logger, SecretBox } from '@muster/host';
import { closeWithin, JobConsumer, JobProducer, QUEUE_NAMES, type QueueBackend } from '@muster/queue';
import { type Database, forgetWorker, listenForHints } from '@muster/results';
import { jobHandler } from './jobs/handle-job.ts';
import { artifactSweeper } from './maintenance/artifact-sweeper.ts';
import { DISPATCHER, dispatcher, reconciler } from './maintenance/dispatcher.ts';
import { expirer } from './maintenance/expirer.ts';
import { hookWithdrawer, INBOX, inbox } from './maintenance/inbox.ts';
import { MaintenanceRunner } from './maintenance/maintenance-service.ts';
import { notifier } from './maintenance/notifier.ts';
import { permitSweeper } from './maintenance/permit-sweeper.ts';
import { pruner } from './maintenance/pruner.ts';
import { queueKeeper } from './maintenance/queue-keeper.ts';
import { reaper } from './maintenance/reaper.ts';
import { ticker } from './maintenance/ticker.ts';
import { withdrawer } from './maintenance/withdrawer.ts';
import { partitionKeeper, workerHeartbeat } from './maintenance/worker-heartbeat.ts';
import { openStorePacer } from './pacing/store-pacer.ts';
import { ProgressMarker } from './progress-marker.ts';
import { StopWatch } from './stop-watch.ts';
import type { ChartRunner } from './threads/chart-runner.ts';
import type { WorkerContext } from './worker-context.ts';

export interface WorkerParts {
  readonly config: Pick<
    Config,
    | 'workerConcurrency'
    | 'sliceMs'
    | 'lockMs'
    | 'stallCheckMs'
    | 'dispatchWindow'
    | 'retentionDays'
    | 'withdrawAfterMs'
    | 'notifyPrivate'
  >;
  readonly db: Database;
  readonly store: ArtifactStore;
  readonly backend: QueueBackend;
  readonly catalog: LoadedCatalog;
  readonly box: SecretBox;
  /** Where the charts of subjects run. It is started and closed with the worker. */
  readonly charts: ChartRunner;
  readonly log: Logger;
  readonly now?: () => Date;
}

export interface Worker {
  readonly id: string;
  start(): Promise<void>;
  /** Stops taking work, hands back what is not done, and ends within `graceMs` and a little. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

/** Plan, collect and the bounded form wait for little and are few; chunks have the concurrency that was configured. */
const RUN_CONCURRENCY = 4;

/** How long stores are waited for when everything is handed back, in ms. */
const CLOSING_MS = 500;

export function buildWorker(parts: WorkerParts): Worker {
  const { config, db, store, backend, catalog, log, now = () => new Date() } = parts;
  const workerId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const onError = (error: unknown, jobId?: string) => {
    const { name, code, message } = error as { name?: string; code?: string; message?: string };
    // Our own errors speak for themselves; a foreign message may carry a payload.
    log.warn(
      { error: name, code, ...(jobId !== undefined && { job: jobId }), ...(code !== undefined && { message }) },
      'unexpected',
    );
  };
  const pacing = openStorePacer(db, workerId, onError);
  const stops = new StopWatch(db, { onError });
  const context: WorkerContext = {
    workerId,
    db,
    store,
    catalog,
    box: parts.box,
    charts: parts.charts,
    pacer: pacing.pacer,
    stops,
    log,
    limits: config,
    now,
    newId: randomUUID,
  };
  const producer = new JobProducer(backend, onError);
  const mark = backend.openMark();
  const handle = jobHandler(context, new ProgressMarker(db));
  const timings = { lockMs: config.lockMs, stallCheckMs: config.stallCheckMs, handle, onError };
  const consumers = [
    new JobConsumer(backend, { queue: QUEUE_NAMES.runs, concurrency: RUN_CONCURRENCY, ...timings }),
    new JobConsumer(backend, { queue: QUEUE_NAMES.chunks, concurrency: config.workerConcurrency, ...timings }),
  ];
  const digests = [...catalog.byDigest.keys()];
  const keeper = queueKeeper(db, backend, mark);
  const heartbeat = workerHeartbeat(db, workerId, digests, now);
  const upkeep: MaintenanceRunner = new MaintenanceRunner(
    [
      dispatcher(db, producer, { window: config.dispatchWindow, digests, now }),
      reconciler(db, producer, now),
      keeper,
      reaper(db, now),
      expirer(db, now),
      inbox(context, () => upkeep.hurry(INBOX)),
      hookWithdrawer(context, config.withdrawAfterMs),
      notifier({ db, box: parts.box, log, now, privateAddresses: config.notifyPrivate }),
      withdrawer(db, config.withdrawAfterMs, now),
      ticker(db, catalog, now),
      artifactSweeper(db, store, now),
      permitSweeper(db),
      ...(config.retentionDays > 0 ? [pruner(db, config.retentionDays, now)] : []),
      heartbeat,
      partitionKeeper(db, now),
    ],
    log,
  );
  let listener: ReturnType<typeof listenForHints> | undefined;
  let stopped: Promise<void> | undefined;
  const stop = async (graceMs: number) => {
    // Each in its time, so that a store which never answers does not cost the orderly end (what hangs ends with the process).
    const upkeepStops = closeWithin(graceMs, [{ close: () => upkeep.stop() }]);
    await Promise.all([...consumers.map((consumer) => consumer.stop(graceMs)), upkeepStops]);
    stops.close();
    await closeWithin(CLOSING_MS, [
      { close: () => forgetWorker(db, workerId, now()) },
      { close: () => parts.charts.close().then(() => pacing.close()) },
      { close: () => producer.close(CLOSING_MS) },
      mark,
      ...(listener === undefined ? [] : [{ close: listener.stop }]),
    ]);
  };
  return {
    id: workerId,
    async start() {
      await parts.charts.start(pacing.pacer);
      checkSameDefinitions(catalog, parts.charts);
      // Before any job is taken: a queue that is new to us sends everything again.
      await keeper.runOnce();
      await Promise.all(consumers.map((consumer) => consumer.start()));
      // Before it is called ready: a run, or an answer, for a definition of this worker is not refused as nobody's then.
      await heartbeat.runOnce();
      upkeep.start();
      listener = listenForHints(db, {
        onDue: () => upkeep.hurry(DISPATCHER),
        onDelivery: () => upkeep.hurry(INBOX),
        onStop: (runId) => stops.hint(runId),
        onError,
      });
    },
    stop(graceMs) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

/**
 * Main thread and chart threads load the runbooks each for itself: what one judges by must be what the other names.
 *
 * @throws Error naming the runbook whose code changed while the worker started
 */
function checkSameDefinitions(catalog: LoadedCatalog, charts: ChartRunner): void {
  for (const [name, { digest }] of catalog.byName) {
    if (charts.definitions.get(name) !== digest) {
      throw new Error(`the definition of ${name} changed while this worker started; start it again`);
    }
  }
}
