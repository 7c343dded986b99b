/** What a run of disk_health takes: a closed object. */
import { z } from 'zod';
import { inputFields } from '../inputs/input-fields.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';

const allowed = (what: string, key: keyof Thresholds) =>
  z.int().min(0).max(1_000_000_000).optional().describe(`${what}. Default ${DEFAULT_THRESHOLDS[key]}.`);

export const diskInput = z.strictObject({
  ...inputFields({ target: 'host', subjects: 'disks' }),
  pending_allowed: allowed('Sectors that may wait to be reallocated', 'pending_allowed'),
  uncorrectable_allowed: allowed('Sectors that may be uncorrectable', 'uncorrectable_allowed'),
  reallocated_allowed: allowed('Sectors that may be reallocated', 'reallocated_allowed'),
  grown_defects_allowed: allowed('Defects that a SAS disk may have grown', 'grown_defects_allowed'),
  media_errors_allowed: allowed('Errors that an NVMe or SAS disk may not have corrected', 'media_errors_allowed'),
  wear_limit_percent: allowed('Share of its rated endurance at which a disk is worn, in percent', 'wear_limit_percent'),
  max_temperature: allowed(
    'What a SATA or SAS disk may have, in °C; its own limit where that is lower',
    'max_temperature',
  ),
  max_temperature_nvme: allowed('What an NVMe disk may have, in °C', 'max_temperature_nvme'),
});

export type DiskInput = z.infer<typeof diskInput>;
