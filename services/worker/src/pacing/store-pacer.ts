import { SharedPacer } from '@muster/envelope';
import { type Database, exchangePermits, releasePermits } from '@muster/results';

/** A worker that gave no sign of life for so long has no permits any more. */
const LEASE_MS = 10_000;

/** The worker's pacer: limits of tools hold over all workers of the installation, by leases in the results store. */
export interface StorePacer {
  readonly pacer: SharedPacer;
  /** Gives back what was leased. Nothing begins any more. */
  close(): Promise<void>;
}

/** Opens the pacer of one worker. It asks the store only while limited tools are called. */
export function openStorePacer(db: Database, holder: string, onError: (error: unknown) => void): StorePacer {
  const pacer = new SharedPacer((request) => exchangePermits(db, { holder, leaseMs: LEASE_MS, ...request }), {
    // Half of a lease is certain (see exchangePermits), less what an answer may be on its way.
    validMs: LEASE_MS / 2,
    onError,
  });
  return {
    pacer,
    async close() {
      await pacer.close();
      // When the store is away the leases end by themselves.
      await releasePermits(db, holder).catch(() => {});
    },
  };
}
