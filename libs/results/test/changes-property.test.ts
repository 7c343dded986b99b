/** What SQL finds over any history of sweeps is what a simple model in memory finds. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChangeWord } from '../src/index.ts';
import { invariants, pageChanges, pageStandings } from '../src/index.ts';
import { newTenant, openStore, type Store } from './store.ts';
import { type RowEnd, RULES, type SweptRow, swept, WHOLE } from './sweeps.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

/** A small generator of numbers, so that a seed says all. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Known {
  standing: 'ok' | 'problem' | null;
  since: number | null;
  lastOk: number | null;
  sweeps: number;
  unknownSince: number | null;
  rules: string | null;
  run: number;
}

interface SweepPlan {
  readonly rows: readonly SweptRow[];
  readonly rules: string;
  readonly left: boolean;
}

const ENDS: readonly RowEnd[] = ['ok', 'ok', 'ok', 'problem', 'problem', 'declined', 'failed', 'uncovered'];
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

function planSweep(random: (below: number) => number): SweepPlan {
  const stopped = random(5) === 0;
  const rows = NAMES.flatMap((name) =>
    Array.from(
      { length: [0, 1, 1, 1, 2, 3][random(6)]! },
      (): SweptRow => [name, stopped && random(2) === 0 ? 'cut' : ENDS[random(ENDS.length)]!],
    ),
  );
  return { rows, rules: random(6) === 0 ? '2' : '1', left: random(6) === 0 };
}

/** The standing of an identity by its rows; undefined: the run did not look at it. */
function worst(ends: readonly RowEnd[]): 'ok' | 'problem' | null | undefined {
  if (ends.includes('problem')) return 'problem';
  if (ends.length === 0 || ends.includes('cut')) return undefined;
  return ends.every((end) => end === 'ok') ? 'ok' : null;
}

/** The rules of the guide, told once more in memory. */
class Model {
  readonly known = new Map<string, Known>();
  #swept = false;

  sweep(number: number, plan: SweepPlan): string[] {
    const stopped = plan.rows.some(([, end]) => end === 'cut');
    const ends = (name: string) => plan.rows.filter(([row]) => row === name).map(([, end]) => end);
    if (stopped && plan.rows.every(([, end]) => end === 'cut')) return [];
    const told = NAMES.flatMap((name) => {
      const planned = ends(name);
      const before = this.known.get(name);
      if (planned.length === 0 && before !== undefined && !stopped && !plan.left) {
        this.known.delete(name);
        return [`gone ${name}`];
      }
      const now = worst(planned);
      if (now === undefined) return [];
      const change = this.#look(name, before, now, number, plan.rules);
      return change === undefined ? [] : [`${change} ${name}`];
    });
    this.#swept ||= !stopped;
    return told.sort();
  }

  #look(name: string, before: Known | undefined, now: 'ok' | 'problem' | null, number: number, rules: string) {
    const was = before ?? { standing: null, since: null, lastOk: null, sweeps: 0, unknownSince: null, rules: null };
    const same = now !== null && now === was.standing;
    this.known.set(name, {
      standing: now ?? was.standing,
      since: now === null || same ? was.since : number,
      lastOk: now === 'ok' ? number : was.lastOk,
      sweeps: now === null ? was.sweeps : same ? was.sweeps + 1 : 1,
      unknownSince: now === null ? (was.unknownSince ?? number) : null,
      rules: now === null ? was.rules : rules,
      run: number,
    });
    return this.#word(before, now, rules);
  }

  #word(before: Known | undefined, now: 'ok' | 'problem' | null, rules: string): ChangeWord | undefined {
    if (before === undefined) return this.#swept ? 'new_subject' : undefined;
    if (now === null) return before.unknownSince === null ? 'became_unknown' : undefined;
    if (before.standing !== null && before.standing !== now && before.rules !== rules) return 'rule_changed';
    if (before.unknownSince !== null) return 'known_again';
    if (before.standing === now) return now === 'problem' ? 'still_problem' : undefined;
    return now === 'problem' ? 'newly_problem' : 'fixed';
  }
}

const night = (number: number) => new Date(Date.UTC(2026, 0, number + 1, 2));

test.each([1, 7, 42, 1000, 20_261_130, 77_777])('histories of seed %i', { timeout: 120_000 }, async (seed) => {
  const random = chance(seed);
  const owner = await newTenant(store.db);
  const { tenant } = owner;
  const model = new Model();
  const runs = new Map<string, number>();
  for (let number = 0; number < 14; number++) {
    const plan = planSweep(random);
    const done = await swept(store.db, owner, plan.rows, {
      now: night(number),
      acceptedAt: night(number),
      judgedBy: { ...RULES, version: plan.rules },
      gaps: { ...WHOLE, left: plan.left },
    });
    runs.set(done.run.id, number);
    const told = await pageChanges(store.db, { tenant, runId: done.run.id, limit: 100 });
    const expected = model.sweep(number, plan);
    const what = `sweep ${number}: ${JSON.stringify(plan)}`;
    expect(told.rows.map(({ change, identity }) => `${change} ${identity}`).sort(), what).toEqual(expected);
    const { rows } = await pageStandings(store.db, { tenant, limit: 100 });
    const stored = rows.map((row): [string, Known] => [
      row.identity,
      {
        standing: row.standing,
        since: nightOf(row.standingSince),
        lastOk: nightOf(row.lastOkAt),
        sweeps: row.sweepsInStanding,
        unknownSince: nightOf(row.unknownSince),
        rules: row.rulesVersion,
        run: runs.get(row.lastRunId)!,
      },
    ]);
    expect(new Map(stored.sort()), what).toEqual(new Map([...model.known].sort()));
  }
  expect(await invariants(store.db)).toEqual([]);
});

function nightOf(at: Date | null): number | null {
  return at === null ? null : (at.getTime() - night(0).getTime()) / 86_400_000;
}
