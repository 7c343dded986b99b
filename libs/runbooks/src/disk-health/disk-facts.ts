/**
 * What is judged of a disk, out of what `smartctl -j` printed about it.
 *
 * Invariants:
 * - a number that is not there is null, never 0; one that is no number is a doubt;
 * - nothing else of the document is kept: no logs, no tables.
 */
import type { MissingSubject } from '../inputs/evidence-gap.ts';
import type { UnreadInput } from '../inputs/unread-input.ts';

/** Why a document tells nothing of a disk's health. */
export type DiskNature =
  /** It does. */
  'health' | 'standby' | 'not_opened' | 'command_line' | 'info_only' | 'no_smart' | 'no_data' | 'no_health';

export interface DiskFacts {
  readonly kind: 'disk';
  readonly target: string;
  /** Without `/dev/`, with the number behind a controller: `sda[megaraid,3]`. */
  readonly device: string | null;
  readonly model: string | null;
  readonly serial: string | null;
  readonly protocol: string | null;
  readonly nature: DiskNature;
  /** The device was there and did not answer its commands. */
  readonly not_responding: boolean;
  /** smartctl's exit status, a bitmask. */
  readonly exit_status: number | null;
  /** What the disk says of itself. */
  readonly passed: boolean | null;
  /** NVMe's critical warning, a bitmask. */
  readonly critical_warning: number | null;
  /** An attribute, or more, is below its threshold now. */
  readonly attributes_failing: number;
  readonly reallocated: number | null;
  readonly pending: number | null;
  readonly uncorrectable: number | null;
  readonly grown_defects: number | null;
  readonly media_errors: number | null;
  readonly spare: number | null;
  readonly spare_threshold: number | null;
  readonly used_percent: number | null;
  readonly temperature: number | null;
  /** The temperature at which the drive itself trips. */
  readonly temperature_trip: number | null;
  readonly power_on_hours: number | null;
  readonly self_test: 'passed' | 'failed' | null;
  readonly link_errors: number | null;
  readonly observed_at: number | null;
  /** A value that could not be read, as a clause. */
  readonly doubt: string | null;
  readonly clock_doubt: string | null;
  /** Other names under which the same serial number was seen. */
  readonly also_as: readonly string[];
}

export type DiskSubject = DiskFacts | UnreadInput | MissingSubject;

/** Host, device and serial number, as far as they are known: a host may have two disks of one name over time. */
export function subjectKey(subject: DiskSubject): string {
  if (subject.kind === 'missing') return subject.name;
  if (subject.kind === 'unread') {
    return subject.target === undefined ? subject.input : `${subject.target}/${subject.input}`;
  }
  return [subject.target, subject.device, subject.serial].filter((part) => part !== null).join('/');
}

/** The disk itself: a new controller or another port is not another disk. */
export function diskIdentity(disk: DiskFacts): string {
  return disk.serial === null ? subjectKey(disk) : `${disk.target}/${disk.serial}`;
}
