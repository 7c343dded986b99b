/** backup_freshness: one verdict for each thing that is backed up, from what its tool lists. */
import type { RunbookDeclaration } from '@muster/envelope';
import { instantText, staleGap } from '../inputs/evidence-gap.ts';
import { INPUT_FILE_TOOL } from '../inputs/open-input.ts';
import { durationText } from '../inputs/time-fact.ts';
import { assessBackup, DECIDER } from './assess-backup.ts';
import { type BackupSubject, subjectKey } from './backup-facts.ts';
import { backupInput } from './backup-input.ts';
import { planBackups } from './plan-backups.ts';
import { DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { WORDS } from './verdicts.ts';

export const backupFreshness: RunbookDeclaration<BackupSubject> = {
  name: 'backup_freshness',
  version: '1.0.0',
  description:
    'Judges backups by what restic, pgBackRest, Velero and borg list: the newest usable one against a greatest age, and what is missing, partial, failed, stuck or damaged.',
  resultKind: 'verdict/backup-freshness',
  rules: { name: 'backup-freshness', version: '1.0.0', list: DEFAULT_RULES, otherwise: OTHERWISE },
  verdicts: { decider: DECIDER, standings: WORDS.standings },
  composedOf: [INPUT_FILE_TOOL],
  input: backupInput,
  fleet: {
    plan: planBackups,
    key: subjectKey,
    target: (subject) => subject.target,
    // What was expected and did not come is no gap here: a backup that nobody tells of is the point.
    gap: (subject, args) =>
      subject.kind === 'backup' && subject.list !== 'expected_missing'
        ? staleGap(subject.observed_at, args)
        : undefined,
    assess: assessBackup,
    row: backupRow,
  },
};

/** The columns of a row. Every row has the same ones. */
export function backupRow(state: Readonly<Record<string, unknown>>, subject: BackupSubject) {
  const reason = typeof state.reason === 'string' && { reason: state.reason };
  const facts = subject.kind === 'backup' ? subject : undefined;
  const age = state.most_age_seconds;
  return {
    ...reason,
    name: facts?.name ?? null,
    tool: facts?.tool ?? null,
    backups: facts?.backups ?? null,
    newest_usable: instantText(facts?.usable_at),
    age: typeof age === 'number' && age >= 0 ? durationText(age) : null,
    newest_attempt: instantText(facts?.newest_at),
    newest_state: facts?.newest_state ?? null,
    observed_at: instantText(facts?.observed_at),
    target: subject.target ?? null,
  };
}
