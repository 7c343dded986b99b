/**
 * Values that were read lately, and readings under way.
 *
 * Invariants: one place is read by one reading at a time, whoever waits for it; a reading ends in time, or when nobody
 * waits for it any more; a value is forgotten when its lifetime is over, a failure sooner.
 */
import { CredentialError } from './credential-error.ts';

export interface CredentialCacheOptions {
  /** How long a value is kept, in ms; 0 keeps none. */
  readonly lifetimeMs: number;
  readonly timeoutMs: number;
  readonly elapsedMs: () => number;
}

/** Undefined: there is nothing at that place. */
type Reading = (signal: AbortSignal) => Promise<string | undefined>;

interface Entry {
  readonly value: Promise<string | undefined>;
  readonly abandon: AbortController;
  waiting: number;
  /** Infinity while it is being read. */
  freshUntilMs: number;
}

/** Long enough that a fleet does not ask for each subject, short enough for a person who puts it right. */
const FAILURE_LIFETIME_MS = 5000;
const MAX_ENTRIES = 1000;

export class CredentialCache {
  readonly #options: CredentialCacheOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: CredentialCacheOptions) {
    this.#options = options;
  }

  /** The value of a place; `signal` ends the wait, not the reading that others wait for too. */
  async get(key: string, read: Reading, signal?: AbortSignal): Promise<string | undefined> {
    signal?.throwIfAborted();
    this.#forgetOld();
    const entry = this.#entries.get(key) ?? this.#begin(key, read);
    entry.waiting++;
    try {
      return await within(entry.value, signal);
    } finally {
      entry.waiting--;
      if (entry.waiting === 0 && entry.freshUntilMs === Number.POSITIVE_INFINITY) {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        entry.abandon.abort(new CredentialError('credential_abandoned'));
      }
    }
  }

  #begin(key: string, read: Reading): Entry {
    const { lifetimeMs, timeoutMs, elapsedMs } = this.#options;
    const abandon = new AbortController();
    const timer = setTimeout(() => abandon.abort(new CredentialError('credential_timeout')), timeoutMs);
    const keep = (forMs: number) => {
      clearTimeout(timer);
      entry.freshUntilMs = elapsedMs() + forMs;
    };
    const value = within(read(abandon.signal), abandon.signal);
    const entry: Entry = { value, abandon, waiting: 0, freshUntilMs: Number.POSITIVE_INFINITY };
    value.then(
      (found) => keep(found === undefined ? Math.min(lifetimeMs, FAILURE_LIFETIME_MS) : lifetimeMs),
      () => keep(Math.min(lifetimeMs, FAILURE_LIFETIME_MS)),
    );
    this.#entries.set(key, entry);
    return entry;
  }

  #forgetOld(): void {
    const now = this.#options.elapsedMs();
    for (const [key, entry] of this.#entries) {
      if (now >= entry.freshUntilMs || this.#entries.size > MAX_ENTRIES) this.#entries.delete(key);
    }
  }
}

/** Waits for a promise, but no longer than until the signal is aborted. */
function within<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    const release = () => signal.removeEventListener('abort', onAbort);
    work.then(resolve, reject).finally(release);
  });
}
