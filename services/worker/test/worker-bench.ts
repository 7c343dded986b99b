/**
 * What the tests of this room start from: workers in this process on a real database, a real queue and a real folder, and
 * runbooks whose tools are the test's own.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArtifactStore, folderArtifacts, newArtifactRef } from '@muster/artifacts';
import { answerDeclaration, canonicalJson, createCatalog, type Runbook, type Tool } from '@muster/envelope';
import type { Hook } from '@muster/hooks';
import { INPUT_FILE_TOOL, type LoadedCatalog, type Logger, SecretBox, scopeOf } from '@muster/host';
import { postgresQueueBackend, type QueueBackend, redisQueueBackend } from '@muster/queue';
import {
  acceptRun,
  commitUpload,
  createApiKey,
  type Database,
  ensureSession,
  getAnswer,
  getRun,
  isFinal,
  migrate,
  openDatabase,
  pageSubjects,
  type RunAcceptance,
  type RunRecord,
  type SubjectRecord,
  stageUpload,
} from '@muster/results';
import { type TestQueueBackend, testDatabase, waitFor } from '@muster/testkit';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { buildWorker, InlineCharts, type Worker } from '../src/index.ts';
import { benchRunbooks } from './bench-runbooks.ts';

export const TENANT = 'acme';

export interface WorkerOptions {
  readonly backend?: QueueBackend;
  readonly store?: ArtifactStore;
  readonly db?: Database;
  readonly catalog?: LoadedCatalog;
  readonly concurrency?: number;
  readonly now?: () => Date;
}

export interface Bench {
  readonly db: Database;
  readonly databaseUrl: string;
  readonly backend: QueueBackend;
  /** Empties the queue's store, as a flush or a new and empty server would. */
  loseQueue(): Promise<void>;
  readonly store: ArtifactStore;
  readonly folder: string;
  readonly sessionId: string;
  readonly catalog: LoadedCatalog;
  readonly box: SecretBox;
  readonly log: Logger;
  /** Every line that a worker logged, parsed. */
  readonly logs: Record<string, unknown>[];
  /** The raw queue, to look into or to tamper with. */
  readonly queues: Readonly<Record<'runs' | 'chunks', ReturnType<QueueBackend['openQueue']>>>;
  /** Starts a worker; it is stopped when the test ends. */
  work(options?: WorkerOptions): Promise<Worker>;
  upload(name: string, text: string): Promise<string>;
  accept(runbook: string, input?: object, over?: Partial<RunAcceptance>): Promise<RunRecord>;
  read(run: RunRecord): Promise<RunRecord>;
  /** Waits until a run is final and gives it back. */
  ended(run: RunRecord): Promise<RunRecord>;
  answer(run: RunRecord): Promise<{ kind: string; body: AnswerBody }>;
  rows(run: RunRecord): Promise<readonly SubjectRecord[]>;
  chunks(run: RunRecord): Promise<ChunkRow[]>;
  count(table: string, where?: string): Promise<number>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes are looked into by tests
export type AnswerBody = any;

export interface ChunkRow {
  readonly id: string;
  readonly state: string;
  readonly size: number;
  readonly starts: number;
  readonly fence: number;
  readonly walk_ref: string | null;
}

export interface BenchOptions {
  /** Default: the queue lives in the same database. */
  readonly queue?: TestQueueBackend;
  readonly tools?: readonly Tool[];
  readonly runbooks?: readonly Runbook[];
  readonly hooks?: readonly Hook[];
}

