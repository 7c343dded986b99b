/**
 * Artifact refs: `art_` and 22 base62 characters (131 bits), opaque.
 *
 * Invariant: a ref opens nothing by itself; every call of a store takes the scope first.
 */

/** The name of one artifact inside its scope. */
export type ArtifactRef = string;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 22;
const REF_PATTERN = /^art_[0-9A-Za-z]{22}$/;

/** The largest multiple of 62 in a byte: bytes from here on are thrown away, so that no character is likelier. */
const UNBIASED_BELOW = 248;

/** Makes a ref that nobody can guess, from the platform's cryptographic randomness. */
export function newArtifactRef(): ArtifactRef {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      if (byte < UNBIASED_BELOW && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
    }
  }
  return `art_${random}`;
}

/** Tells whether a value has the form of a ref. It says nothing about whether the artifact exists. */
export function isArtifactRef(value: unknown): value is ArtifactRef {
  return typeof value === 'string' && REF_PATTERN.test(value);
}
