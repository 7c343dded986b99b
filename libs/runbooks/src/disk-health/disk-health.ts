/** disk_health: one verdict a disk, from what `smartctl -j` prints. */
import type { RunbookDeclaration } from '@muster/envelope';
import { instantText, MISSING_GAP, staleGap } from '../inputs/evidence-gap.ts';
import { INPUT_FILE_TOOL } from '../inputs/open-input.ts';
import { assessDisk, DECIDER } from './assess-disk.ts';
import { type DiskSubject, diskIdentity, subjectKey } from './disk-facts.ts';
import { diskInput } from './disk-input.ts';
import { planDisks } from './plan-disks.ts';
import { DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { WORDS } from './verdicts.ts';

export const diskHealth: RunbookDeclaration<DiskSubject> = {
  name: 'disk_health',
  version: '1.0.0',
  description:
    'Judges disks by what smartctl -j prints (SATA, SAS, NVMe, behind RAID controllers): failing, pending and reallocated sectors, media errors, spare, wear, temperature, self-tests.',
  resultKind: 'verdict/disk-health',
  rules: { name: 'disk-health', version: '1.0.0', list: DEFAULT_RULES, otherwise: OTHERWISE },
  verdicts: { decider: DECIDER, standings: WORDS.standings },
  composedOf: [INPUT_FILE_TOOL],
  input: diskInput,
  fleet: {
    plan: planDisks,
    key: subjectKey,
    identity: (subject) => (subject.kind === 'disk' ? diskIdentity(subject) : subjectKey(subject)),
    target: (subject) => (subject.kind === 'missing' ? undefined : subject.target),
    gap: (subject, args) => {
      if (subject.kind === 'missing') return MISSING_GAP;
      return subject.kind === 'disk' ? staleGap(subject.observed_at, args) : undefined;
    },
    assess: assessDisk,
    row: diskRow,
  },
};

/** The columns of a row. Every row has the same ones. */
export function diskRow(state: Readonly<Record<string, unknown>>, subject: DiskSubject) {
  const reason = typeof state.reason === 'string' && { reason: state.reason };
  const of = <Key extends keyof Extract<DiskSubject, { kind: 'disk' }>>(key: Key) =>
    subject.kind === 'disk' ? subject[key] : null;
  return {
    ...reason,
    host: subject.kind === 'missing' ? null : (subject.target ?? null),
    device: of('device'),
    model: of('model'),
    serial: of('serial'),
    protocol: of('protocol'),
    temperature: of('temperature'),
    power_on_hours: of('power_on_hours'),
    reallocated: of('reallocated'),
    pending: of('pending'),
    uncorrectable: of('uncorrectable'),
    grown_defects: of('grown_defects'),
    media_errors: of('media_errors'),
    spare_percent: of('spare'),
    used_percent: of('used_percent'),
    observed_at: subject.kind === 'disk' ? instantText(subject.observed_at) : null,
  };
}
