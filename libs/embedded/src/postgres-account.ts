/**
 * Whom PostgreSQL runs as. It refuses to run as root, so root hands it to an account without rights; everybody else runs
 * it as themselves.
 */
import { readFile, stat } from 'node:fs/promises';
import { EmbeddedError } from './embedded-error.ts';

/** A numeric account, as child_process takes it. */
export interface PostgresAccount {
  readonly uid: number;
  readonly gid: number;
}

/** Preferred first: an account that is there for PostgreSQL, else the one that exists everywhere. */
const ACCOUNT_NAMES = ['postgres', 'nobody'];

/**
 * The account for a data directory, or undefined when this process is not root. Data that exist keep their owner, so a
 * later change of the machine's accounts does not lock a person out.
 *
 * @throws EmbeddedError `embedded_account_missing` when root finds no account to run PostgreSQL as.
 */
export async function postgresAccount(dataDirectory: string): Promise<PostgresAccount | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = await stat(dataDirectory).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const name of ACCOUNT_NAMES) {
    const found = findAccount(accounts, name);
    if (found !== undefined) return found;
  }
  throw new EmbeddedError(
    'embedded_account_missing',
    `PostgreSQL does not run as root, and this machine has no account named ${ACCOUNT_NAMES.join(' or ')}; run as another user, or set DATABASE_URL to a PostgreSQL of yours`,
  );
}

function findAccount(passwd: string, name: string): PostgresAccount | undefined {
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.split(':');
  const uid = Number(fields?.[2]);
  const gid = Number(fields?.[3]);
  // macOS gives nobody -2, which the kernel takes as an unsigned number.
  return fields !== undefined && Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0
    ? { uid: uid >>> 0, gid: gid >>> 0 }
    : undefined;
}
