/**
 * What is known of one host: counts, a few names and times, gathered from whatever tools printed about it.
 *
 * Invariants:
 * - a number that nobody told is null, never 0;
 * - what several outputs say about one thing is put together so that the worse counts: a later line takes nothing back;
 * - no line of an output is kept, only what is judged.
 */

/** The outputs that are understood. */
export type PatchSource =
  | 'apt_simulation'
  | 'apt_list'
  | 'apt_check'
  | 'login_notice'
  | 'dpkg_list'
  | 'dpkg_audit'
  | 'dnf_check'
  | 'dnf_advisories'
  | 'needs_restarting'
  | 'rpm_kernels'
  | 'zypper_updates'
  | 'zypper_patches'
  | 'needrestart'
  | 'reboot_notice'
  | 'os_release'
  | 'metrics'
  | 'record';

/** Why what was printed cannot be believed to be whole. */
export type OutputDoubt = 'locked' | 'locale' | 'error' | 'contradiction' | 'cut_off';

/** Why the package index is not to be trusted, whatever its age. */
export type IndexDoubt = 'fetch_failed' | 'said_stale' | 'future' | 'no_zone' | 'epoch' | 'unreadable';

export type RebootFact = 'required' | 'not_needed' | 'unknown';

export interface ReleaseFact {
  /** As `ID` in os-release has it: `debian`, `ubuntu`, `rhel`, `centos`, `centos-stream`, ... */
  readonly id: string;
  readonly version: string;
}

/** One host, as it goes through the queue. */
export interface HostFacts {
  kind: 'host';
  host: string;
  target?: string;
  /** The inputs that told of it. */
  inputs: string[];
  sources: PatchSource[];
  /** Updates that could be installed now; null: nobody told. */
  updates: number | null;
  /** Those of them that are security updates; null: it cannot be told which are. */
  security: number | null;
  /** Security updates that only a subscription gives. */
  subscription_security: number | null;
  /** Up to a few names, security updates first. */
  names: string[];
  kept_back: number;
  phased: number;
  obsoleting: number;
  held: number;
  broken: number;
  broken_names: string[];
  reboot: RebootFact | null;
  reboot_why: string | null;
  services: number | null;
  release: ReleaseFact | null;
  /** When the package index was made, in ms since the epoch; or how old it was, in seconds, when it was looked at. */
  index_at: number | null;
  index_age: number | null;
  index_doubt: IndexDoubt | null;
  /** A collected record that could have told the age of the index and did not. */
  index_untold: boolean;
  observed_at: number | null;
  clock_doubt: string | null;
  doubt: OutputDoubt | null;
  /** Lines that no reader knew. */
  unknown_lines: number;
}

/** How many names of packages a host keeps. */
export const MAX_NAMES = 5;

/** A host of which nothing is known yet. */
export function unknownHost(host: string, target?: string): HostFacts {
  return {
    kind: 'host',
    host,
    ...(target !== undefined && { target }),
    inputs: [],
    sources: [],
    updates: null,
    security: null,
    subscription_security: null,
    names: [],
    kept_back: 0,
    phased: 0,
    obsoleting: 0,
    held: 0,
    broken: 0,
    broken_names: [],
    reboot: null,
    reboot_why: null,
    services: null,
    release: null,
    index_at: null,
    index_age: null,
    index_doubt: null,
    index_untold: false,
    observed_at: null,
    clock_doubt: null,
    doubt: null,
    unknown_lines: 0,
  };
}

/** Puts what another output told of the same host to what is known of it. */
export function joinFacts(known: HostFacts, more: HostFacts): HostFacts {
  return {
    ...known,
    inputs: [...new Set([...known.inputs, ...more.inputs])].slice(0, MAX_NAMES),
    sources: [...new Set([...known.sources, ...more.sources])],
    updates: larger(known.updates, more.updates),
    security: larger(known.security, more.security),
    subscription_security: larger(known.subscription_security, more.subscription_security),
    names: [...new Set([...known.names, ...more.names])].slice(0, MAX_NAMES),
    kept_back: Math.max(known.kept_back, more.kept_back),
    phased: Math.max(known.phased, more.phased),
    obsoleting: Math.max(known.obsoleting, more.obsoleting),
    held: Math.max(known.held, more.held),
    broken: Math.max(known.broken, more.broken),
    broken_names: [...new Set([...known.broken_names, ...more.broken_names])].slice(0, MAX_NAMES),
    ...worseReboot(known, more),
    services: larger(known.services, more.services),
    release: known.release ?? more.release,
    index_at: newer(known.index_at, more.index_at),
    index_age: known.index_age ?? more.index_age,
    index_doubt: known.index_doubt ?? more.index_doubt,
    index_untold: known.index_untold && more.index_untold,
    observed_at: older(known.observed_at, more.observed_at),
    clock_doubt: known.clock_doubt ?? more.clock_doubt,
    doubt: known.doubt ?? more.doubt,
    unknown_lines: known.unknown_lines + more.unknown_lines,
  };
}

const REBOOT_RANK = ['not_needed', 'unknown', 'required'] as const;

/** The worse of two, with its reason. */
export function worseReboot(
  a: Pick<HostFacts, 'reboot' | 'reboot_why'>,
  b: Pick<HostFacts, 'reboot' | 'reboot_why'>,
): Pick<HostFacts, 'reboot' | 'reboot_why'> {
  const rank = (fact: RebootFact | null) => (fact === null ? -1 : REBOOT_RANK.indexOf(fact));
  const worse = rank(b.reboot) > rank(a.reboot) ? b : a;
  return { reboot: worse.reboot, reboot_why: worse.reboot_why };
}

/** The larger of two counts; one that is not known leaves the other. */
export function larger(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

function newer(a: number | null, b: number | null): number | null {
  return larger(a, b);
}

/** Evidence is as old as its oldest part. */
function older(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
