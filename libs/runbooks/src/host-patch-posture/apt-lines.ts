/** Lines of apt, apt-get and apt-check. `Inst`, `E:` and `W:` are the same in every language; sentences are not. */
import { type Block, type LineRule, noise, packageName, type Transcript } from './transcript.ts';

/** Where security updates come from, by the name of the suite or the origin. */
const SECURITY_ORIGIN = /-security\b|\bDebian-Security\b|\bUbuntuESM|\besm-(?:infra|apps)/i;

const heading = (pattern: RegExp, block: Block): LineRule => ({
  pattern,
  take: (_, seen) => {
    seen.source('apt_simulation');
    seen.block = block;
  },
});

function takeInst(match: RegExpExecArray, seen: Transcript): boolean {
  seen.source('apt_simulation');
  const [, name = '', origin] = match;
  seen.tellsSecurity ||= origin !== undefined;
  const known = packageName(name);
  // A name that is none is an update all the same.
  seen.name(known ?? `unnamed ${seen.named.size}`, SECURITY_ORIGIN.test(origin ?? ''));
  const release = /\b(Debian|Ubuntu):(\d+(?:\.\d+)?)/.exec(origin ?? '');
  if (release !== null && seen.release === null) {
    const [, id = '', version = ''] = release;
    seen.release = { id: id.toLowerCase(), version: id === 'Debian' ? version.split('.')[0]! : version };
  }
  return true;
}

function takeSummary(seen: Transcript, upgraded: string, installed: string, notUpgraded: string): void {
  seen.source('apt_simulation');
  seen.block = undefined;
  // What is newly installed comes with an upgrade only where there is one.
  const updates = Number(upgraded);
  seen.claim(updates + (updates > 0 ? Number(installed) : 0));
  seen.notUpgraded = Math.max(seen.notUpgraded, Number(notUpgraded));
}

export const APT_LINES: readonly LineRule[] = [
  { pattern: /^Inst (\S+)(?: \[[^\]]*\])?(?: \(([^)]*)\))?/, take: takeInst },
  noise(/^(?:Conf|Remv|Purg) /),
  {
    pattern: /^(\d{1,7}) upgraded, (\d{1,7}) newly installed,.* (\d{1,7}) not upgraded\b/,
    take: ([, upgraded = '', installed = '', not = ''], seen) => takeSummary(seen, upgraded, installed, not),
  },
  {
    pattern: /^\s*Upgrading: (\d{1,7}), Installing: (\d{1,7}),.*Not Upgrading: (\d{1,7})/,
    take: ([, upgraded = '', installed = '', not = ''], seen) => takeSummary(seen, upgraded, installed, not),
  },
  {
    pattern: /^(\d{1,7}) not fully installed or removed/,
    take: ([, count], seen) => seen.break(Number(count)),
  },
  // The same sentence in another language: four counts, and which is which is not certain.
  {
    pattern: /^\d{1,7} [^\d,;|]{2,60}, \d{1,7} [^\d,;|]{2,60}, \d{1,7} [^\d;|]{2,60} \d{1,7} [^\d;|]{2,60}$/u,
    take: (_, seen) => {
      seen.source('apt_simulation');
      seen.doubt ??= 'locale';
    },
  },
  heading(/^The following packages have been kept back:|^Not upgrading:/, 'kept_back'),
  heading(/^The following upgrades have been deferred due to phasing:|^Not upgrading yet due to phasing:/, 'phased'),
  heading(/^The following packages will be upgraded:|^Upgrading:\s*$/, 'upgrading'),
  heading(/^The following security updates require Ubuntu Pro/, 'subscription'),
  heading(/^The following held packages will be changed:/, 'held'),
  heading(/^The following packages have unmet dependencies:/, 'unmet'),
  heading(
    /^The following (?:additional |NEW |extra )?packages? (?:will be|were|was)\b.*:|^(?:Installing|Removing|Downgrading)(?: [a-z]+)*:\s*$|^(?:Suggested|Recommended) packages:/,
    'other',
  ),
  {
    pattern: /^E: .*\b(?:lock|lock-frontend)\b/i,
    take: (_, seen) => {
      seen.source('apt_simulation');
      seen.doubt ??= 'locked';
    },
  },
  {
    pattern: /^E: (?:dpkg was interrupted|Unmet dependencies|.*you have held broken packages)/,
    take: (_, seen) => {
      seen.source('apt_simulation');
      seen.break(1);
    },
  },
  {
    pattern: /^(?:E: (?:Failed to fetch|Release file .* expired|The repository )|Err:\d+ )/,
    take: (_, seen) => {
      seen.source('apt_simulation');
      seen.indexDoubt ??= 'fetch_failed';
    },
  },
  {
    pattern: /^E: /,
    take: (_, seen) => {
      seen.source('apt_simulation');
      seen.doubt ??= 'error';
    },
  },
  {
    pattern: /^W: (?:Failed to fetch|Some index files failed to download|An error occurred during the signature)/,
    take: (_, seen) => {
      seen.indexDoubt ??= 'fetch_failed';
    },
  },
  noise(/^(?:W|N|WARNING): |^NOTE: This is only a simulation/),
  noise(/^\s+(?:apt(?:-get)? needs root|Keep also in mind|so don't depend)/),
  noise(/^(?:Reading package lists|Building dependency tree|Reading state information|Calculating upgrade)/),
  noise(/^(?:Summary:|Use 'sudo apt autoremove'|Need to get |After this operation|(?:Get|Hit|Ign):\d+ |Fetched )/),
  {
    pattern: /^All packages are up to date\./,
    take: (_, seen) => {
      seen.source('apt_list');
      seen.claim(0);
    },
  },
  {
    pattern: /^(\d{1,7}) packages? can be upgraded\./,
    take: ([, count], seen) => {
      seen.source('apt_list');
      seen.claim(Number(count));
    },
  },
  {
    pattern: /^Listing\.\.\.(?: Done)?\s*$/,
    take: (_, seen) => {
      seen.source('apt_list');
      seen.tellsSecurity = true;
      seen.claim(0);
    },
  },
  {
    pattern: /^([a-z0-9][a-z0-9+.-]{1,127})\/(\S{1,200}) \S+ \S+ \[[^\]]*: [^\]]+\]/,
    take: ([, name = '', suite = ''], seen) => {
      seen.source('apt_list');
      seen.tellsSecurity = true;
      seen.name(name, SECURITY_ORIGIN.test(suite));
    },
  },
  {
    pattern: /^(\d{1,7});(\d{1,7})$/,
    take: ([, all, security], seen) => {
      seen.source('apt_check');
      seen.claim(Number(all), Number(security));
    },
  },
];
