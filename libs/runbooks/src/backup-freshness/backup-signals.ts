/** What the rules compare: facts, made into one value a question. */
import { NONE } from '../judging/assess-by-rules.ts';
import type { BackupFacts } from './backup-facts.ts';
import { ageRange } from './backup-time.ts';

/** An age that nobody told. */
export const UNTOLD = -1;

export interface BackupSignals extends Record<string, unknown> {
  list: BackupFacts['list'];
  usable: boolean;
  /** The least and the most that the newest usable one can be old; -1: there is none. */
  least_age_seconds: number;
  most_age_seconds: number;
  newest: string;
  newest_age_seconds: number;
  doubt: string;
}

export function readSignals(facts: BackupFacts, now: number): BackupSignals {
  const { doubt, list, newest_at, newest_state, usable_at, usable_zoneless } = facts;
  const age = usable_at === null ? undefined : ageRange(usable_at, usable_zoneless, now);
  const seconds = (ms: number | undefined) => (ms === undefined ? UNTOLD : Math.floor(ms / 1000));
  return {
    list,
    usable: usable_at !== null,
    least_age_seconds: seconds(age?.least),
    most_age_seconds: seconds(age?.most),
    newest: newest_state ?? NONE,
    newest_age_seconds: newest_at === null ? UNTOLD : Math.max(0, Math.floor((now - newest_at) / 1000)),
    doubt: doubt ?? NONE,
  };
}
