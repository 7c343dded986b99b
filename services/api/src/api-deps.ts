import type { ArtifactStore } from '@muster/artifacts';
import type { ResolveCredential } from '@muster/envelope';
import type { LoadedCatalog, Logger, SecretBox } from '@muster/host';
import type { PrivateAddresses } from '@muster/notices';
import type { Database } from '@muster/results';
import type { RunChanges } from './run-changes.ts';

/** What the API is built from. Everything is opened and closed by whoever builds it. */
export interface ApiOptions {
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
  /** Requests that may wait for changes at once; one more is refused. Default 10,000. */
  readonly maxWaiters?: number;
  /** How often a stream of events says that it lives. Default 15,000. */
  readonly heartbeatMs?: number;
  /** Whether the key that started a run may answer its questions, whatever the runbook says. Default `refuse`. */
  readonly selfApproval?: SelfApproval;
  /** Whether notices and callbacks may go to addresses that are not public. Default `refuse`. */
  readonly notifyPrivate?: PrivateAddresses;
  /** What the bodies of deliveries and the secrets of notifiers are sealed with. Without it none is taken. */
  readonly box?: SecretBox;
  /** Finds the secrets of hooks. Without it no delivery is taken. */
  readonly resolveCredential?: ResolveCredential;
}

export type SelfApproval = 'allow' | 'refuse';

/** What routes and use cases stand on. */
export interface ApiDeps extends ApiOptions {
  readonly changes: RunChanges;
}
