import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { CredentialError } from './credential-error.ts';
import { isBelow } from './credential-places.ts';
import { MAX_CREDENTIAL_BYTES } from './credential-text.ts';

/**
 * Reads a file of the credentials' folder; undefined when there is none.
 *
 * @param directory the folder; links may lead around in it, not out of it
 * @throws CredentialError
 */
export async function readCredentialFile(file: string, directory: string): Promise<Buffer | undefined> {
  let handle: FileHandle | undefined;
  try {
    const [real, root] = await Promise.all([realpath(file), realpath(directory)]);
    if (!isBelow(root, real)) throw new CredentialError('credential_file_not_allowed');
    // A pipe that nobody writes to would keep an ordinary open waiting.
    handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw new CredentialError('credential_unreadable');
    if (stats.size > MAX_CREDENTIAL_BYTES) throw new CredentialError('credential_too_large');
    return await readBounded(handle);
  } catch (error) {
    if (error instanceof CredentialError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CredentialError('credential_unreadable');
  } finally {
    await handle?.close().catch(() => {});
  }
}

/** A file may grow while it is read, and some say that they have no size. */
async function readBounded(handle: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_CREDENTIAL_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (length > MAX_CREDENTIAL_BYTES) throw new CredentialError('credential_too_large');
    if (bytesRead === 0) return buffer.subarray(0, length);
  }
}
