/**
 * A transcript under reading: what lines have told so far, and where in it we are.
 *
 * A reader of lines is a list of {@link LineRule}s; the first whose pattern fits takes the line.
 */

import type { IndexDoubt } from './host-facts.ts';
import { MAX_NAMES, type OutputDoubt, type PatchSource, type RebootFact, type ReleaseFact } from './host-facts.ts';

/** A block of names under a heading. */
export type Block =
  | 'upgrading'
  | 'kept_back'
  | 'phased'
  | 'subscription'
  | 'held'
  | 'unmet'
  | 'audit'
  | 'obsoleting'
  | 'services'
  | 'other';

/** What is counted while lines pass. */
export class Transcript {
  readonly sources = new Set<PatchSource>();
  /** Packages that lines named one by one, and those of them from a place of security updates. */
  readonly named = new Set<string>();
  readonly namedSecurity = new Set<string>();
  /** Whether lines can tell which of them are security updates. */
  tellsSecurity = false;
  /** Counts as they were claimed in words; a claim never lowers another one. */
  claimed: number | null = null;
  claimedSecurity: number | null = null;
  subscription: number | null = null;
  notUpgraded = 0;
  keptBack = 0;
  phased = 0;
  obsoleting = 0;
  held = 0;
  broken = 0;
  readonly brokenNames: string[] = [];
  reboot: RebootFact | null = null;
  rebootWhy: string | null = null;
  services: number | null = null;
  release: ReleaseFact | null = null;
  indexAt: number | null = null;
  indexAge: number | null = null;
  indexDoubt: IndexDoubt | null = null;
  doubt: OutputDoubt | null = null;
  unknownLines = 0;
  block: Block | undefined;
  /** Columns of the table that is being read. */
  columns: readonly string[] | undefined;
  /** A name whose version stands in the next line. */
  wrapped: string | undefined;
  /** What `os-release` told so far. */
  osId: string | undefined;
  osVersion: string | undefined;
  runningKernel: string | undefined;
  readonly kernels: { readonly flavour: string; readonly version: string; readonly at: number | null }[] = [];
  installedKernel: string | undefined;
  currentKernel: string | undefined;

  source(name: PatchSource): void {
    this.sources.add(name);
  }

  claim(updates: number, security?: number): void {
    this.claimed = Math.max(this.claimed ?? 0, updates);
    if (security !== undefined) this.claimedSecurity = Math.max(this.claimedSecurity ?? 0, security);
  }

  name(name: string, security: boolean): void {
    if (this.named.size < MAX_COUNTED) this.named.add(name);
    if (security && this.namedSecurity.size < MAX_COUNTED) this.namedSecurity.add(name);
  }

  break(count: number, name?: string): void {
    this.broken += count;
    if (name !== undefined && this.brokenNames.length < MAX_NAMES) this.brokenNames.push(name);
  }

  /** The worse of what is said about a reboot stays. */
  needReboot(fact: RebootFact, why: string): void {
    const rank = { not_needed: 0, unknown: 1, required: 2 };
    if (this.reboot !== null && rank[this.reboot] >= rank[fact]) return;
    this.reboot = fact;
    this.rebootWhy = why;
  }
}

/** Packages that are told apart by name in one output. A machine has some thousands. */
const MAX_COUNTED = 100_000;

/** One kind of line. */
export interface LineRule {
  readonly pattern: RegExp;
  /** Returns false when the line is not of this kind after all. */
  readonly take: (match: RegExpExecArray, seen: Transcript) => unknown;
}

/** A line that says nothing which is judged. */
export function noise(pattern: RegExp): LineRule {
  return { pattern, take: () => true };
}

/** A package's name, without what may stand behind it; undefined: it is none. */
export function packageName(text: string): string | undefined {
  return /^[A-Za-z0-9][\w.+:~-]{0,127}$/.test(text) ? text : undefined;
}
