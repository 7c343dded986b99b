/**
 * The connection to PostgreSQL.
 *
 * Invariants:
 * - statements name their schema, so nothing depends on a search path and a connection pooler may stand in between;
 * - a connection that dies, idle or in use, costs the statement it carried and never the process;
 * - every error that leaves is one of errors.ts: no row, parameter or credential in it;
 * - `bigint` comes back as a number (counts and byte sizes, far below 2^53), `json` parsed with its key order kept.
 */

import pg from 'pg';
import { asResultsError, asUnavailable, isTransient, StatementRefusedError } from './errors.ts';

/** Rows of a statement. */
export interface Rows<Row> {
  readonly rows: Row[];
  readonly rowCount: number;
}

/** What query modules need: a database, or a transaction of it. */
export interface Queryable {
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Rows<Row>>;
  /** Runs `fn` in one transaction; inside a transaction it joins that one. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A transaction in progress. */
export type Tx = Queryable;

/** A pool of connections to one results store. */
export interface Database extends Queryable {
  /** Host and port, or socket folder; never credentials. */
  readonly address: string;
  /** Options for a connection of one's own (`LISTEN`); holds the password, so never log it. */
  readonly connection: pg.ClientConfig;
  /**
   * Runs `fn` on one connection of its own and without time limits, for migrations and session locks. The connection is
   * thrown away afterwards, with whatever was set or locked on it.
   */
  session<T>(fn: (connection: Queryable) => Promise<T>): Promise<T>;
  /** Resolves when the store answers within `timeoutMs`. @throws ResultsUnavailableError */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Options of {@link openDatabase}. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** Default 10. */
  readonly maxConnections?: number;
  readonly applicationName?: string;
  /** A statement is given up after this time. Default 60,000. */
  readonly statementTimeoutMs?: number;
  /** A connection must stand within this time. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Told about connections that die while nobody uses them. */
  readonly onError?: (error: unknown) => void;
}

/**
 * A process that is stopped, or cut off, in the middle of a transaction holds its locks until then, and everybody who needs
 * them waits. No transaction of ours waits for anything but the database.
 */
const IDLE_IN_TRANSACTION_MS = 15_000;
const TRANSACTION_ATTEMPTS = 4;
/** The longest timer there is: for connections that may wait for as long as it takes. */
const PATIENT_MS = 2_147_483_647;

/** Opens a pool; connects lazily, so it succeeds while the store is down. */
export function openDatabase(options: DatabaseOptions): Database {
  const connection = connectionConfig(options);
  const address = addressOf(connection);
  const onError = options.onError ?? (() => {});
  const pool = new pg.Pool({ ...connection, max: options.maxConnections ?? 10 });
  pool.on('error', (error) => onError(asResultsError(error, address)));
  // A client in use has no listener of the pool's, and an error event nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  let closing: Promise<void> | undefined;

  /** A connection, and whether it may be used again: one that was lost, or gave up waiting, may not. */
  const onClient = (client: pg.ClientBase, queryTimeoutMs?: number): Queryable & { broken: boolean } => {
    const connected: Queryable & { broken: boolean } = {
      broken: false,
      async query(text, values) {
        try {
          return await run(client, text, values, queryTimeoutMs);
        } catch (thrown) {
          const error = asResultsError(thrown, address);
          if (!(error instanceof StatementRefusedError)) connected.broken = true;
          throw error;
        }
      },
      transaction: (fn) => inTransaction(connected, fn),
    };
    return connected;
  };

  const connect = async (): Promise<pg.PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw asUnavailable(error, address);
    }
  };

  const onPooledClient = async <T>(fn: (connection: Queryable) => Promise<T>): Promise<T> => {
    const client = await connect();
    const connected = onClient(client);
    try {
      return await fn(connected);
    } finally {
      client.release(connected.broken);
    }
  };

  const onPatientClient = async <T>(fn: (connection: Queryable) => Promise<T>): Promise<T> => {
    const client = await connect();
    try {
      const patient = onClient(client, PATIENT_MS);
      await patient.query('set statement_timeout = 0');
      await patient.query('set idle_in_transaction_session_timeout = 0');
      return await fn(patient);
    } finally {
      client.release(true);
    }
  };

  return {
    address,
    connection,
    query: (text, values) => onPooledClient((connected) => connected.query(text, values)),
    transaction: (fn) => retrying(() => onPooledClient((connected) => connected.transaction(fn))),
    session: onPatientClient,
    async ping(timeoutMs) {
      const client = new pg.Client({ ...connection, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.query('select 1');
      } catch (error) {
        throw asUnavailable(error, address);
      } finally {
        client.end().catch(() => {});
      }
    },
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}

async function run<Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
  queryTimeoutMs?: number,
): Promise<Rows<Row>> {
  const query = { text, values: values as unknown[], ...(queryTimeoutMs && { query_timeout: queryTimeoutMs }) };
  const result = await client.query(query);
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 };
}

/** One transaction on a connection; a transaction begun inside it joins it. */
async function inTransaction<T>(connection: Queryable, fn: (tx: Tx) => Promise<T>): Promise<T> {
  const tx: Tx = { query: connection.query, transaction: (inner) => inner(tx) };
  await connection.query('begin');
  try {
    const result = await fn(tx);
    await connection.query('commit');
    return result;
  } catch (error) {
    await connection.query('rollback').catch(() => {});
    throw error;
  }
}

async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= TRANSACTION_ATTEMPTS || !isTransient(error)) throw error;
    }
  }
}

function connectionConfig(options: DatabaseOptions): pg.ClientConfig {
  const statementTimeoutMs = options.statementTimeoutMs ?? 60_000;
  return {
    connectionString: options.url,
    application_name: options.applicationName ?? 'muster',
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    // The client's own limit catches a peer that has vanished without a word.
    query_timeout: statementTimeoutMs + 5_000,
    idle_in_transaction_session_timeout: Math.min(statementTimeoutMs, IDLE_IN_TRANSACTION_MS),
    keepAlive: true,
    types: { getTypeParser: typeParser as pg.CustomTypesConfig['getTypeParser'] },
  };
}

function typeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === pg.types.builtins.INT8 && format !== 'binary') return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

function addressOf(config: pg.ClientConfig): string {
  const { host, port } = new pg.Client(config);
  return host.startsWith('/') ? host : `${host}:${port}`;
}
