/**
 * Which addresses notices may go to.
 *
 * Invariants:
 * - what is judged is the address that is connected to, not the name: a name may mean something else a moment later;
 * - only addresses that are public are let through. Whatever a range is called (loopback, link-local, the metadata service of
 *   a cloud, a private network, an IPv4 address in IPv6's clothes), it is refused unless private ones are allowed.
 */
import ipaddr from 'ipaddr.js';

/** Whether addresses that are not public may be sent to. */
export type PrivateAddresses = 'allow' | 'refuse';

/** Ranges that nobody listens at, or that are everybody. */
const NOWHERE: readonly string[] = ['unspecified', 'broadcast', 'multicast', 'reserved'];

/** Why a notice may not go to this address; undefined: it may. */
export function addressFault(address: string, policy: PrivateAddresses): string | undefined {
  if (!ipaddr.isValid(address)) return 'it is no address';
  const range = rangeOf(address);
  if (range === 'unicast') return undefined;
  if (policy === 'allow' && !NOWHERE.includes(range)) return undefined;
  return `it is ${RANGE_WORDS[range] ?? `an address of the range ${range}`}`;
}

/** IPv4 within IPv6 is what it is as IPv4, mapped, translated or tunnelled. */
function rangeOf(address: string): string {
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.range();
  const v6 = parsed as ipaddr.IPv6;
  const range = v6.range();
  if (range === 'unicast' || !EMBEDDING.has(range)) return range;
  const inner = EMBEDDING.get(range)!(v6.toByteArray());
  const within = ipaddr.fromByteArray(inner).range();
  // An embedded public address is reached through a gateway of ours or of nobody's: it is not let through either.
  return within === 'unicast' ? range : within;
}

const EMBEDDING = new Map<string, (bytes: number[]) => number[]>([
  ['rfc6052', (bytes) => bytes.slice(12, 16)],
  ['rfc6145', (bytes) => bytes.slice(12, 16)],
  ['6to4', (bytes) => bytes.slice(2, 6)],
]);

const RANGE_WORDS: Readonly<Record<string, string>> = {
  loopback: 'this machine itself',
  private: 'a private network',
  uniqueLocal: 'a private network',
  linkLocal: 'a link-local address, as metadata services have',
  carrierGradeNat: 'the network of a carrier',
  unspecified: 'no address of a machine',
  broadcast: 'everybody',
  multicast: 'a group of machines',
};

/** What a URL of a receiver must be; undefined: it is. The address behind its name is judged when it is connected to. */
export function receiverFault(text: string, policy: PrivateAddresses): string | undefined {
  if (!URL.canParse(text)) return 'a URL such as https://example.com/hook';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'a URL of https or http';
  if (url.username !== '' || url.password !== '') return 'a URL without user and password';
  if (url.hash !== '') return 'a URL without a fragment';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const fault = ipaddr.isValid(host) ? addressFault(host, policy) : undefined;
  return fault === undefined ? undefined : `a public address; ${fault}`;
}
