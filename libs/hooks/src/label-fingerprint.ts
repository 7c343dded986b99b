/**
 * The fingerprint of a set of labels: Prometheus' own (FNV-1a, 64 bits, over the sorted names and values, each followed by
 * the byte 255), so that a sender that leaves it out and one that sends it agree.
 */

const OFFSET_HIGH = 0xcbf29ce4;
const OFFSET_LOW = 0x84222325;
/** The prime is 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3;
const DIVIDER = Uint8Array.of(0xff);
const encoder = new TextEncoder();

/** 16 hexadecimal digits. `labels` as the sender wrote them. */
export function labelFingerprint(labels: ReadonlyMap<string, string>): string {
  let high = OFFSET_HIGH;
  let low = OFFSET_LOW;
  const add = (bytes: Uint8Array) => {
    for (const byte of bytes) {
      low = (low ^ byte) >>> 0;
      const product = low * PRIME_LOW;
      high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32;
      low = product % 2 ** 32;
    }
  };
  const named = [...labels].map(([name, value]) => [encoder.encode(name), encoder.encode(value)] as const);
  for (const pair of named.sort(([a], [b]) => Buffer.compare(a, b))) {
    for (const bytes of pair) {
      add(bytes);
      add(DIVIDER);
    }
  }
  return hex(high) + hex(low);
}

function hex(half: number): string {
  return half.toString(16).padStart(8, '0');
}
