/**
 * The first key: without one nobody could make any. It lies in a file that its owner alone may read, and only the path is
 * ever logged.
 *
 * A file that is there is honoured: its key is valid again on an empty database, so that whoever kept it gets in. A key
 * that was revoked stays revoked, and its file gets a new one: whoever owns the file's place owns this installation, and
 * must not be locked out by a file that got lost.
 */
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createApiKey, type Database, findApiKey, registerApiKey } from '@muster/results';

export const BOOTSTRAP_TENANT = 'default';
const BOOTSTRAP = { tenant: BOOTSTRAP_TENANT, name: 'bootstrap', role: 'admin' } as const;

/** What was done about the first key. */
export type BootstrapOutcome = 'made' | 'registered' | 'known';

/** The file holds something else than a key. The message names the file, never its content. */
export class BootstrapKeyError extends Error {
  override readonly name = 'BootstrapKeyError';
  readonly code = 'bootstrap_key_invalid';
}

/** Makes sure that somebody can get in. @throws BootstrapKeyError */
export async function bootstrapKey(db: Database, file: string, now: Date = new Date()): Promise<BootstrapOutcome> {
  const key = await readKey(file);
  if (key !== undefined) {
    if ((await findApiKey(db, key)) !== undefined) return 'known';
    if (await registerApiKey(db, { ...BOOTSTRAP, key, now })) return 'registered';
  }
  const made = await createApiKey(db, { ...BOOTSTRAP, now });
  await writeKey(file, made.key);
  return 'made';
}

async function readKey(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new BootstrapKeyError(`the bootstrap key file ${file} cannot be read (${codeOf(error)})`);
  }
  if (!/^mk_[0-9A-Za-z]{40,100}$/.test(text)) {
    throw new BootstrapKeyError(
      `the bootstrap key file ${file} must hold one key, mk_ and at least 40 letters and digits`,
    );
  }
  return text;
}

async function writeKey(file: string, key: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(file, 'w', 0o600);
    try {
      // The mode above holds for new files alone.
      await handle.chmod(0o600);
      await handle.writeFile(`${key}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new BootstrapKeyError(`the bootstrap key file ${file} cannot be written (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unexpected failure';
}
