/**
 * When distributions stop getting security updates that everybody has: the last day, from the distributors' own pages as
 * they stood in November 2026. Support that must be bought is not counted. A release that is not listed is not judged.
 */
import type { ReleaseFact } from './host-facts.ts';

const LAST_DAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ubuntu: {
    '12.04': '2017-04-28',
    '14.04': '2019-04-25',
    '16.04': '2021-04-30',
    '18.04': '2023-05-31',
    '20.04': '2025-05-31',
    '22.04': '2027-04-30',
    '23.04': '2024-01-25',
    '23.10': '2024-07-11',
    '24.04': '2029-05-31',
    '24.10': '2025-07-10',
    '25.04': '2026-01-15',
    '26.04': '2031-05-31',
  },
  // The end of long-term support, which is free.
  debian: {
    '7': '2018-05-31',
    '8': '2020-06-30',
    '9': '2022-06-30',
    '10': '2024-06-30',
    '11': '2026-08-31',
    '12': '2028-06-30',
    '13': '2030-06-30',
  },
  centos: { '5': '2017-03-31', '6': '2020-11-30', '7': '2024-06-30', '8': '2021-12-31' },
  'centos-stream': { '8': '2024-05-31', '9': '2027-05-31' },
  rhel: {
    '5': '2017-03-31',
    '6': '2020-11-30',
    '7': '2024-06-30',
    '8': '2029-05-31',
    '9': '2032-05-31',
    '10': '2035-05-31',
  },
  rocky: { '8': '2029-05-31', '9': '2032-05-31', '10': '2035-05-31' },
  almalinux: { '8': '2029-03-01', '9': '2032-05-31', '10': '2035-05-31' },
  ol: { '6': '2021-03-31', '7': '2024-12-31', '8': '2029-07-31', '9': '2032-06-30' },
  fedora: { '38': '2024-05-21', '39': '2024-11-26', '40': '2025-05-13' },
  sles: { '11': '2019-03-31', '12': '2024-10-31', '15': '2031-07-31' },
  'opensuse-leap': { '15.3': '2022-12-31', '15.4': '2023-12-07', '15.5': '2024-12-31' },
  amzn: { '2018.03': '2023-12-31', '2': '2026-06-30' },
};

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^Ubuntu\b/, 'ubuntu'],
  [/^Debian GNU\/Linux\b/, 'debian'],
  [/^CentOS Stream\b/, 'centos-stream'],
  [/^CentOS(?: Linux)?\b/, 'centos'],
  [/^Red Hat Enterprise Linux\b/, 'rhel'],
  [/^Rocky Linux\b/, 'rocky'],
  [/^AlmaLinux\b/, 'almalinux'],
  [/^Oracle Linux\b/, 'ol'],
  [/^Fedora(?: Linux)?\b/, 'fedora'],
  [/^SUSE Linux Enterprise Server\b/, 'sles'],
  [/^openSUSE Leap\b/, 'opensuse-leap'],
  [/^Amazon Linux\b/, 'amzn'],
];

/** The release that a name for people tells: `Ubuntu 22.04.4 LTS`, `CentOS Linux release 7.9.2009 (Core)`. */
export function readReleaseName(text: string): ReleaseFact | undefined {
  const id = NAMES.find(([pattern]) => pattern.test(text))?.[1];
  const version = /\b(\d{1,4}(?:\.\d{1,2})?)/.exec(text)?.[1];
  return id === undefined || version === undefined ? undefined : { id, version };
}

/** The last instant of support in ms, or undefined for a release that is not listed. */
export function supportEnd({ id, version }: ReleaseFact): number | undefined {
  const known = Object.hasOwn(LAST_DAYS, id) ? LAST_DAYS[id]! : undefined;
  if (known === undefined) return undefined;
  const day = [version, version.split('.')[0]!].find((one) => Object.hasOwn(known, one));
  return day === undefined ? undefined : Date.parse(`${known[day]}T23:59:59Z`);
}
