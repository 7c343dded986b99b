/**
 * Everything a store throws on purpose.
 *
 * Invariants:
 * - `code` is stable and is one of {@link ERROR_CODES};
 * - messages are one line, and never carry a payload, a label or a credential.
 */

/** What each code means. README.md carries the same table; a test compares the two. */
export const ERROR_CODES = Object.freeze({
  artifact_too_large:
    'the payload is over the option maxBytes of the store; the error carries measuredBytes and maxBytes',
  artifact_integrity: 'the stored bytes are not the ones that were put; no bytes are handed out as good',
  artifact_invalid: 'the call is malformed: scope, ref, metadata, payload, range, cursor or limit',
  artifact_parent_unknown: 'a parent ref does not resolve in the scope of the put',
  artifact_ref_taken: 'the ref that the caller chose is in use in that scope',
  artifact_store_unavailable: 'the disk or endpoint behind the store did not do what was asked, after bounded retries',
});

/** The codes of {@link ArtifactError}; each has a line in the table of the README. */
export type ArtifactErrorCode = keyof typeof ERROR_CODES;

/** The base of all errors of a store. */
export class ArtifactError extends Error {
  readonly code: ArtifactErrorCode;

  constructor(code: ArtifactErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A put over the limit. For a stream `measuredBytes` is what had come in when it was refused. */
export class ArtifactTooLargeError extends ArtifactError {
  readonly measuredBytes: number;
  readonly maxBytes: number;

  constructor(measured: { bytes: number; how: 'measured' | 'at least' | 'declared' }, maxBytes: number) {
    super(
      'artifact_too_large',
      `artifact is too large: ${measured.how} ${measured.bytes} bytes, but the store's option maxBytes allows ${maxBytes}`,
    );
    this.measuredBytes = measured.bytes;
    this.maxBytes = maxBytes;
  }
}

/** Stored bytes that differ from what was put. */
export class ArtifactIntegrityError extends ArtifactError {
  constructor(ref: string, finding: string, options?: ErrorOptions) {
    super('artifact_integrity', `artifact ${ref} is damaged: ${finding}`, options);
  }
}

/** A malformed call. */
export class ArtifactInvalidError extends ArtifactError {
  constructor(message: string, options?: ErrorOptions) {
    super('artifact_invalid', message, options);
  }
}

/** A parent that is missing, expired or of another scope: the three are not told apart. */
export class ArtifactParentUnknownError extends ArtifactError {
  readonly parentRef: string;

  constructor(parentRef: string) {
    super('artifact_parent_unknown', `parent artifact ${parentRef} does not exist in this scope`);
    this.parentRef = parentRef;
  }
}

/** A chosen ref that is in use. */
export class ArtifactRefTakenError extends ArtifactError {
  readonly ref: string;

  constructor(ref: string) {
    super('artifact_ref_taken', `artifact ref ${ref} is taken in this scope`);
    this.ref = ref;
  }
}

/** The technology behind the store failed; `cause` is its own error. */
export class ArtifactStoreUnavailableError extends ArtifactError {
  readonly operation: string;
  readonly place: string;
  readonly reason: string;

  constructor(operation: string, place: string, cause: unknown) {
    const { reason, attempts } = describeFailure(cause);
    const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
    super(
      'artifact_store_unavailable',
      `artifact store unavailable: ${operation} on ${place} failed${tries}: ${reason}`,
      {
        cause,
      },
    );
    this.operation = operation;
    this.place = place;
    this.reason = reason;
  }
}

/** Names a failure by its code or class alone: foreign messages can quote requests, and requests carry credentials. */
function describeFailure(cause: unknown): { reason: string; attempts: number } {
  const { code, name, $metadata } = (typeof cause === 'object' && cause !== null ? cause : {}) as {
    code?: unknown;
    name?: unknown;
    $metadata?: { attempts?: number; httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const plainName = name === 'Error' || name === 'Unknown' ? undefined : name;
  const named = [code, plainName].find((word) => typeof word === 'string' && /^[\w.-]{1,60}$/.test(word));
  const parts = [named, status === undefined ? undefined : `HTTP ${status}`].filter((part) => part !== undefined);
  return { reason: parts.join(', ') || 'unexpected failure', attempts: $metadata?.attempts ?? 1 };
}
