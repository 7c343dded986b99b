import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The data folder's own encryption key, made once, readable by its owner alone. In base64. */
export async function embeddedSecretKey(dataDirectory: string): Promise<string> {
  const file = join(dataDirectory, 'secret.key');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Written aside and linked: a key that is half there would lock the data for ever.
  const aside = `${file}.${process.pid}`;
  await writeFile(aside, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
  await link(aside, file).finally(() => rm(aside, { force: true }));
  return (await readFile(file, 'utf8')).trim();
}
