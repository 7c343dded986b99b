/** Lines of `dpkg -l` and `dpkg --audit`: an inventory, with the state that each package is in. */
import { type LineRule, noise, packageName, type Transcript } from './transcript.ts';

/** Desired, status and error letters stand in front of a name; an upper-case one is bad, says dpkg's own head. */
function takePackage(match: RegExpExecArray, seen: Transcript): boolean {
  if (!seen.sources.has('dpkg_list')) return false;
  const [, desired, status = '', error, name = ''] = match;
  if (/[A-Z]/.test(status) || error === 'R') seen.break(1, packageName(name));
  if (desired === 'h' || status === 'h') seen.held++;
  return true;
}

export const DPKG_LINES: readonly LineRule[] = [
  {
    pattern: /^Desired=Unknown\/Install\/Remove/,
    take: (_, seen) => seen.source('dpkg_list'),
  },
  noise(/^\| Status=|^\|\/ Err\?=|^\|\|\/ Name\s|^\+\+\+-/),
  { pattern: /^([a-z])([A-Za-z])([ R]) +(\S+)(?:\s|$)/, take: takePackage },
  {
    pattern:
      /^The following packages (?:are only half (?:configured|installed)|are in a mess|have been unpacked but not|are missing |have been triggered|are awaiting)/,
    take: (_, seen) => {
      seen.source('dpkg_audit');
      seen.block = 'audit';
    },
  },
];
