/** What runs and what is installed: needrestart, kernels, the distribution itself. */
import { readReleaseName } from './support-dates.ts';
import { type LineRule, noise, packageName, type Transcript } from './transcript.ts';

/** needrestart's README.batch: 0 unknown, 1 none pending, 2 pending without a change of the ABI, 3 a new version pending. */
const KERNEL_STATES: Readonly<Record<string, (seen: Transcript) => void>> = {
  0: (seen) => seen.needReboot('unknown', 'needrestart cannot tell whether the newest kernel runs'),
  1: (seen) => seen.needReboot('not_needed', 'the newest kernel runs'),
  2: (seen) => seen.needReboot('required', 'a rebuilt kernel is installed and does not run yet'),
  3: (seen) => seen.needReboot('required', 'a newer kernel is installed and does not run yet'),
};

function takeBatch([, field = '', value = '']: RegExpExecArray, seen: Transcript): void {
  seen.source('needrestart');
  seen.services ??= 0;
  if (field === 'KSTA') (KERNEL_STATES[value.trim()] ?? KERNEL_STATES[0]!)(seen);
  if (field === 'UCSTA' && value.trim() === '2') seen.needReboot('required', 'newer processor microcode is installed');
  if (field === 'SVC' || field === 'CONT') seen.services++;
}

/** `rpm -q --last kernel`: the newest by the time of its installation, and when that cannot be read, the first. */
function takeKernel([, flavour = '', version = '', when = '']: RegExpExecArray, seen: Transcript): void {
  seen.source('rpm_kernels');
  const at = Date.parse(when.trim());
  if (seen.kernels.length < MAX_KERNELS) seen.kernels.push({ flavour, version, at: Number.isNaN(at) ? null : at });
}

const MAX_KERNELS = 100;

export const RESTART_LINES: readonly LineRule[] = [
  { pattern: /^NEEDRESTART-([A-Z]+): ?(.*)$/, take: takeBatch },
  {
    pattern: /^Pending kernel upgrade!/,
    take: (_, seen) => {
      seen.source('needrestart');
      seen.needReboot('required', 'a newer kernel is installed and does not run yet');
    },
  },
  {
    pattern: /^Running kernel seems to be up-to-date/,
    take: (_, seen) => {
      seen.source('needrestart');
      seen.needReboot('not_needed', 'the newest kernel runs');
    },
  },
  {
    pattern: /^No services need to be restarted/,
    take: (_, seen) => {
      seen.source('needrestart');
      seen.services ??= 0;
    },
  },
  {
    pattern: /^(?:Services to be restarted|Restarting services)(?::|\.\.\.)/,
    take: (_, seen) => {
      seen.source('needrestart');
      seen.services ??= 0;
      seen.block = 'services';
    },
  },
  noise(/^(?:No containers need to be|No user sessions are running|The processor microcode seems|No VM guests are)/),
  noise(/^(?:Scanning (?:processes|linux images|candidates|processor microcode)|Service restarts being deferred)/),
  {
    pattern: /^running(?: kernel)?:\s*(\S{1,128})\s*$/i,
    take: ([, version], seen) => {
      seen.source('rpm_kernels');
      seen.runningKernel = version;
    },
  },
  {
    pattern: /^Linux \S+ (\d\S{1,127}) /,
    take: ([, version], seen) => {
      seen.source('rpm_kernels');
      seen.runningKernel = version;
    },
  },
  { pattern: /^\s*(kernel(?:-[a-z]+)*)-(\d\S{1,127})\s{1,80}(\S.*\d{4}.*)$/, take: takeKernel },
  {
    pattern: /^ID="?([a-z0-9._-]{1,40})"?\s*$/,
    take: ([, id], seen) => {
      seen.source('os_release');
      seen.osId = id;
    },
  },
  {
    pattern: /^VERSION_ID="?([\w.-]{1,20})"?\s*$/,
    take: ([, version], seen) => {
      seen.source('os_release');
      seen.osVersion = version;
    },
  },
  {
    pattern:
      /^(?:PRETTY_NAME="?|Description:\s+|Welcome to )?([A-Z][A-Za-z/ ]{2,40}? (?:release |Stream )*\d[\w.]*.*)$/,
    take: ([, text = ''], seen) => {
      const release = readReleaseName(text);
      if (release === undefined) return false;
      seen.source('os_release');
      seen.release ??= release;
      return true;
    },
  },
  noise(
    /^(?:NAME|VERSION|VERSION_CODENAME|ID_LIKE|HOME_URL|SUPPORT_URL|BUG_REPORT_URL|PRIVACY_POLICY_URL|UBUNTU_CODENAME|LOGO|ANSI_COLOR|CPE_NAME|PLATFORM_ID|VARIANT(?:_ID)?|REDHAT_[A-Z_]+|PRETTY_NAME|DOCUMENTATION_URL|RELEASE_TYPE|SUPPORT_END|DEFAULT_HOSTNAME|BUILD_ID|IMAGE_(?:ID|VERSION))=/,
  ),
  noise(/^(?:Distributor ID|Release|Codename):\s|^No LSB modules are available/),
];

/** Whether the newest installed kernel runs, once all lines are read. */
export function judgeKernels(seen: Transcript): void {
  const running = seen.runningKernel;
  if (running === undefined || seen.kernels.length === 0) return;
  const flavour = seen.kernels.filter((kernel) => sameFlavour(kernel.flavour, running));
  const candidates = flavour.length > 0 ? flavour : seen.kernels;
  const dated = candidates.every((kernel) => kernel.at !== null);
  const newest = dated ? candidates.reduce((best, kernel) => (kernel.at! > best.at! ? kernel : best)) : candidates[0]!;
  if (isRunning(newest.version, running)) seen.needReboot('not_needed', 'the newest kernel runs');
  else if (packageName(newest.version) === undefined) seen.needReboot('unknown', 'the kernels cannot be told apart');
  else seen.needReboot('required', 'a newer kernel is installed and does not run yet');
}

function sameFlavour(flavour: string, running: string): boolean {
  const word = flavour.split('-').at(-1) ?? '';
  if (word === 'uek') return running.includes('uek');
  if (word === 'default' || word === 'rt' || word === 'azure') return running.endsWith(`-${word}`);
  return !running.includes('uek');
}

/** SUSE runs `4.4.74-92.35-default` from the package `4.4.74-92.35.1.x86_64`; others have one name for both. */
function isRunning(installed: string, running: string): boolean {
  const plain = running.replace(/-(?:default|rt|azure)$/, '');
  return installed === running || (plain !== running && (installed === plain || installed.startsWith(`${plain}.`)));
}
