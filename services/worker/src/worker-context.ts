import type { ArtifactStore } from '@muster/artifacts';
import type { CallPacer } from '@muster/envelope';
import type { Config, LoadedCatalog, Logger, SecretBox } from '@muster/host';
import type { Database } from '@muster/results';
import type { StopWatch } from './stop-watch.ts';
import type { ChartRunner } from './threads/chart-runner.ts';

/** What every job of this worker works with. Built once, in `build-worker.ts`. */
export interface WorkerContext {
  readonly workerId: string;
  readonly db: Database;
  readonly store: ArtifactStore;
  readonly catalog: LoadedCatalog;
  readonly box: SecretBox;
  readonly charts: ChartRunner;
  readonly pacer: CallPacer;
  readonly stops: StopWatch;
  readonly log: Logger;
  readonly limits: Pick<Config, 'sliceMs'>;
  readonly now: () => Date;
  readonly newId: () => string;
}
