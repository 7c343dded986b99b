/** A verdict as a sentence for the person on call, made of facts alone. */
import { durationText } from '../inputs/time-fact.ts';
import { NONE } from '../judging/assess-by-rules.ts';
import type { BackupFacts } from './backup-facts.ts';
import type { BackupSignals } from './backup-signals.ts';
import type { Verdict } from './verdicts.ts';

type Explain = (facts: BackupFacts, signals: BackupSignals) => string | undefined;

/** The sentence and its notes; undefined where the deciding rule's label says it. */
export function explainVerdict(verdict: Verdict, facts: BackupFacts, signals: BackupSignals): string | undefined {
  const sentence = EXPLAIN[verdict](facts, signals);
  if (sentence === undefined) return undefined;
  return [sentence, ...notesOf(verdict, facts, signals)].join('; ');
}

const EXPLAIN: Readonly<Record<Verdict, Explain>> = {
  missing: () => 'it was expected, and no input tells of it',
  no_output: () => 'the tool printed nothing: it was interrupted, or there is nothing',
  damaged: ({ list, newest_errors }) =>
    list === 'check_failed'
      ? 'a check of its repository found problems'
      : `its newest backup has ${counted(newest_errors, 'error')}`,
  stuck: (_, { newest_age_seconds }) => `its newest backup has been running for ${durationText(newest_age_seconds)}`,
  failed: (_, signals) => `its newest backup failed${agoText(signals)}, and there is no usable one`,
  partial: ({ newest_errors }, signals) =>
    `its newest backup is incomplete${newest_errors > 0 ? ` (${counted(newest_errors, 'error')})` : ''}${agoText(signals)}, and there is no usable one`,
  no_backup: (_, { newest }) =>
    newest === 'running'
      ? 'its first backup is still running'
      : 'there is no backup of it, or the query was for something else',
  stale: (facts, signals) =>
    signals.least_age_seconds > EPOCH_AGE_SECONDS
      ? 'the time of its newest backup stands at the epoch: it was never set'
      : `its newest usable backup is ${ageText(facts, signals)} old`,
  fresh: (facts, signals) => `its newest usable backup is ${ageText(facts, signals)} old`,
  check_clean: () => 'a check of its repository found no problem',
  declined: ({ doubt, list }, signals) => {
    if (list === 'place_unreadable') return 'its repository could not be read';
    if (list === 'no_list') return 'the output has no list of backups: ask for the whole of it';
    if (doubt !== null) return doubt;
    return signals.usable
      ? `its newest backup is ${durationText(signals.least_age_seconds)} to ${durationText(signals.most_age_seconds)} old: its time has no zone`
      : undefined;
  },
};

function notesOf(verdict: Verdict, facts: BackupFacts, signals: BackupSignals): string[] {
  const { newest } = signals;
  const judgedByAge = verdict === 'fresh' || verdict === 'stale';
  return [
    ...(judgedByAge && newest !== 'usable' && newest !== NONE
      ? [`the newest attempt is ${NEWEST[newest] ?? newest}`]
      : []),
    ...(judgedByAge && facts.warnings > 0 ? [counted(facts.warnings, 'warning')] : []),
    ...facts.notes,
  ];
}

const NEWEST: Readonly<Record<string, string>> = {
  partial: 'incomplete',
  failed: 'a failure',
  running: 'still running',
  unknown: 'without a word of how it ended',
};

/** What is old beyond any clock that was set was never given a time. */
const EPOCH_AGE_SECONDS = 40 * 365 * 86_400;

function ageText(
  { usable_zoneless }: BackupFacts,
  { least_age_seconds: least, most_age_seconds: most }: BackupSignals,
): string {
  return usable_zoneless
    ? `${durationText(least)} to ${durationText(most)} (its time has no zone)`
    : durationText(most);
}

function agoText({ newest_age_seconds: age }: BackupSignals): string {
  return age < 0 ? '' : ` ${durationText(age)} ago`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