export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const database = await testDatabase();
  const db = openDatabase({ url: database.url, maxConnections: 20 });
  const folder = await mkdtemp(join(tmpdir(), 'muster-worker-'));
  onTestFinished(async () => {
    await db.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  await migrate(db);
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const backend =
    options.queue?.name === 'redis'
      ? redisQueueBackend({ url: options.queue.url, prefix })
      : postgresQueueBackend({ url: database.url, prefix });
  await backend.prepare();
  const queues = { runs: backend.openQueue('runs'), chunks: backend.openQueue('chunks') };
  onTestFinished(async () => {
    await Promise.all([queues.runs.close(), queues.chunks.close()]);
  });
  // Its connections end with the database at the latest, which is no news to a test.
  for (const queue of Object.values(queues)) queue.on('error', () => undefined);
  const store = folderArtifacts({ directory: join(folder, 'artifacts') });
  const { id: keyId } = await createApiKey(db, { tenant: TENANT, name: 'tests', role: 'runner' });
  const session = await ensureSession(db, { tenant: TENANT, keyId, name: 'default' });
  const catalog = catalogOf(options.runbooks ?? benchRunbooks, options.tools, options.hooks);
  const logs: Record<string, unknown>[] = [];
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const box = new SecretBox(randomBytes(32));
  const scope = (run: RunRecord) => ({ tenant: run.tenant, runId: run.id });

  const bench: Bench = {
    db,
    databaseUrl: database.url,
    backend,
    store,
    folder,
    sessionId: session.id,
    catalog,
    box,
    log,
    logs,
    queues,
    async loseQueue() {
      if (options.queue?.name !== 'redis') return void (await db.query(`drop schema ${prefix}_queue cascade`));
      await (queues.runs.opts.connection as unknown as { flushdb(): Promise<unknown> }).flushdb();
    },
    async work(over = {}) {
      const worker = buildWorker({
        config: {
          workerConcurrency: over.concurrency ?? 2,
          sliceMs: 4000,
          lockMs: 5000,
          stallCheckMs: 500,
          dispatchWindow: 64,
          retentionDays: 90,
          withdrawAfterMs: 600_000,
          notifyPrivate: 'allow' as const,
        },
        db: over.db ?? db,
        store: over.store ?? store,
        backend: over.backend ?? backend,
        catalog: over.catalog ?? catalog,
        box,
        charts: new InlineCharts(over.catalog ?? catalog),
        log,
        ...(over.now !== undefined && { now: over.now }),
      });
      onTestFinished(() => worker.stop(1000));
      await worker.start();
      return worker;
    },
    async upload(name, text) {
      const ref = newArtifactRef();
      const owner = { ref, tenant: TENANT, sessionId: session.id, owner: 'tests', kind: 'upload/input' };
      await stageUpload(db, { ...owner, mediaType: 'text/plain', storeConversation: scopeOf(owner).conversationId });
      const { meta } = await store.put(scopeOf(owner), {
        ref,
        kind: 'upload/input',
        mediaType: 'text/plain',
        label: name,
        data: text,
      });
      await commitUpload(db, { ref, tenant: TENANT, bytes: meta.bytes });
      return ref;
    },
    async accept(name, input = {}, over = {}) {
      const definition = catalog.byName.get(name);
      if (definition === undefined) throw new Error(`the bench has no runbook ${name}`);
      const { runbook, digest } = definition;
      const canonical = canonicalJson(input);
      const outcome = await acceptRun(db, {
        tenant: TENANT,
        session: { id: session.id },
        definition: {
          digest,
          name,
          version: runbook.version,
          declaration: { name, answer: answerDeclaration(runbook) },
        },
        input: { digest: randomUUID(), canonical },
        form: runbook.form,
        now: new Date('2026-05-05T05:05:05Z'),
        ...over,
      });
      if (outcome.outcome !== 'accepted') throw new Error(`the run was not accepted: ${outcome.outcome}`);
      return outcome.run;
    },
    read: async (run) => (await getRun(db, scope(run)))!,
    ended: (run) =>
      waitFor(
        () => bench.read(run),
        (seen) => isFinal(seen.status),
        { what: 'the end of the run' },
      ),
    answer: async (run) => (await getAnswer(db, scope(run))) as { kind: string; body: AnswerBody },
    rows: async (run) => (await pageSubjects(db, { ...scope(run), limit: 10_000 }))?.rows ?? [],
    async chunks(run) {
      const { rows } = await db.query<ChunkRow>(
        'select id, state, size, starts, fence, walk_ref from muster.chunks where run_id = $1 order by first_ordinal',
        [run.id],
      );
      return rows;
    },
    async count(table, where = 'true') {
      const { rows } = await db.query<{ count: number }>(`select count(*) from muster.${table} where ${where}`);
      return Number(rows[0]?.count);
    },
  };
  return bench;
}

/** A catalog over runbooks, with digests that say their names. */
export function catalogOf(
  runbooks: readonly Runbook[],
  tools: readonly Tool[] = [],
  hooks: readonly Hook[] = [],
): LoadedCatalog {
  const catalog = createCatalog({ runbooks, tools, hostTools: [INPUT_FILE_TOOL] });
  const definitions = runbooks.map((runbook) => ({ runbook, digest: `digest-of-${runbook.name}` }));
  return {
    catalog,
    byName: new Map(definitions.map((definition) => [definition.runbook.name, definition])),
    byDigest: new Map(definitions.map((definition) => [definition.digest, definition])),
    hooks: new Map(hooks.map((hook) => [hook.name, hook])),
  };
}

/** A promise that somebody else fulfils. */
export function signal<T = void>(): { readonly given: Promise<T>; give(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { given: promise, give: resolve };
}

/** Resolves when the signal is aborted, by throwing its reason: what a tool that waits for the outside does. */
export function untilAborted(aborted: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(aborted?.reason);
    if (aborted?.aborted) abort();
    else aborted?.addEventListener('abort', abort, { once: true });
  });
}
