/** What a run of the suite covers, as `main.ts` was told: read once, here. */

export type BackendName = 'redis' | 'postgres';

export interface ChaosPlan {
  readonly seeds: readonly number[];
  readonly backends: readonly BackendName[];
  /** Outages of two minutes and time-outs as long as they are shipped, too. */
  readonly long: boolean;
}

export const BACKENDS: readonly BackendName[] = ['redis', 'postgres'];

/** @throws RangeError naming the variable that is wrong */
export function readPlan(env: NodeJS.ProcessEnv): ChaosPlan {
  const { CHAOS_SEED, CHAOS_SEEDS, CHAOS_BACKEND, CHAOS_LONG } = env;
  const one = CHAOS_SEED ? wholeNumber('CHAOS_SEED', CHAOS_SEED) : undefined;
  const count = CHAOS_SEEDS ? wholeNumber('CHAOS_SEEDS', CHAOS_SEEDS) : 1;
  const backends = BACKENDS.filter((name) => !CHAOS_BACKEND || name === CHAOS_BACKEND);
  if (backends.length === 0) throw new RangeError(`CHAOS_BACKEND is one of ${BACKENDS.join(', ')}`);
  return {
    seeds: one === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [one],
    backends,
    long: CHAOS_LONG === '1',
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new RangeError(`${name} is a whole number from 1 on, not ${text}`);
  return Number(text);
}
