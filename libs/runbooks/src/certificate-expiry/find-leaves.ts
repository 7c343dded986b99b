/**
 * Which certificates of one place are judged, and how the others stand to them.
 *
 * Invariants:
 * - a leaf is known by its properties, not by its place; where there is none (a store of roots) each certificate is judged;
 * - of several leaves with the same names the first is judged, because it is the one that is served; the others are said;
 * - one certificate twice is one certificate.
 */
import type { CertificateFacts, ChainState } from './certificate-facts.ts';
import type { ReadCertificate } from './read-certificate.ts';

/** What is known of a place beside its certificates. */
export interface Place {
  readonly place: string;
  readonly target?: string;
  readonly observedAt: number | null;
  /** Whether the order of its certificates says nothing. */
  readonly unordered?: boolean;
}

const MAX_CHAIN = 10;
const SHOWN_NAMES = 10;

/** The certificates that are judged, in their order. */
export function findLeaves(found: readonly ReadCertificate[], place: Place): CertificateFacts[] {
  const certificates = [...new Map(found.map((one) => [one.fingerprint, one])).values()];
  const leaves = certificates.filter((one) => !one.isCa && !issuesAnother(one, certificates));
  if (leaves.length === 0) return named(certificates.map((one) => factsOf(one, place, ALONE, [])));
  const issuers = bySubject(certificates.filter((one) => !leaves.includes(one)));
  const groups = Map.groupBy(leaves, (leaf) => nameKey(leaf));
  const inChains = new Set<string>();
  const chains = [...groups.values()].map((group) => {
    const chain = chainOf(group[0]!, issuers, certificates);
    for (const one of chain.issuers) inChains.add(one.fingerprint);
    return { group, chain };
  });
  const unrelated = certificates.length - leaves.length - inChains.size;
  return named(
    chains.map(({ group: [leaf, ...others], chain }) => ({
      ...factsOf(leaf!, place, chain, others),
      unrelated: Math.max(0, unrelated),
    })),
  );
}

interface Chain {
  readonly state: ChainState;
  readonly outOfOrder: boolean;
  readonly issuers: readonly ReadCertificate[];
}

const ALONE: Chain = { state: 'alone', outOfOrder: false, issuers: [] };

function issuesAnother(one: ReadCertificate, certificates: readonly ReadCertificate[]): boolean {
  // Old certificates of issuers do not say that they are ones; among thousands that is not looked for.
  if (certificates.length > 200) return false;
  return certificates.some((other) => other !== one && issued(one, other));
}

function bySubject(certificates: readonly ReadCertificate[]): Map<string, ReadCertificate[]> {
  return Map.groupBy(certificates, ({ x509 }) => x509.subject ?? '');
}

function chainOf(
  leaf: ReadCertificate,
  issuers: ReadonlyMap<string, ReadCertificate[]>,
  all: readonly ReadCertificate[],
): Chain {
  if (leaf.selfSigned) return { ...ALONE, state: 'self_signed' };
  if (issuers.size === 0) return ALONE;
  const chain: ReadCertificate[] = [];
  for (let at = leaf; chain.length < MAX_CHAIN; ) {
    const candidates = issuers.get(at.x509.issuer ?? '') ?? [];
    const next = candidates.find((one) => !chain.includes(one) && issued(one, at));
    if (next === undefined) break;
    chain.push(next);
    if (next.selfSigned) break;
    at = next;
  }
  if (chain.length === 0) return { ...ALONE, state: 'broken' };
  const places = [leaf, ...chain].map((one) => all.indexOf(one));
  const outOfOrder = places.some((place, index) => index > 0 && place < places[index - 1]!);
  return { state: 'there', outOfOrder, issuers: chain };
}

/** By name, key identifiers and signature: names alone are not enough where an issuer was renewed with another key. */
function issued(issuer: ReadCertificate, subject: ReadCertificate): boolean {
  try {
    return subject.x509.checkIssued(issuer.x509) && subject.x509.verify(issuer.x509.publicKey);
  } catch {
    return false;
  }
}

function nameKey(leaf: ReadCertificate): string {
  const names = leaf.names.length > 0 ? [...leaf.names].sort().join(',') : (leaf.commonName ?? '');
  return names === '' ? `#${leaf.serial}` : names.toLowerCase();
}

function factsOf(
  leaf: ReadCertificate,
  { observedAt, unordered = false, ...at }: Place,
  chain: Chain,
  others: readonly ReadCertificate[],
): CertificateFacts {
  // A root that is served is not looked at by clients: they have their own.
  const served = chain.issuers.filter((one) => !one.selfSigned);
  const ends = served.filter(({ notAfter }) => notAfter !== null).sort((a, b) => a.notAfter! - b.notAfter!)[0];
  const begins = served.flatMap(({ notBefore }) => notBefore ?? []);
  return {
    kind: 'certificate',
    ...at,
    name: leaf.commonName ?? leaf.names[0] ?? leaf.serial,
    names: leaf.names.slice(0, SHOWN_NAMES),
    more_names: Math.max(0, leaf.names.length - SHOWN_NAMES),
    issuer: leaf.issuer,
    serial: leaf.serial,
    is_ca: leaf.isCa,
    not_before: leaf.notBefore,
    not_after: leaf.notAfter,
    chain: chain.state,
    out_of_order: chain.outOfOrder && !unordered,
    issuer_ends: ends?.notAfter ?? null,
    issuer_begins: begins.length === 0 ? null : Math.max(...begins),
    issuer_name: ends?.commonName ?? null,
    also_there: others
      .slice(0, 5)
      .map(({ notAfter }) => ({ not_after: notAfter, later: (notAfter ?? 0) > (leaf.notAfter ?? 0) })),
    unrelated: 0,
    observed_at: observedAt,
  };
}

/** Two of one name at one place (roots that were renewed) are told apart by their serial numbers. */
function named(all: readonly CertificateFacts[]): CertificateFacts[] {
  const times = new Map<string, number>();
  for (const { name } of all) times.set(name, (times.get(name) ?? 0) + 1);
  return all.map((one) =>
    times.get(one.name) === 1 ? one : { ...one, name: `${one.name} ${one.serial.slice(0, 16)}` },
  );
}
