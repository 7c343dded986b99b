import { DECLINED_VERDICT, isPlainObject, type RunbookVerdictsOptions, standingOf } from '@muster/envelope';
import type { SubjectRow } from '../wire/subject-row.ts';

const OWN_FIELDS = ['subject', 'target', 'verdict', 'standing', 'reason'];

/**
 * The rows that an envelope shows, in the shape of a fleet's rows. The standing is the row's own, else what the runbook
 * declares for the word; without its definition it stays open.
 */
export function envelopeRows(verdicts: unknown, declared: RunbookVerdictsOptions | undefined): SubjectRow[] {
  if (!Array.isArray(verdicts)) return [];
  return verdicts.flatMap((row: unknown, ordinal) => {
    if (!isPlainObject(row) || typeof row.verdict !== 'string') return [];
    const { verdict } = row;
    const standing = readStanding(row.standing) ?? (declared && standingOf(declared, verdict)) ?? fallback(verdict);
    const columns = Object.entries(row).filter(([field]) => !OWN_FIELDS.includes(field));
    return [
      {
        ordinal,
        subject: typeof row.subject === 'string' ? row.subject : `row ${ordinal + 1}`,
        ...(typeof row.target === 'string' && { target: row.target }),
        outcome: verdict === DECLINED_VERDICT || standing === 'declined' ? 'declined' : 'verdict',
        verdict,
        ...(standing !== undefined && { standing }),
        ...(typeof row.reason === 'string' && { reason: row.reason }),
        columns: Object.fromEntries(columns),
      } satisfies SubjectRow,
    ];
  });
}

function readStanding(value: unknown): SubjectRow['standing'] | undefined {
  return value === 'ok' || value === 'problem' || value === 'declined' ? value : undefined;
}

function fallback(verdict: string): SubjectRow['standing'] | undefined {
  return verdict === DECLINED_VERDICT ? 'declined' : undefined;
}
