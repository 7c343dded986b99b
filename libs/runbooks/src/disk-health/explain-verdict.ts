/** A verdict as a sentence for the person on call, made of facts alone; history stands behind it as notes. */
import type { DiskFacts, DiskNature } from './disk-facts.ts';
import { temperatureLimit } from './disk-signals.ts';
import type { Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

type Explain = (disk: DiskFacts, limits: Thresholds) => string;

/** The sentence and its notes. */
export function explainVerdict(verdict: Verdict, disk: DiskFacts, limits: Thresholds): string {
  return [EXPLAIN[verdict](disk, limits), ...notesOf(verdict, disk)].join('; ');
}

const EXPLAIN: Readonly<Record<Verdict, Explain>> = {
  failing: ({ exit_status, passed }) =>
    passed === false
      ? `the disk says that it fails${((exit_status ?? 0) & 8) === 0 ? ', and smartctl’s exit status does not' : ''}`
      : 'smartctl says that it fails (exit status bit 3), and the disk says that it passed',
  read_only: () => 'it takes no writes any more',
  degraded: () => 'its reliability is degraded by errors of its media or of its own',
  backup_failed: () => 'the backup of its volatile memory has failed: a power cut may cost data',
  not_responding: () => 'it is there and does not answer its commands',
  prefail: ({ attributes_failing }) =>
    attributes_failing > 0
      ? `${attributes_failing} attribute${attributes_failing === 1 ? ' is' : 's are'} below the threshold now`
      : 'smartctl found an attribute below its threshold (exit status bit 4)',
  pending_sectors: ({ pending }) => `${pending} sectors could not be read and wait to be reallocated`,
  uncorrectable_sectors: ({ uncorrectable }) => `${uncorrectable} sectors could not be corrected`,
  media_errors: ({ media_errors }) => `${media_errors} errors could not be corrected`,
  grown_defects: ({ grown_defects }) => `${grown_defects} defects have grown since it was made`,
  reallocated_sectors: ({ reallocated }) => `${reallocated} sectors were reallocated`,
  spare_low: ({ spare, spare_threshold }) =>
    `${spare ?? '?'} % spare capacity is left, and ${spare_threshold ?? '?'} % is the least`,
  worn: ({ used_percent }) =>
    `${used_percent === 255 ? '255 % or more' : `${used_percent} %`} of its rated endurance is used`,
  hot: (disk, limits) =>
    disk.temperature === null
      ? 'it warns of its temperature'
      : `${disk.temperature} °C${disk.temperature > temperatureLimit(disk, limits) ? `, and ${temperatureLimit(disk, limits)} °C is the most` : ': it warns of its temperature'}`,
  self_test_failed: ({ self_test }) =>
    self_test === 'failed' ? 'its newest self-test failed' : 'the log of its self-tests has errors (exit status bit 7)',
  healthy: ({ passed }) => (passed === true ? 'it says that it is well' : 'it warns of nothing'),
  declined: ({ nature, doubt, clock_doubt }) => doubt ?? clock_doubt ?? NATURES[nature],
};

const NATURES: Readonly<Record<DiskNature, string>> = {
  health: 'it does not say whether it is well',
  standby: 'it was in standby, and was not woken to be asked',
  not_opened: 'it could not be opened (smartctl exit status bit 1)',
  command_line: 'smartctl could not be asked so (exit status bit 0)',
  info_only: 'it is the description of a device, without its health; run smartctl with -a',
  no_smart: 'it has no SMART, or it is turned off: a logical volume or a virtual disk, or a bridge that hides it',
  no_data: 'there is nothing but the name of a device',
  no_health: 'its attributes are there, and whether it is well is not',
};

function notesOf(verdict: Verdict, disk: DiskFacts): string[] {
  const exit = disk.exit_status ?? 0;
  const notes: string[] = [];
  const add = (condition: boolean, note: string) => condition && notes.push(note);
  add(verdict !== 'reallocated_sectors' && (disk.reallocated ?? 0) > 0, `${disk.reallocated} reallocated`);
  add(verdict !== 'grown_defects' && (disk.grown_defects ?? 0) > 0, `${disk.grown_defects} grown defects`);
  add(verdict !== 'pending_sectors' && (disk.pending ?? 0) > 0, `${disk.pending} pending`);
  add(
    verdict !== 'spare_low' && disk.spare !== null && disk.spare < (disk.spare_threshold ?? 0),
    `${disk.spare} % spare`,
  );
  add((exit & 32) !== 0, 'an attribute was below its threshold in the past');
  add((exit & 64) !== 0, 'its error log has entries');
  add(verdict !== 'self_test_failed' && (exit & 128) !== 0, 'its self-test log has errors');
  add((disk.link_errors ?? 0) > 0, `${disk.link_errors} errors of its link`);
  add(
    verdict === 'healthy' && disk.passed === true && disk.used_percent !== null && disk.used_percent >= 80,
    `${disk.used_percent} % of its endurance is used`,
  );
  add(disk.also_as.length > 0, `seen as ${disk.also_as.join(', ')} too`);
  return notes;
}
