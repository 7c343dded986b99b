/**
 * JSON about a host, as collectors write it: `{ host, collected_at, lists_mtime, upgradable: [...] }` and its relatives,
 * a list of packages as jc makes one of `dpkg -l`, or a transcript as text with its host beside it.
 *
 * Invariants: a field of a wrong type is a doubt, never 0; an object in which nothing is known is not a host.
 */

import { readTime } from '../inputs/time-fact.ts';
import { type HostFacts, type IndexDoubt, joinFacts, MAX_NAMES, unknownHost } from './host-facts.ts';
import { TranscriptReader } from './read-transcript.ts';
import { readReleaseName } from './support-dates.ts';
import { packageName } from './transcript.ts';

type Bag = Readonly<Record<string, unknown>>;

const HOST = ['host', 'hostname', 'fqdn', 'node', 'machine'];
const OBSERVED = ['collected_at', 'observed_at', 'taken_at', 'timestamp'];
const INDEX_TIME = ['lists_mtime', 'index_updated_at', 'cache_mtime', 'metadata_updated_at', 'apt_lists_mtime'];
const INDEX_AGE = ['index_age_seconds', 'lists_age_seconds', 'cache_age_seconds'];
const ALL = ['upgradable', 'updates', 'updates_available', 'packages_to_upgrade', 'pending_updates'];
const SECURITY = ['security', 'security_updates', 'security_upgradable'];
const TEXT = ['stdout', 'output', 'text', 'transcript'];

/** A host's facts, or what is wrong with the value, in a clause of ours. */
export function readRecord(value: unknown, fallbackHost: string, target?: string): HostFacts | string {
  if (Array.isArray(value)) return readPackages(value, fallbackHost, target);
  if (value === null || typeof value !== 'object') return 'it is no object';
  const bag = value as Bag;
  const host = nameOf(first(bag, HOST)) ?? fallbackHost;
  let facts = unknownHost(host, target);
  const text = first(bag, TEXT);
  if (typeof text === 'string') facts = joinFacts(facts, readText(text, host, target));
  const counted = readCounts(bag);
  if (typeof counted === 'string') return counted;
  if (counted === undefined && facts.sources.length === 0 && !('reboot_required' in bag)) {
    return 'nothing in it is known to tell of updates';
  }
  if (counted !== undefined) {
    facts = {
      ...facts,
      sources: [...facts.sources, 'record'],
      updates: counted.updates,
      security: counted.security,
      names: counted.names,
    };
  }
  const times = readTimes(bag, counted !== undefined);
  const reboot = bag.reboot_required;
  if (reboot !== undefined && typeof reboot !== 'boolean') return 'reboot_required is neither true nor false';
  return {
    ...facts,
    ...times,
    held: countOf(bag.held) ?? facts.held,
    broken: countOf(bag.broken) ?? facts.broken,
    services: countOf(bag.services) ?? facts.services,
    ...(typeof reboot === 'boolean' && {
      sources: [...new Set([...facts.sources, 'record' as const])],
      reboot: reboot ? 'required' : 'not_needed',
      reboot_why: reboot ? 'the host says that it wants a restart' : 'the host says that it wants no restart',
    }),
    release: readRelease(bag.os ?? bag.os_release) ?? facts.release,
  };
}

function readText(text: string, host: string, target?: string): HostFacts {
  const reader = new TranscriptReader();
  for (const line of text.split('\n')) reader.push(line);
  return reader.end(host, target);
}

interface Counts {
  readonly updates: number | null;
  readonly security: number | null;
  readonly names: string[];
}

function readCounts(bag: Bag): Counts | undefined | string {
  const all = first(bag, ALL);
  const security = first(bag, SECURITY);
  if (all === undefined && security === undefined) return undefined;
  const updates = all === undefined ? null : countOf(all);
  const marked = Array.isArray(all) ? all.filter(isSecurity).length : 0;
  const told = security === undefined ? null : countOf(security);
  if (updates === undefined || told === undefined) return 'its list of updates is neither a list nor a count';
  const secure =
    told === null ? (Array.isArray(all) && (marked > 0 || all.length === 0) ? marked : null) : Math.max(told, marked);
  const listed = [...(Array.isArray(security) ? security : []), ...(Array.isArray(all) ? all : [])];
  return {
    updates: updates === null ? secure : Math.max(updates, secure ?? 0),
    security: secure,
    names: [...new Set(listed.flatMap(packageOf))].slice(0, MAX_NAMES),
  };
}

function isSecurity(entry: unknown): boolean {
  if (typeof entry === 'string') return /-security\b/i.test(entry);
  const bag = entry as Bag | null;
  return bag?.security === true || /security/i.test(String(bag?.origin ?? bag?.suite ?? bag?.category ?? ''));
}

function packageOf(entry: unknown): string[] {
  const name = typeof entry === 'string' ? entry.split(/[/\s]/)[0] : (entry as Bag | null)?.name;
  const known = typeof name === 'string' ? packageName(name) : undefined;
  return known === undefined ? [] : [known];
}

/** `dpkg -l` by jc: an inventory with the state of each package. */
function readPackages(list: readonly unknown[], host: string, target?: string): HostFacts | string {
  const packages = list.filter((entry) => typeof (entry as Bag | null)?.codes === 'string') as Bag[];
  if (packages.length === 0 || packages.length !== list.length) return 'it is no list of packages with their states';
  const facts = unknownHost(host, target);
  const bad = packages.filter(({ codes }) => /^.[A-Z]|R/.test(String(codes)));
  return {
    ...facts,
    sources: ['dpkg_list'],
    broken: bad.length,
    broken_names: bad.flatMap(packageOf).slice(0, MAX_NAMES),
    held: packages.filter(({ codes }) => String(codes).startsWith('h')).length,
  };
}

function readTimes(bag: Bag, counted: boolean) {
  const observed = readTime(first(bag, OBSERVED));
  const index = readTime(first(bag, INDEX_TIME));
  const age = first(bag, INDEX_AGE);
  const seconds = typeof age === 'number' && Number.isFinite(age) && age >= 0 ? age : null;
  const doubts: Readonly<Record<string, IndexDoubt>> = {
    epoch: 'epoch',
    'no zone': 'no_zone',
    unreadable: 'unreadable',
  };
  return {
    observed_at: observed.at,
    clock_doubt: observed.doubt === undefined ? null : `the time of its collection: ${observed.doubt}`,
    index_at: index.at,
    index_age: seconds,
    index_doubt: index.doubt === undefined ? null : (doubts[index.doubt] ?? 'unreadable'),
    index_untold: counted && index.at === null && index.doubt === undefined && seconds === null,
  };
}

function readRelease(value: unknown): HostFacts['release'] {
  if (typeof value === 'string') return readReleaseName(value) ?? null;
  const { id, version, version_id } = (value ?? {}) as Bag;
  const release = version_id ?? version;
  if (typeof id !== 'string' || typeof release !== 'string') return null;
  return /^[\w.-]{1,40}$/.test(id) && /^[\w.-]{1,20}$/.test(release) ? { id, version: release } : null;
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[^\s/\p{C}]{1,253}$/u.test(value) ? value : undefined;
}

/** A count, or the length of a list; null when it is not there, undefined when it is neither. */
function countOf(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.length;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function first(bag: Bag, keys: readonly string[]): unknown {
  for (const key of keys) if (Object.hasOwn(bag, key)) return bag[key];
  return undefined;
}
