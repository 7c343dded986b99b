/**
 * The data of an embedded PostgreSQL: a directory with `data` (the cluster), `password` and the lock of its owner.
 *
 * `data` appears under its name only when it is complete; a start that was killed while making it begins again.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedError } from './embedded-error.ts';
import type { PostgresAccount } from './postgres-account.ts';

/** The superuser of an embedded PostgreSQL. */
export const POSTGRES_USER = 'muster';
const MAJOR_VERSION = '18';

/**
 * How the account names the data directory. Root's account may not be able to walk to it (a clone below /root), but it
 * can always name the folder it was started in: on Linux that is /proc/self/cwd, and root starts it there.
 */
export function dataPathFor(account: PostgresAccount | undefined, data: string): string {
  return account !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : data;
}

/** The password of the cluster: made once, kept in a file that only its owner reads. */
export async function clusterPassword(directory: string): Promise<string> {
  const path = join(directory, 'password');
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (kept !== '') return kept;
  const password = randomBytes(24).toString('base64url');
  await writeFile(path, `${password}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
  return password;
}

/**
 * Makes the cluster unless it is there.
 *
 * @throws EmbeddedError `embedded_data_version` when the data are of another PostgreSQL, `embedded_start_failed` when
 * they cannot be made.
 */
export async function ensureCluster(options: {
  directory: string;
  initdb: string;
  account: PostgresAccount | undefined;
  password: string;
  sync: boolean;
}): Promise<void> {
  const data = join(options.directory, 'data');
  const version = (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  if (version === MAJOR_VERSION) return;
  if (version !== '' || (await stat(data).catch(() => undefined)) !== undefined) {
    throw new EmbeddedError(
      'embedded_data_version',
      `${data} holds ${version === '' ? 'no PostgreSQL data' : `data of PostgreSQL ${version}`}, and this is PostgreSQL ${MAJOR_VERSION}; move that folder away or choose another directory`,
    );
  }
  const fresh = join(options.directory, 'data.new');
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  if (options.account !== undefined) await chown(fresh, options.account.uid, options.account.gid);
  await runInitdb(fresh, options);
  await rename(fresh, data);
}

async function runInitdb(
  data: string,
  options: { initdb: string; account: PostgresAccount | undefined; password: string; sync: boolean },
): Promise<void> {
  const { account } = options;
  const handover = await mkdtemp(join(tmpdir(), 'muster-initdb-'));
  const passwordFile = join(handover, 'password');
  try {
    await writeFile(passwordFile, `${options.password}\n`, { mode: 0o600 });
    if (account !== undefined) {
      await chown(passwordFile, account.uid, account.gid);
      await chown(handover, account.uid, account.gid);
    }
    // The built-in locale sorts the same way on every machine.
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    const access = ['--auth=scram-sha-256', `--username=${POSTGRES_USER}`, `--pwfile=${passwordFile}`];
    const args = [`--pgdata=${dataPathFor(account, data)}`, ...access, ...locale, '--no-instructions'];
    await promisify(execFile)(options.initdb, options.sync ? args : [...args, '--no-sync'], { ...account, cwd: data });
  } catch (cause) {
    const detail = ((cause as { stderr?: string }).stderr ?? '').trim() || (cause as Error).message;
    throw new EmbeddedError('embedded_start_failed', `the embedded PostgreSQL could not make its data: ${detail}`);
  } finally {
    await rm(handover, { recursive: true, force: true });
  }
}
