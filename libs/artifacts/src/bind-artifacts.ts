/**
 * A store bound to one scope: what a run's tools and recorders get.
 *
 * Invariants:
 * - no call of it can name another scope;
 * - the origin is the binding's; one that a caller gives is dropped, since it would be a claim;
 * - an observer that throws changes nothing.
 */
import { ArtifactError, type ArtifactErrorCode } from './artifact-errors.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import type {
  ArtifactMeta,
  ArtifactOrigin,
  ArtifactPage,
  ArtifactScope,
  ArtifactStore,
  GetArtifactResult,
  PutArtifactInput,
} from './artifact-store.ts';

/** One finished call of a bound store. Never a payload. */
export interface ArtifactEvent {
  readonly verb: 'put' | 'head' | 'get' | 'delete' | 'list';
  readonly outcome: 'ok' | 'absent' | 'error';
  readonly ref?: ArtifactRef;
  readonly kind?: string;
  readonly bytes?: number;
  /** With `error`, when the store threw on purpose. */
  readonly code?: ArtifactErrorCode;
}

/** A store that can reach one scope alone. */
export interface BoundArtifacts {
  put(input: PutArtifactInput): Promise<ArtifactMeta>;
  head(ref: ArtifactRef): Promise<ArtifactMeta | null>;
  get(ref: ArtifactRef): Promise<GetArtifactResult | null>;
  delete(ref: ArtifactRef): Promise<void>;
  list(options?: { cursor?: string; limit?: number }): Promise<ArtifactPage>;
}

/** Options of {@link bindArtifacts}. */
export interface BindArtifactsOptions {
  readonly origin?: ArtifactOrigin;
  readonly onEvent?: (event: ArtifactEvent) => void;
}

/** Binds a store to a scope. */
export function bindArtifacts(
  store: Pick<ArtifactStore, 'put' | 'head' | 'get' | 'delete' | 'list'>,
  scope: ArtifactScope,
  options: BindArtifactsOptions = {},
): BoundArtifacts {
  const boundScope = Object.freeze({ ...scope });
  const observe = observer(options.onEvent);
  return Object.freeze({
    async put(input: PutArtifactInput) {
      const { origin: _claimed, ...rest } = input;
      const stamped = options.origin === undefined ? rest : { ...rest, origin: options.origin };
      const { meta } = await observe(
        'put',
        {},
        () => store.put(boundScope, stamped),
        (result) => describe(result.meta),
      );
      return meta;
    },
    head: (ref: ArtifactRef) => observe('head', { ref }, () => store.head(boundScope, ref), describe),
    get: (ref: ArtifactRef) =>
      observe(
        'get',
        { ref },
        () => store.get(boundScope, ref),
        (result) => describe(result?.meta ?? null),
      ),
    delete: (ref: ArtifactRef) =>
      observe(
        'delete',
        { ref },
        () => store.delete(boundScope, ref),
        () => ({}),
      ),
    list: (page?: { cursor?: string; limit?: number }) =>
      observe(
        'list',
        {},
        () => store.list(boundScope, page),
        () => ({}),
      ),
  });
}

function describe(meta: ArtifactMeta | null): Partial<ArtifactEvent> {
  return meta === null ? { outcome: 'absent' } : { ref: meta.ref, kind: meta.kind, bytes: meta.bytes };
}

function observer(onEvent: ((event: ArtifactEvent) => void) | undefined) {
  const tell = (event: ArtifactEvent) => {
    try {
      onEvent?.(event);
    } catch {
      // The call's outcome stands whatever its observer does.
    }
  };
  return async <T>(
    verb: ArtifactEvent['verb'],
    known: { ref?: ArtifactRef },
    work: () => Promise<T>,
    found: (result: T) => Partial<ArtifactEvent>,
  ): Promise<T> => {
    try {
      const result = await work();
      tell({ verb, outcome: 'ok', ...known, ...found(result) });
      return result;
    } catch (error) {
      tell({ verb, outcome: 'error', ...known, ...(error instanceof ArtifactError ? { code: error.code } : {}) });
      throw error;
    }
  };
}
