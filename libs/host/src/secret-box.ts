import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where the body of a delivery lies. */
export function deliveryPlace(id: string): string {
  return `delivery/${id}`;
}

/** Bytes that could not be opened: another key, another place, or damage. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
  readonly code = 'secret_box_unreadable';
}

/**
 * Encrypts what waits to be judged (AES-256-GCM). `place` is bound into the box, so that one chunk's bytes cannot be
 * moved into another.
 */
export class SecretBox {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(plain: Uint8Array, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(Buffer.from(place));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body]);
  }

  /** @throws SecretBoxError */
  open(box: Uint8Array, place: string): Buffer {
    const bytes = Buffer.from(box.buffer, box.byteOffset, box.byteLength);
    if (bytes[0] !== VERSION || bytes.length < 1 + NONCE_BYTES + TAG_BYTES) {
      throw new SecretBoxError('the bytes are no sealed box of this version');
    }
    const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
    const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    } catch {
      throw new SecretBoxError(
        'the sealed box does not open: it was sealed with another MUSTER_SECRET_KEY, or damaged',
      );
    }
  }
}
