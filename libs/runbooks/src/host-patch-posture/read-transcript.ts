/**
 * Lines of a transcript, turned into facts of one host.
 *
 * Invariants:
 * - a line is known by its shape; where it stands matters only within a block of names under its heading;
 * - a claim of "nothing to do" counts only beside what the same output names: the larger number wins;
 * - lines that nobody knows are counted. What was not understood never adds up to "nothing to do".
 */
import { APT_LINES } from './apt-lines.ts';
import { DNF_LINES } from './dnf-lines.ts';
import { DPKG_LINES } from './dpkg-lines.ts';
import { type HostFacts, MAX_NAMES, unknownHost } from './host-facts.ts';
import { METRICS_LINES } from './metrics-lines.ts';
import { NOTICE_LINES } from './notice-lines.ts';
import { judgeKernels, RESTART_LINES } from './restart-lines.ts';
import { type Block, packageName, Transcript } from './transcript.ts';
import { ZYPPER_LINES } from './zypper-lines.ts';

const RULES = [
  ...APT_LINES,
  ...NOTICE_LINES,
  ...METRICS_LINES,
  ...RESTART_LINES,
  ...ZYPPER_LINES,
  ...DPKG_LINES,
  ...DNF_LINES,
];

/** Blocks whose heading goes on over several lines, or that an unindented line belongs to. */
const OUTLASTS_SENTENCES: readonly (Block | undefined)[] = ['obsoleting', 'audit'];

const MAX_LINE = 4096;

/** Reads one host's transcript, line by line. */
export class TranscriptReader {
  readonly #seen = new Transcript();

  push(raw: string): void {
    const line = plainLine(raw);
    const seen = this.#seen;
    if (line.trim() === '') {
      // dnf parts its sections by an empty line; apt its blocks.
      if (seen.block !== 'obsoleting') seen.block = undefined;
      return;
    }
    if (/^\s/.test(line) && seen.block !== undefined && takeNames(seen.block, line, seen)) return;
    if (!/^\s/.test(line) && !OUTLASTS_SENTENCES.includes(seen.block)) seen.block = undefined;
    for (const rule of RULES) {
      const match = rule.pattern.exec(line);
      if (match !== null && rule.take(match, seen) !== false) return;
    }
    seen.unknownLines++;
  }

  /** What the lines came to. `cutOff`: the input ended in the middle. */
  end(host: string, target?: string, cutOff = false): HostFacts {
    const seen = this.#seen;
    judgeKernels(seen);
    const facts = unknownHost(host, target);
    const counted = countUpdates(seen);
    return {
      ...facts,
      sources: [...seen.sources],
      ...counted,
      subscription_security: seen.subscription,
      names: namesOf(seen),
      ...backward(seen),
      obsoleting: seen.obsoleting,
      held: seen.held,
      broken: seen.broken,
      broken_names: [...seen.brokenNames],
      reboot: seen.reboot,
      reboot_why: seen.rebootWhy,
      services: seen.services,
      release: seen.osId !== undefined && seen.osVersion !== undefined ? releaseOf(seen) : seen.release,
      index_at: seen.indexAt,
      index_age: seen.indexAge,
      index_doubt: seen.indexDoubt,
      doubt: seen.doubt ?? (cutOff ? 'cut_off' : null),
      unknown_lines: seen.unknownLines,
    };
  }
}

/** Security updates first. */
function namesOf({ named, namedSecurity }: Transcript): string[] {
  const names = [...new Set([...namedSecurity, ...named])];
  return names.filter((name) => packageName(name) !== undefined).slice(0, MAX_NAMES);
}

/** A terminal's colours, carriage returns and hard spaces are no part of a line. */
function plainLine(raw: string): string {
  return raw
    .slice(0, MAX_LINE)
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replaceAll('\u00a0', ' ')
    .replace(/\r+$/, '')
    .replace(/^.*\r/, '');
}

/** Names under a heading; false when the line is none of the block after all. */
function takeNames(block: Block, line: string, seen: Transcript): boolean {
  const names = line.trim().split(/\s+/);
  switch (block) {
    case 'upgrading':
      for (const name of names) if (packageName(name) !== undefined) seen.name(plainName(name), false);
      return true;
    case 'kept_back':
      seen.keptBack += names.length;
      return true;
    case 'phased':
      seen.phased += names.length;
      return true;
    case 'subscription':
      seen.subscription = (seen.subscription ?? 0) + names.length;
      return true;
    case 'held':
      seen.held += names.length;
      return true;
    case 'unmet':
    case 'audit':
      seen.break(1, packageName(names[0] ?? ''));
      return true;
    case 'services':
      seen.services = (seen.services ?? 0) + 1;
      return true;
    case 'obsoleting':
      return false;
    case 'other':
      return true;
  }
}

/** `libudev1:i386` is another package than `libudev1`; `Inst` lines name both so. */
function plainName(name: string): string {
  return name.replace(/\*$/, '');
}

/** Sources whose output is the whole list of updates, so that naming none means that there is none. */
const WHOLE_LISTS = ['dnf_check', 'zypper_updates', 'zypper_patches', 'dnf_advisories'] as const;

function countUpdates(seen: Transcript): Pick<HostFacts, 'updates' | 'security'> {
  const named = seen.named.size;
  // A list that names nothing is believed only when every line of it was understood.
  const empty = named === 0 && seen.unknownLines === 0 && WHOLE_LISTS.some((source) => seen.sources.has(source));
  const listed = named > 0 ? named : empty ? 0 : null;
  const updates = seen.claimed === null ? listed : Math.max(seen.claimed, named);
  const named_security = seen.tellsSecurity || seen.namedSecurity.size > 0 ? seen.namedSecurity.size : null;
  const told = Math.max(named_security ?? 0, seen.claimedSecurity ?? 0);
  const security = named_security === null && seen.claimedSecurity === null ? null : told;
  return {
    updates: updates === null && told === 0 ? null : Math.max(updates ?? 0, told),
    // With nothing to install there is nothing for security either.
    security: updates === 0 && told === 0 ? 0 : security,
  };
}

/** What is not upgraded: phased ones are not meant to be, yet; what no list explains counts as kept back. */
function backward({ notUpgraded, keptBack, phased }: Transcript): Pick<HostFacts, 'kept_back' | 'phased'> {
  return { phased, kept_back: Math.max(keptBack, notUpgraded - phased) };
}

function releaseOf({ osId = '', osVersion = '' }: Transcript): HostFacts['release'] {
  return { id: osId, version: osVersion };
}
