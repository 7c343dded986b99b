/** Lines of zypper: list-updates, list-patches, patch-check. */
import { type LineRule, noise, packageName, type Transcript } from './transcript.ts';

function takeRow(line: string, seen: Transcript): boolean {
  if (seen.columns === undefined) return false;
  const cells = line.split('|').map((cell) => cell.trim());
  if (cells.length < 4) return false;
  const cell = (name: string) => cells[seen.columns?.indexOf(name) ?? -1];
  const category = cell('category');
  const name = packageName(cell('name') ?? '') ?? `unnamed ${seen.named.size}`;
  if (category === undefined) {
    // `v`: another version can be had; anything else in front is no update.
    if (cell('s') === 'v') seen.name(name, false);
    return true;
  }
  if (/^(?:needed|optional)$/i.test(cell('status') ?? 'needed')) seen.name(name, /security/i.test(category));
  return true;
}

const head = (source: 'zypper_updates' | 'zypper_patches') => (match: RegExpExecArray, seen: Transcript) => {
  seen.source(source);
  seen.tellsSecurity ||= source === 'zypper_patches';
  seen.columns = match.input.split('|').map((cell) => cell.trim().toLowerCase());
};

export const ZYPPER_LINES: readonly LineRule[] = [
  { pattern: /^S\s*\|\s*Repository\s*\|/, take: head('zypper_updates') },
  { pattern: /^Repository\s*\|\s*Name\s*\|.*Category\s*\|/, take: head('zypper_patches') },
  noise(/^-+(?:\+-+)+\s*$/),
  { pattern: /^[^|]{0,200}\|.*\|/, take: (match, seen) => takeRow(match.input, seen) },
  {
    pattern: /^No updates found\./,
    take: (_, seen) => {
      seen.source('zypper_updates');
      seen.claim(0);
    },
  },
  {
    pattern: /^(\d{1,7}) patch(?:es)? needed(?: \((\d{1,7}) security patch(?:es)?\))?/,
    take: ([, all, security], seen) => {
      seen.source('zypper_patches');
      seen.claim(Number(all), security === undefined ? undefined : Number(security));
    },
  },
  noise(/^(?:Loading repository data|Reading installed packages|Refreshing service|Retrieving |Building repository)/),
  noise(/^Found \d+ applicable patch|^Repository '.*' is up to date|^All repositories have been refreshed/),
  {
    pattern: /^(?:Warning: )?Repository '.*' (?:is out-of-date|appears to be outdated|metadata expired)/,
    take: (_, seen) => {
      seen.source('zypper_updates');
      seen.indexDoubt ??= 'said_stale';
    },
  },
  {
    pattern: /^System management is locked by/,
    take: (_, seen) => {
      seen.source('zypper_updates');
      seen.doubt ??= 'locked';
    },
  },
];
