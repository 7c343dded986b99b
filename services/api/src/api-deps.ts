import type { ArtifactStore } from '@muster/artifacts';
import type { LoadedCatalog, Logger } from '@muster/host';
import type { Database } from '@muster/results';

/** What the API stands on. Everything is opened and closed by whoever builds it. */
export interface ApiDeps {
  readonly db: Database;
  readonly artifacts: ArtifactStore;
  readonly catalog: LoadedCatalog;
  readonly logger: Logger;
  /** Largest upload, in bytes. */
  readonly uploadMaxBytes: number;
  /** Names this process on rows that it stages. Default `api`. */
  readonly owner?: string;
  /** The clock. Default: the system's. */
  readonly now?: () => Date;
}
