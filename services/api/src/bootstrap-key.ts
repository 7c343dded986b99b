/**
 * The first key: without one nobody could make any. It lies in a file that its owner alone may read, and only the path is
 * ever logged.
 *
 * A file that is there is honoured: its key is valid again on an empty database, so that whoever kept it gets in. A key
 * that was revoked stays revoked.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createApiKey, type Database, findApiKey, listApiKeys } from '@muster/results';

export const BOOTSTRAP_TENANT = 'default';
const BOOTSTRAP_NAME = 'bootstrap';
const MAX_KEYS = 10_000;

/** What was done about the first key. */
export type BootstrapOutcome = 'made' | 'registered' | 'known' | 'not_needed';

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
    if (await registerKey(db, key, now)) return 'registered';
  }
  const keys = await listApiKeys(db, { tenant: BOOTSTRAP_TENANT, limit: MAX_KEYS });
  if (keys.some(({ role, revokedAt }) => role === 'admin' && revokedAt === null)) return 'not_needed';
  const made = await createApiKey(db, { tenant: BOOTSTRAP_TENANT, name: BOOTSTRAP_NAME, role: 'admin', now });
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

/** False when the key is there already, which here means that it was revoked. */
async function registerKey(db: Database, key: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into muster.api_keys (id, tenant, name, role, key_hash, created_at)
      values ($1, $2, $3, 'admin', $4, $5) on conflict (key_hash) do nothing`,
    [randomUUID(), BOOTSTRAP_TENANT, BOOTSTRAP_NAME, createHash('sha256').update(key).digest(), now],
  );
  return rowCount === 1;
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
