/**
 * What a parsed value tells of backups, known by its shape: restic, pgBackRest, Velero, borg.
 *
 * Invariant: a value of no known shape is said to be one; nothing is guessed from its place.
 */
import type { BackupEntry, BackupState, BackupTime, BackupTool, ListState } from './backup-facts.ts';
import { readBackupSeconds, readBackupTime } from './backup-time.ts';

type Bag = Readonly<Record<string, unknown>>;

/** What was found. */
export type Finding =
  | { readonly is: 'backup'; readonly entry: BackupEntry }
  /** A place that is told of, whatever backups it has. */
  | {
      readonly is: 'place';
      readonly tool: BackupTool;
      readonly name: string | null;
      readonly list: ListState;
      readonly note?: string;
    }
  /** A line of a log that decides nothing. */
  | { readonly is: 'log' }
  | { readonly is: 'other'; readonly detail: string };

/** Reads one value. @param now ms since the epoch */
export function readEntries(value: unknown, now: number): Finding[] {
  const bag = bagOf(value);
  if (bag === undefined) {
    if (Array.isArray(value)) return value.flatMap((one) => readEntries(one, now));
    return [other('it is no object')];
  }
  if (Array.isArray(bag.items) && (bag.kind === undefined || /List$/.test(String(bag.kind)))) {
    return bag.items.length === 0
      ? [{ is: 'place', tool: 'velero', name: null, list: 'listed' }]
      : bag.items.flatMap((one) => readEntries(one, now));
  }
  if (typeof bag.message_type === 'string') return resticMessage(bag, now);
  if (
    typeof bag.type === 'string' &&
    (typeof bag.levelname === 'string' || /^(?:archive_|progress_|file_status|question_)/.test(bag.type))
  ) {
    return borgLog(bag);
  }
  if (Array.isArray(bag.archives) && bag.repository !== undefined) return borgArchives(bag, now);
  if ('keep' in bag && !('time' in bag)) return [other('it is the result of a policy, not a list of backups')];
  if (bagOf(bag.status)?.code !== undefined && typeof bag.name === 'string') return pgStanza(bag, now);
  if (
    bag.kind === 'Schedule' ||
    bag.kind === 'Backup' ||
    (bagOf(bag.metadata)?.name !== undefined && bag.kind === undefined)
  ) {
    return velero(bag, now);
  }
  if ('time' in bag && ('hostname' in bag || 'paths' in bag || 'tree' in bag)) return [resticSnapshot(bag, now)];
  return [other('it is nothing that restic, pgBackRest, Velero or borg prints of backups')];
}

function other(detail: string): Finding {
  return { is: 'other', detail };
}

function resticSnapshot(bag: Bag, now: number): Finding {
  const paths = Array.isArray(bag.paths) ? bag.paths.map((path) => textOf(path) ?? '?') : [];
  const host = textOf(bag.hostname) ?? 'unknown host';
  const name = `${host}${paths.length > 0 ? `:${paths.slice(0, 3).join(',')}${paths.length > 3 ? ',...' : ''}` : ''}`;
  // `time` is what the snapshot stands for; the summary's times are of the run that made it.
  return { is: 'backup', entry: { tool: 'restic', name, state: 'usable', time: readBackupTime(bag.time, now) } };
}

/** Lines of `restic backup --json`. */
function resticMessage(bag: Bag, now: number): Finding[] {
  const name = 'restic backup';
  if (bag.message_type === 'exit_error' || bag.message_type === 'error') {
    const time: BackupTime = { at: null, doubt: null };
    return [
      {
        is: 'backup',
        entry: { tool: 'restic', name, state: bag.message_type === 'error' ? 'partial' : 'failed', time, errors: 1 },
      },
    ];
  }
  if (bag.message_type === 'summary') {
    const time = readBackupTime(bag.backup_end ?? bag.backup_start, now);
    return [{ is: 'backup', entry: { tool: 'restic', name, state: 'usable', time } }];
  }
  return [{ is: 'log' }];
}

/** Lines of `borg --log-json`. */
function borgLog(bag: Bag): Finding[] {
  const name = null;
  const message = String(bag.message ?? '');
  const place = (list: ListState, note?: string): Finding[] => [
    { is: 'place', tool: 'borg', name, list, ...(note !== undefined && { note }) },
  ];
  if (/complete.*no problems found/i.test(message)) return place('check_clean');
  if (/complete.*problems found|Integrity error|check failed/i.test(message)) return place('check_failed');
  if (bag.levelname === 'ERROR' || bag.levelname === 'CRITICAL') return place('place_unreadable', idOf(bag.msgid));
  return [{ is: 'log' }];
}

