/**
 * What is known of the backups of one subject: the newest usable one, and the newest attempt.
 *
 * Invariants:
 * - only a backup that its tool calls complete is usable; a partial, failed, damaged or running one never is;
 * - a time without a zone stays what it is: the rules ask whether it is old whatever the zone.
 */
import type { UnreadInput } from '../inputs/unread-input.ts';

export type BackupTool = 'restic' | 'pgbackrest' | 'velero' | 'borg';

/** How one backup ended. */
export type BackupState = 'usable' | 'partial' | 'failed' | 'running' | 'damaged' | 'unknown';

/** Why there is nothing to judge an age by. */
export type ListState =
  /** There is a list, maybe an empty one. */
  | 'listed'
  /** The output tells of the place and has no list. */
  | 'no_list'
  /** The place could not be read. */
  | 'place_unreadable'
  /** The tool printed nothing. */
  | 'no_output'
  /** It was expected, and no input tells of it. */
  | 'expected_missing'
  | 'check_clean'
  | 'check_failed';

export interface BackupFacts {
  readonly kind: 'backup';
  readonly target?: string;
  /** The host and paths, stanza, schedule or repository. */
  readonly name: string;
  readonly tool: BackupTool | null;
  readonly list: ListState;
  readonly backups: number;
  /** ms since the epoch, of the end where it is told. */
  readonly usable_at: number | null;
  /** Its time has no zone: it is meant in some zone of the earth. */
  readonly usable_zoneless: boolean;
  readonly newest_state: BackupState | null;
  readonly newest_at: number | null;
  readonly newest_errors: number;
  readonly warnings: number;
  /** A clause of ours: a time that is none, or in the future; text behind the output. */
  readonly doubt: string | null;
  readonly notes: readonly string[];
  readonly observed_at: number | null;
}

export type BackupSubject = BackupFacts | UnreadInput;

/** The name, with the target in front. */
export function subjectKey(subject: BackupSubject): string {
  const name = subject.kind === 'backup' ? subject.name : subject.input;
  return subject.target === undefined ? name : `${subject.target}/${name}`;
}

/** One backup as its tool told it. */
export interface BackupEntry {
  readonly tool: BackupTool;
  readonly name: string;
  readonly state: BackupState;
  readonly time: BackupTime;
  readonly errors?: number;
  readonly warnings?: number;
}

/** A time, or why it is none. */
export type BackupTime =
  | { readonly at: number; readonly zoneless: boolean }
  | { readonly at: null; readonly doubt: string | null };
