/** What the rules compare: facts, made into one value a question. */

import { CLOCK_SKEW_SECONDS } from '../inputs/time-fact.ts';
import { NONE } from '../judging/assess-by-rules.ts';
import type { HostFacts } from './host-facts.ts';
import { supportEnd } from './support-dates.ts';

/** A count or an age that nobody told. */
export const UNTOLD = -1;

export interface PatchSignals extends Record<string, unknown> {
  updates: number;
  security_updates: number;
  kept_back: number;
  broken: number;
  services: number;
  reboot: 'required' | 'not_needed' | 'unknown' | 'untold';
  support: 'ended' | 'supported' | 'untold';
  index_age_seconds: number;
  /** Why the answer cannot be trusted to be whole, or `none`. */
  doubt: string;
  /** Something was told that can be judged. */
  understood: boolean;
}

/** Words for a doubt, in the order in which they matter. */
export function readSignals(host: HostFacts, now: number, indexRequired: boolean): PatchSignals {
  const age = indexAge(host, now);
  const end = host.release === null ? undefined : supportEnd(host.release);
  return {
    updates: host.updates ?? UNTOLD,
    security_updates: host.security ?? UNTOLD,
    kept_back: host.kept_back,
    broken: host.broken,
    services: host.services ?? UNTOLD,
    reboot: host.reboot ?? 'untold',
    support: end === undefined ? 'untold' : end < now ? 'ended' : 'supported',
    index_age_seconds: age ?? UNTOLD,
    doubt: doubtOf(host, age, now, indexRequired),
    understood: host.sources.length > 0,
  };
}

function indexAge(host: HostFacts, now: number): number | undefined {
  if (host.index_age !== null) {
    const since = host.observed_at === null ? 0 : Math.max(0, Math.floor((now - host.observed_at) / 1000));
    return host.index_age + since;
  }
  if (host.index_at === null) return undefined;
  const seconds = Math.floor((now - host.index_at) / 1000);
  return seconds < -CLOCK_SKEW_SECONDS ? undefined : Math.max(0, seconds);
}

function doubtOf(host: HostFacts, age: number | undefined, now: number, indexRequired: boolean): string {
  if (host.doubt !== null) return host.doubt;
  if (host.index_doubt !== null) return `index_${host.index_doubt}`;
  if (host.index_at !== null && (host.index_at - now) / 1000 > CLOCK_SKEW_SECONDS) return 'index_future';
  const toldOfUpdates = host.updates !== null;
  if (toldOfUpdates && age === undefined && (host.index_untold || indexRequired)) return 'index_untold';
  if (host.reboot === 'unknown') return 'kernel_unknown';
  return NONE;
}
