import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identifyProcess, isAlive, type ProcessIdentity } from '@muster/embedded';

/** Where a Muster that runs in this data folder answers. */
export interface ServerFile {
  readonly address: string;
  readonly owner: ProcessIdentity;
}

const NAME = 'server.json';

/** The server of a data folder, or undefined when none lives. */
export async function readServerFile(dataDirectory: string): Promise<ServerFile | undefined> {
  try {
    const file = JSON.parse(await readFile(join(dataDirectory, NAME), 'utf8')) as ServerFile;
    return typeof file.address === 'string' && isAlive(file.owner) ? file : undefined;
  } catch {
    return undefined;
  }
}

export async function writeServerFile(dataDirectory: string, address: string): Promise<void> {
  const owner = identifyProcess(process.pid);
  await writeFile(join(dataDirectory, NAME), `${JSON.stringify({ address, owner })}\n`);
}

export async function removeServerFile(dataDirectory: string): Promise<void> {
  await rm(join(dataDirectory, NAME), { force: true });
}
