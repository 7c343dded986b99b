/** What the rules compare: facts, made into one value a question. */
import { NONE } from '../judging/assess-by-rules.ts';
import type { DiskFacts } from './disk-facts.ts';
import type { Thresholds } from './thresholds.ts';

/** A count that nobody told. */
export const UNTOLD = -1;

export interface DiskSignals extends Record<string, unknown> {
  passed: 'yes' | 'no' | 'untold';
  exit_says_failing: boolean;
  exit_says_prefail: boolean;
  exit_says_self_test: boolean;
  not_responding: boolean;
  /** Bits of NVMe's critical warning, by their meaning. */
  warns_spare: boolean;
  warns_temperature: boolean;
  warns_reliability: boolean;
  warns_read_only: boolean;
  warns_backup: boolean;
  attributes_failing: number;
  pending: number;
  uncorrectable: number;
  media_errors: number;
  grown_defects: number;
  reallocated: number;
  /** How far the spare is below its threshold, in percent; 0 and below: it is not. */
  spare_short: number;
  used_percent: number;
  /** How much hotter it is than it may be, in degrees; 0 and below: it is not. */
  degrees_over: number;
  self_test: 'passed' | 'failed' | 'untold';
  nature: string;
  doubt: string;
}

/** Bits of smartctl's exit status that speak of now; 5 and 6 are history. */
const DISK_FAILING = 8;
const PREFAIL_NOW = 16;
const SELF_TEST_ERRORS = 128;

/** NVM Express base specification, SMART / Health Information, critical warning. */
const WARNS = { spare: 1, temperature: 2, reliability: 4, read_only: 8, backup: 16, persistent_memory: 32 } as const;

export function readSignals(disk: DiskFacts, thresholds: Thresholds): DiskSignals {
  const exit = disk.exit_status ?? 0;
  const warning = disk.critical_warning ?? 0;
  const warns = (bit: number) => (warning & bit) !== 0;
  return {
    passed: disk.passed === null ? 'untold' : disk.passed ? 'yes' : 'no',
    exit_says_failing: (exit & DISK_FAILING) !== 0,
    exit_says_prefail: (exit & PREFAIL_NOW) !== 0,
    exit_says_self_test: (exit & SELF_TEST_ERRORS) !== 0,
    not_responding: disk.not_responding,
    warns_spare: warns(WARNS.spare),
    warns_temperature: warns(WARNS.temperature),
    warns_reliability: warns(WARNS.reliability) || warns(WARNS.persistent_memory),
    warns_read_only: warns(WARNS.read_only),
    warns_backup: warns(WARNS.backup),
    attributes_failing: disk.attributes_failing,
    pending: disk.pending ?? UNTOLD,
    uncorrectable: disk.uncorrectable ?? UNTOLD,
    media_errors: disk.media_errors ?? UNTOLD,
    grown_defects: disk.grown_defects ?? UNTOLD,
    reallocated: disk.reallocated ?? UNTOLD,
    spare_short: disk.spare === null || disk.spare_threshold === null ? 0 : disk.spare_threshold - disk.spare,
    used_percent: disk.used_percent ?? UNTOLD,
    degrees_over: disk.temperature === null ? 0 : disk.temperature - temperatureLimit(disk, thresholds),
    self_test: disk.self_test ?? 'untold',
    nature: disk.nature,
    doubt: disk.doubt ?? disk.clock_doubt ?? NONE,
  };
}

/** The run's limit for its kind of drive, or the drive's own where that is lower. */
export function temperatureLimit({ protocol, temperature_trip }: DiskFacts, thresholds: Thresholds): number {
  const own = protocol === 'NVMe' ? thresholds.max_temperature_nvme : thresholds.max_temperature;
  return temperature_trip === null ? own : Math.min(own, temperature_trip);
}
