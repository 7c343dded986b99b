/**
 * Carries out schedules: slots that are due, and what follows the end of their runs. Tickers of all workers do it beside
 * each other; a schedule's row lock gives each slot to one of them, and the ledger has one row a slot.
 */
import type { LoadedCatalog } from '@muster/host';
import { claimSchedule, type Database, findTickable } from '@muster/results';
import { advanceSchedule } from './advance-schedule.ts';
import type { MaintenanceService } from './maintenance-service.ts';

const LIMIT = 200;
/** Whoever lacks a runbook leaves its schedules so long to workers that have it, before it writes that nobody does. */
const PATIENCE_MS = 30_000;

export function ticker(db: Database, catalog: LoadedCatalog, now: () => Date): MaintenanceService {
  const runbooks = [...catalog.byName.values()].map(({ runbook: { name, version } }) => ({ name, version }));
  return {
    name: 'ticker',
    intervalMs: 1000,
    async runOnce() {
      const totals = { started: 0, queued: 0, skipped: 0, missed: 0, refused: 0 };
      let failure: unknown;
      for (const id of await findTickable(db, { now: now(), runbooks, patienceMs: PATIENCE_MS, limit: LIMIT })) {
        try {
          const counts = await advance(db, id, { catalog, now: now() });
          for (const [state, count] of Object.entries(counts)) totals[state as keyof typeof totals] += count;
        } catch (error) {
          // One schedule that cannot be carried out does not hold up the others; the round is logged as failed.
          failure ??= error;
        }
      }
      if (failure !== undefined) throw failure;
      return totals;
    },
  };
}

function advance(db: Database, id: string, taker: { catalog: LoadedCatalog; now: Date }) {
  return db.transaction(async (tx) => {
    const schedule = await claimSchedule(tx, id);
    return schedule === undefined ? {} : await advanceSchedule(tx, schedule, taker);
  });
}