function borgArchives(bag: Bag, now: number): Finding[] {
  const repository = bagOf(bag.repository);
  const location = textOf(repository?.location)
    ?.split('/')
    .filter((part) => part !== '')
    .at(-1);
  const name = location ?? textOf(repository?.id)?.slice(0, 16) ?? 'borg repository';
  const archives = bag.archives as unknown[];
  const found = archives.slice(0, MAX_ENTRIES).map((one): Finding => {
    const archive = bagOf(one);
    const time = readBackupTime(archive?.end ?? archive?.time ?? archive?.start, now, true);
    return { is: 'backup', entry: { tool: 'borg', name, state: archive === undefined ? 'unknown' : 'usable', time } };
  });
  return [{ is: 'place', tool: 'borg', name, list: 'listed' }, ...found];
}

const MAX_ENTRIES = 100_000;

/** Codes of `pgbackrest info`: 1 to 3 are a stanza without a backup, 4 is told repository by repository. */
const PG_NOTHING = [1, 2, 3];
const PG_DIFFERS = 4;

function pgStanza(bag: Bag, now: number): Finding[] {
  const name = textOf(bag.name) ?? 'stanza';
  const status = bagOf(bag.status);
  const code = Number(status?.code);
  const held = bagOf(bagOf(status?.lock)?.backup)?.held === true;
  const note = held ? { note: 'a backup is running' } : {};
  if (!Array.isArray(bag.backup)) {
    const list: ListState = PG_NOTHING.includes(code) ? 'listed' : code === 0 ? 'no_list' : 'place_unreadable';
    return [{ is: 'place', tool: 'pgbackrest', name, list, ...note }];
  }
  const repos = Array.isArray(bag.repo) ? bag.repo.map((one) => bagOf(one) ?? {}) : [];
  const nameOf = (key: unknown) => (repos.length > 1 ? `${name} repo${Number(key) || '?'}` : name);
  const places = repos.length > 1 ? repos : [{ key: 1, status: bag.status }];
  const found = places.map((repo): Finding => {
    const own = Number(bagOf(repo.status)?.code ?? code);
    const list: ListState = own === 0 || own === PG_DIFFERS || PG_NOTHING.includes(own) ? 'listed' : 'place_unreadable';
    return { is: 'place', tool: 'pgbackrest', name: nameOf(repo.key), list, ...note };
  });
  const entries = bag.backup.slice(0, MAX_ENTRIES).map((one): Finding => {
    const backup = bagOf(one) ?? {};
    const damaged = backup.error === true || (Array.isArray(backup['error-list']) && backup['error-list'].length > 0);
    const time = readBackupSeconds(bagOf(backup.timestamp)?.stop, now);
    const errors = Array.isArray(backup['error-list']) ? backup['error-list'].length : damaged ? 1 : 0;
    const key = bagOf(backup.database)?.['repo-key'];
    return {
      is: 'backup',
      entry: { tool: 'pgbackrest', name: nameOf(key), state: damaged ? 'damaged' : 'usable', time, errors },
    };
  });
  return [...found, ...entries];
}

const VELERO_PHASES: Readonly<Record<string, BackupState>> = {
  Completed: 'usable',
  PartiallyFailed: 'partial',
  Failed: 'failed',
  FailedValidation: 'failed',
  New: 'running',
  Queued: 'running',
  ReadyToStart: 'running',
  InProgress: 'running',
  WaitingForPluginOperations: 'running',
  Finalizing: 'running',
  WaitingForPluginOperationsPartiallyFailed: 'partial',
  FinalizingPartiallyFailed: 'partial',
};

function velero(bag: Bag, now: number): Finding[] {
  const metadata = bagOf(bag.metadata) ?? {};
  const own = textOf(metadata.name) ?? 'unnamed';
  if (bag.kind === 'Schedule') {
    const paused = bagOf(bag.spec)?.paused === true;
    return [
      { is: 'place', tool: 'velero', name: own, list: 'listed', ...(paused && { note: 'its schedule is paused' }) },
    ];
  }
  const status = bagOf(bag.status) ?? {};
  const phase = typeof status.phase === 'string' ? status.phase : undefined;
  if (phase === 'Deleting') return [{ is: 'log' }];
  const label = textOf(bagOf(metadata.labels)?.['velero.io/schedule-name']);
  const stem = /^(.+?)-\d{8,14}$/.exec(own)?.[1];
  const name = label ?? stem ?? UNSCHEDULED;
  const told = status.completionTimestamp ?? status.startTimestamp ?? metadata.creationTimestamp;
  const state =
    phase === undefined ? 'unknown' : Object.hasOwn(VELERO_PHASES, phase) ? VELERO_PHASES[phase]! : 'unknown';
  const time: BackupTime = told === undefined ? { at: null, doubt: null } : readBackupTime(told, now);
  const count = (value: unknown) => (typeof value === 'number' && value > 0 ? value : 0);
  return [
    {
      is: 'backup',
      entry: { tool: 'velero', name, state, time, errors: count(status.errors), warnings: count(status.warnings) },
    },
  ];
}

/** Backups that belong to no schedule are one subject: any of them may be the newest. */
const UNSCHEDULED = 'backups without a schedule';

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.]{1,60}$/.test(value) ? value : undefined;
}

function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .toWellFormed();
  return text === '' ? null : text;
}

function bagOf(value: unknown): Bag | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Bag) : undefined;
}
