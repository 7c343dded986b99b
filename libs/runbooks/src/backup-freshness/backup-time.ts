/** Times as backup tools print them. Rule: a time without a zone, in the future or that cannot be read is a stated doubt. */
import { CLOCK_SKEW_SECONDS } from '../inputs/time-fact.ts';
import type { BackupTime } from './backup-facts.ts';

const INSTANT = /^(\d{4,6})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d{1,12})?(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * Reads an RFC 3339 time. The epoch and year 1 are what unset values become: they are kept as times, so that what has no
 * other is old, not young.
 *
 * @param zoneless whether its tool prints local times without a zone: then that is no doubt
 */
export function readBackupTime(value: unknown, now: number, zoneless = false): BackupTime {
  if (value === undefined || value === null || value === '') return { at: null, doubt: 'a backup has no time' };
  const parts = typeof value === 'string' ? INSTANT.exec(value) : null;
  if (parts === null || (parts[1] ?? '').length !== 4)
    return { at: null, doubt: 'the time of a backup cannot be read' };
  const [, , month, day, , , , zone] = parts;
  if (zone === undefined && !zoneless) return { at: null, doubt: 'the time of a backup has no time zone' };
  const text = String(value)
    .replace(' ', 'T')
    .toUpperCase()
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  const at = Date.parse(zone === undefined ? `${text}Z` : text);
  if (Number.isNaN(at) || Number(month) > 12 || Number(day) > 31)
    return { at: null, doubt: 'the time of a backup cannot be read' };
  return inTime(at, zone === undefined, now);
}

/** Seconds since the epoch. */
export function readBackupSeconds(value: unknown, now: number): BackupTime {
  if (typeof value !== 'number' || !Number.isFinite(value))
    return { at: null, doubt: 'the time of a backup cannot be read' };
  return inTime(value * 1000, false, now);
}

/** Zones of the earth are from 12 hours behind UTC to 14 before it. */
const BEHIND_MS = 12 * 3_600_000;
const BEFORE_MS = 14 * 3_600_000;

function inTime(at: number, zoneless: boolean, now: number): BackupTime {
  const earliest = zoneless ? at - BEFORE_MS : at;
  if (earliest > now + CLOCK_SKEW_SECONDS * 1000) return { at: null, doubt: 'the time of a backup lies in the future' };
  return { at, zoneless };
}

/** The least and the most that a backup can be old, in ms; the same where its zone is known. */
export function ageRange(at: number, zoneless: boolean, now: number): { least: number; most: number } {
  const age = Math.max(0, now - at);
  return zoneless ? { least: Math.max(0, age - BEHIND_MS), most: age + BEFORE_MS } : { least: age, most: age };
}
