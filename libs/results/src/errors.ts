/**
 * The errors of the results store: one line each, a stable code, never a payload, a credential or a stored value.
 *
 * PostgreSQL's own errors quote rows and parameters in `detail`, so they never leave this room: {@link asResultsError}
 * keeps the SQLSTATE and the name of the constraint and drops the rest.
 */

/** The base of every error thrown here; `code` is stable and may be switched on. */
export class ResultsError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The store cannot be reached, or has dropped the connection. What was asked may or may not have happened. */
export class ResultsUnavailableError extends ResultsError {
  constructor(address: string, reason: string) {
    super('results_unavailable', `the results store at ${address} is unavailable (${reason})`);
  }
}

/** The database was migrated by a newer build in a way that this build cannot live with. */
export class SchemaTooNewError extends ResultsError {
  constructor(found: { version: number; name: string }, known: number) {
    super(
      'schema_too_new',
      `the results schema is at version ${found.version} (${found.name}), which this build does not know (it knows up to version ${known}); start a build that does`,
    );
  }
}

/** A migration was refused by the database; nothing of it was kept. */
export class MigrationFailedError extends ResultsError {
  constructor(version: number, name: string, cause: unknown) {
    super('migration_failed', `migration ${version} (${name}) failed: ${errorMessage(cause)}`, { cause });
  }
}

/** Planned chunks and the declared total disagree (DESIGN decision 4). */
export class LedgerMismatchError extends ResultsError {
  constructor(message: string) {
    super('ledger_mismatch', message);
  }
}

/** A tenant would have more than it may. */
export class QuotaExceededError extends ResultsError {
  readonly quota: string;
  readonly limit: number;

  constructor(quota: string, limit: number, wanted: number) {
    super('quota_exceeded', `${wanted} is over the tenant's quota ${quota} of ${limit}`);
    this.quota = quota;
    this.limit = limit;
  }
}

/** A settlement that does not fit its chunk: a mistake of the caller, never of timing. */
export class SettlementInvalidError extends ResultsError {
  constructor(message: string) {
    super('settlement_invalid', message);
  }
}

/** An artifact to be committed was not staged by this attempt, or has been swept since. */
export class ArtifactNotStagedError extends ResultsError {
  constructor(expected: number, found: number) {
    super(
      'artifact_not_staged',
      `${expected} artifacts were to be committed, but this attempt has ${found} of them staged`,
    );
  }
}

/** A cursor that names nothing the reader may see. */
export class UnknownCursorError extends ResultsError {
  constructor(cursor: string) {
    super('unknown_cursor', `the cursor '${cursor}' names nothing in this list`);
  }
}

/** The database refused a statement. `sqlState` and `constraint` say which rule did it. */
export class StatementRefusedError extends ResultsError {
  readonly sqlState: string;
  readonly constraint: string | undefined;

  constructor(sqlState: string, constraint: string | undefined, message: string | undefined) {
    const parts = [`SQLSTATE ${sqlState}`, ...(constraint === undefined ? [] : [`constraint ${constraint}`])];
    super(
      'statement_refused',
      `the results store refused a statement (${parts.join(', ')})${message ? `: ${message}` : ''}`,
    );
    this.sqlState = sqlState;
    this.constraint = constraint;
  }
}

/** Every code an error of this room can have. */
export const RESULTS_ERROR_CODES = [
  'results_unavailable',
  'schema_too_new',
  'migration_failed',
  'ledger_mismatch',
  'quota_exceeded',
  'settlement_invalid',
  'artifact_not_staged',
  'unknown_cursor',
  'statement_refused',
] as const;

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'EACCES',
  'EPERM',
  'ENOENT',
]);

/** The driver's own failures of a connection carry no code, only these texts. */
const CONNECTION_TEXTS =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed|timeout expired)/;

/** Turns what the driver throws into an error of this room; other errors pass through untouched. */
export function asResultsError(error: unknown, address: string): unknown {
  if (!(error instanceof Error) || error instanceof ResultsError) return error;
  const code = errorCode(error);
  if (code !== undefined && NETWORK_CODES.has(code)) return new ResultsUnavailableError(address, code);
  if (CONNECTION_TEXTS.test(error.message)) return new ResultsUnavailableError(address, error.message.toLowerCase());
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return error;
  if (isConnectionState(code)) return new ResultsUnavailableError(address, `SQLSTATE ${code}`);
  // Only our own exceptions (class MU) and faults of the statement itself (class 42) have texts without stored values.
  const message = /^(MU|42)/.test(code) ? error.message : undefined;
  return new StatementRefusedError(code, (error as { constraint?: string }).constraint, message);
}

/** The same for a failure to connect, which leaves the store unavailable whatever the reason is. */
export function asUnavailable(error: unknown, address: string): ResultsUnavailableError {
  const known = asResultsError(error, address);
  if (known instanceof ResultsUnavailableError) return known;
  const reason = known instanceof StatementRefusedError ? `SQLSTATE ${known.sqlState}` : errorMessage(known);
  return new ResultsUnavailableError(address, reason.split('\n', 1)[0]!);
}

/** True where PostgreSQL undid a transaction only because of its neighbours: doing it again is right. */
export function isTransient(error: unknown): boolean {
  return error instanceof StatementRefusedError && (error.sqlState === '40P01' || error.sqlState === '40001');
}

/** True where a statement was given up because its time was over. */
export function isOutOfTime(error: unknown): boolean {
  return error instanceof StatementRefusedError && error.sqlState === '57014';
}

/** Connection exceptions, authorisation, unknown database, too many connections, shutdown: nothing was asked yet. */
function isConnectionState(code: string): boolean {
  return /^(08|28|3D|53300|57P0)/.test(code);
}

function errorCode(error: Error): string | undefined {
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') return code;
  // A refused dual-stack connection is an AggregateError whose parts have the code.
  return error instanceof AggregateError && error.errors[0] instanceof Error ? errorCode(error.errors[0]) : undefined;
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
