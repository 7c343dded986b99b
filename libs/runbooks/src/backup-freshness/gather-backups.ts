/** Entries of one input, gathered by subject. The newest decides, not the first; order in the input says nothing. */
import type { BackupEntry, BackupFacts, BackupState, BackupTool, ListState } from './backup-facts.ts';

interface Gathered {
  tool: BackupTool | null;
  list: ListState;
  backups: number;
  usableAt: number | null;
  usableZoneless: boolean;
  newestState: BackupState | null;
  newestAt: number | null;
  newestErrors: number;
  warnings: number;
  doubt: string | null;
  notes: string[];
}

/** The subjects of one input. */
export class GatheredBackups {
  readonly #subjects = new Map<string, Gathered>();
  readonly #place: string;
  readonly #target: string | undefined;
  readonly #observedAt: number | null;

  /** @param place what a place that has no name of its own is called */
  constructor(place: string, target: string | undefined, observedAt: number | null) {
    this.#place = place;
    this.#target = target;
    this.#observedAt = observedAt;
  }

  get size(): number {
    return this.#subjects.size;
  }

  place(tool: BackupTool | null, name: string | null, list: ListState, note?: string): void {
    const subject = this.#of(name ?? this.#place, tool);
    if (LIST_RANK.indexOf(list) > LIST_RANK.indexOf(subject.list)) subject.list = list;
    if (note !== undefined && !subject.notes.includes(note)) subject.notes.push(note);
  }

  add({ errors = 0, name, state, time, tool, warnings = 0 }: BackupEntry): void {
    const subject = this.#of(name, tool);
    subject.backups++;
    if (time.at === null) {
      // One that tells no time may be the newest: it is not passed over.
      if (time.doubt !== null) subject.doubt ??= time.doubt;
      if (subject.newestAt === null) Object.assign(subject, { newestState: state, newestErrors: errors });
      return;
    }
    if (subject.newestAt === null || time.at >= subject.newestAt) {
      Object.assign(subject, { newestAt: time.at, newestState: state, newestErrors: errors });
    }
    if (state === 'usable' && (subject.usableAt === null || time.at >= subject.usableAt)) {
      Object.assign(subject, { usableAt: time.at, usableZoneless: time.zoneless, warnings });
    }
  }

  /** Text stood behind the output: what it says may not be all. */
  doubtAll(doubt: string): void {
    for (const subject of this.#subjects.values()) subject.doubt ??= doubt;
  }

  *facts(): Generator<BackupFacts> {
    for (const [name, subject] of this.#subjects) {
      yield {
        kind: 'backup',
        ...(this.#target !== undefined && { target: this.#target }),
        name,
        tool: subject.tool,
        list: subject.list,
        backups: subject.backups,
        usable_at: subject.usableAt,
        usable_zoneless: subject.usableZoneless,
        newest_state: subject.newestState,
        newest_at: subject.newestAt,
        newest_errors: subject.newestErrors,
        warnings: subject.warnings,
        doubt: subject.doubt,
        notes: subject.notes,
        observed_at: this.#observedAt,
      };
    }
  }

  #of(name: string, tool: BackupTool | null): Gathered {
    let subject = this.#subjects.get(name);
    if (subject === undefined) {
      subject = {
        tool,
        list: 'listed',
        backups: 0,
        usableAt: null,
        usableZoneless: false,
        newestState: null,
        newestAt: null,
        newestErrors: 0,
        warnings: 0,
        doubt: null,
        notes: [],
      };
      this.#subjects.set(name, subject);
    }
    return subject;
  }
}

/** What counts where several lines tell of one place, the later ones over the earlier. */
const LIST_RANK: readonly ListState[] = [
  'listed',
  'check_clean',
  'no_list',
  'no_output',
  'place_unreadable',
  'check_failed',
  'expected_missing',
];

/** A subject that the run's inventory names and no input tells of. */
export function expectedMissing(name: string): BackupFacts {
  const gathered = new GatheredBackups(name, undefined, null);
  gathered.place(null, name, 'expected_missing');
  return gathered.facts().next().value as BackupFacts;
}
