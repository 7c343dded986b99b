/** Lines of dnf and yum: check-update, updateinfo, needs-restarting. */
import { type LineRule, noise, packageName, type Transcript } from './transcript.ts';

const ARCH = '(?:noarch|x86_64|i[3-6]86|aarch64|ppc64le|ppc64|s390x|armv7hl|src)';

function takeUpdate(name: string | undefined, seen: Transcript): boolean {
  seen.source('dnf_check');
  seen.wrapped = undefined;
  if (seen.block === 'obsoleting') seen.obsoleting++;
  else seen.name(packageName(name ?? '') ?? `unnamed ${seen.named.size}`, false);
  return true;
}

function takeAdvisory(kind: string, name: string | undefined, seen: Transcript): void {
  seen.source('dnf_advisories');
  seen.tellsSecurity = true;
  seen.name(packageName(name ?? '') ?? `unnamed ${seen.named.size}`, /sec/i.test(kind));
}

function compareKernels(seen: Transcript): void {
  if (seen.installedKernel === undefined || seen.currentKernel === undefined) return;
  if (seen.installedKernel === seen.currentKernel) seen.needReboot('not_needed', 'the newest kernel runs');
  else seen.needReboot('required', 'an installed kernel with a security update does not run yet');
}

export const DNF_LINES: readonly LineRule[] = [
  {
    pattern: /^Last metadata expiration check: (?:(\d{1,4}) days?, )?(\d{1,3}):(\d\d):(\d\d) ago/,
    take: ([, days = '0', hours, minutes, seconds], seen) => {
      seen.source('dnf_check');
      seen.indexAge = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
    },
  },
  {
    pattern: /^Obsoleting Packages\s*$/,
    take: (_, seen) => {
      seen.source('dnf_check');
      seen.block = 'obsoleting';
    },
  },
  {
    pattern: /^Security: (\S{1,200}) is an installed security update/,
    take: ([, kernel], seen) => {
      seen.source('dnf_check');
      seen.installedKernel = kernel;
      compareKernels(seen);
    },
  },
  {
    pattern: /^Security: (\S{1,200}) is the currently running version/,
    take: ([, kernel], seen) => {
      seen.source('dnf_check');
      seen.currentKernel = kernel;
      compareKernels(seen);
    },
  },
  {
    pattern: new RegExp(`^([A-Za-z0-9][\\w.+-]{0,127})\\.${ARCH}\\s+\\S*\\d\\S*\\s+@?\\S+\\s*$`),
    take: ([, name], seen) => takeUpdate(name, seen),
  },
  {
    pattern: new RegExp(`^([A-Za-z0-9][\\w.+-]{0,127})\\.${ARCH}\\s*$`),
    take: ([, name], seen) => {
      seen.wrapped = name;
    },
  },
  {
    pattern: /^\s+\S*\d\S*\s+@?\S+\s*$/,
    take: (_, seen) => seen.wrapped !== undefined && takeUpdate(seen.wrapped, seen),
  },
  // The packages that an obsoleting one takes the place of are indented.
  { pattern: /^\s+\S/, take: (_, seen) => seen.block === 'obsoleting' },
  noise(/^i\s+[A-Z][A-Z0-9]*[-:]\d{4}/),
  {
    pattern:
      /^[A-Z][A-Z0-9-]*[-:]\d{4}[-:][\w:.-]+\s+(security|bugfix|enhancement|newpackage|unspecified)\b\s*(?:\S+\s+)?(\S+)/,
    take: ([, kind = '', name], seen) => takeAdvisory(kind, name, seen),
  },
  {
    pattern: /^[A-Z][A-Z0-9-]*[-:]\d{4}[-:][\w:.-]+\s+(\S*\/Sec\.?)\s+(\S+)\s*$/,
    take: ([, kind = '', name], seen) => takeAdvisory(kind, name, seen),
  },
  {
    pattern: /^No security updates needed(?:, but (\d{1,7}) updates? available)?/,
    take: ([, all = '0'], seen) => {
      seen.source('dnf_check');
      seen.claim(Number(all), 0);
    },
  },
  {
    pattern: /^(\d{1,7}) packages? needed for security(?:, out of (\d{1,7}) available)?/,
    take: ([, security, all = security], seen) => {
      seen.source('dnf_check');
      seen.claim(Number(all), Number(security));
    },
  },
  {
    pattern: /^(?:No packages marked for update|Nothing to do\.?\s*$)/,
    take: (_, seen) => {
      seen.source('dnf_check');
      seen.claim(0);
    },
  },
  {
    pattern: /^Reboot is (?:required|suggested|needed)\b|Reboot is (?:suggested|required)/,
    take: (_, seen) => {
      seen.source('needs_restarting');
      seen.needReboot('required', 'libraries or services that need a restart were updated');
    },
  },
  {
    pattern:
      /^(?:Reboot should not be necessary|Reboot is probably not necessary|No core libraries or services have been)/,
    take: (_, seen) => {
      seen.source('needs_restarting');
      seen.needReboot('not_needed', 'nothing that needs a restart was updated');
    },
  },
  {
    pattern: /^Core libraries or services have been updated/,
    take: (_, seen) => {
      seen.source('needs_restarting');
      seen.needReboot('required', 'libraries or services that need a restart were updated');
      seen.block = 'other';
    },
  },
  noise(/^More information: https?:|^Since dnf |^Subscription Manager|^Updating Subscription/),
  noise(/^(?:Loaded plugins:|Loading mirror speeds|Updating and loading repositories|Repositories loaded|Not root,)/),
  noise(/^ \* \S+: \S+$/),
  {
    pattern:
      /^(?:Failed to (?:download|synchronize)|Errors? during downloading|Cannot (?:download|retrieve|find a valid))/,
    take: (_, seen) => {
      seen.source('dnf_check');
      seen.indexDoubt ??= 'fetch_failed';
    },
  },
  {
    pattern: /^Error: /,
    take: (_, seen) => {
      seen.doubt ??= 'error';
    },
  },
  {
    pattern: /^(?:Existing lock |Another app is currently holding the (?:yum|dnf) lock|Waiting for process with pid)/,
    take: (_, seen) => {
      seen.source('dnf_check');
      seen.doubt ??= 'locked';
    },
  },
];
