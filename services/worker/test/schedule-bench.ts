/** What the tests of schedules start from: a database, a clock that is moved by hand, and as many tickers as are asked for. */
import { createHash, randomUUID } from 'node:crypto';
import { defineRunbook } from '@muster/envelope';
import {
  claimRun,
  createSchedule,
  type Database,
  findSchedule,
  finishRun,
  listTicks,
  lockSchedule,
  migrate,
  openDatabase,
  resumeSchedule,
  type ScheduleDefinition,
  type ScheduleRecord,
  type TickRecord,
} from '@muster/results';
import { nextSlot, type Timing } from '@muster/schedules';
import { type ManualClock, manualClock, testDatabase } from '@muster/testkit';
import { flowChart } from 'footprintjs';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { RoundCounts } from '../src/maintenance/maintenance-service.ts';
import { ticker } from '../src/maintenance/ticker.ts';
import { catalogOf, TENANT } from './worker-bench.ts';

const chart = () => flowChart('Start', () => undefined, 'start').build();

/** A procedure that takes a depth, and nothing else. */
export const nightly = defineRunbook({
  name: 'nightly',
  version: '1.0.0',
  description: 'Looks once a night.',
  resultKind: 'verdict/nightly',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({ depth: z.int().optional() }),
  procedure: chart,
});

export interface ScheduleBench {
  readonly db: Database;
  readonly clock: ManualClock;
  /** Makes a schedule as of now: by default each quarter of an hour. */
  schedule(
    over?: Partial<ScheduleDefinition> & { name?: string; tenant?: string; at?: string },
  ): Promise<ScheduleRecord>;
  read(schedule: ScheduleRecord): Promise<ScheduleRecord>;
  resume(schedule: ScheduleRecord): Promise<void>;
  /** Another process' ticker, with a pool of its own. */
  openTicker(runbooks?: Parameters<typeof catalogOf>[0]): () => Promise<RoundCounts>;
  /** One round of a ticker of this process. */
  tick(): Promise<RoundCounts>;
  /** The ledger, oldest decision first. */
  ledger(schedule: ScheduleRecord): Promise<TickRecord[]>;
  /** The ledger as `HH:MM state reason_code`. */
  told(schedule: ScheduleRecord): Promise<string[]>;
  /** Ends a run as a worker would. */
  end(runId: string | null, status?: 'completed' | 'failed' | 'cancelled'): Promise<void>;
}

export async function openScheduleBench(start: string): Promise<ScheduleBench> {
  const database = await testDatabase();
  const db = openDatabase({ url: database.url, maxConnections: 4 });
  const opened: Database[] = [db];
  onTestFinished(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await database.drop();
  });
  await migrate(db);
  const clock = manualClock(start);
  const own = ticker(db, catalogOf([nightly]), clock.now);
  const ledger = async ({ id, tenant }: ScheduleRecord) =>
    [...(await listTicks(db, { tenant, scheduleId: id, limit: 5000 })).ticks].reverse();
  return {
    db,
    clock,
    async schedule({ name = 'sweep', tenant = TENANT, at, ...over } = {}) {
      const id = randomUUID();
      const now = at === undefined ? clock.now() : new Date(at);
      const definition: ScheduleDefinition = { ...DEFAULTS, ...over };
      const timing = definition.timing as Timing;
      const next = nextSlot({ id, timing, jitterMs: definition.jitterMs }, now);
      return (await db.transaction((tx) => createSchedule(tx, { ...definition, id, tenant, name, next, now })))!;
    },
    read: async (schedule) => (await findSchedule(db, schedule))!,
    async resume(schedule) {
      await db.transaction(async (tx) => {
        const locked = (await lockSchedule(tx, schedule))!;
        const source = { ...locked, timing: locked.timing as Timing };
        await resumeSchedule(tx, locked, nextSlot(source, clock.now()), clock.now());
      });
    },
    openTicker(runbooks = [nightly]) {
      const pool = openDatabase({ url: database.url, maxConnections: 2 });
      opened.push(pool);
      return () => ticker(pool, catalogOf(runbooks), clock.now).runOnce();
    },
    tick: () => own.runOnce(),
    ledger,
    told: async (schedule) =>
      (await ledger(schedule)).map(({ slot, state, reasonCode }) =>
        [slot.toISOString().slice(11, 16), state, reasonCode].filter(Boolean).join(' '),
      ),
    async end(runId, status = 'completed') {
      const { fence } = (await claimRun(db, { runId: runId!, phase: 'procedure', dispatchNo: 1 }))!;
      const kind = status === 'failed' ? 'failure' : 'absence';
      const body = kind === 'failure' ? { code: 'x', message: 'x' } : { looked_for: 'x', note: 'x' };
      await finishRun(db, { runId: runId!, fence, status, answer: { kind, body }, now: clock.now() });
    },
  };
}

const canonical = JSON.stringify({ depth: 3 });
const DEFAULTS: ScheduleDefinition = {
  runbookName: 'nightly',
  runbookVersion: null,
  input: { canonical, digest: createHash('sha256').update(canonical).digest('hex') },
  priority: 2,
  timing: { cron: '*/15 * * * *', time_zone: 'UTC' },
  overlap: 'skip',
  jitterMs: 0,
  catchUpMs: 3_600_000,
  pauseAfterFailures: null,
  source: 'api',
  ownerKeyId: null,
};
