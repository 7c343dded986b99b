import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '@muster/host/config';
import { ApiClient } from './api-client.ts';
import { readServerFile } from './embedded/server-file.ts';
import { CommandError } from './exit-codes.ts';

/**
 * The API that the user means: the configured one, else the one that runs in the data folder.
 *
 * @throws CommandError when there is none, with what to do about it
 */
export async function connect(config: Config): Promise<ApiClient> {
  const { address, key } = await findApi(config);
  return new ApiClient(address, key);
}

/** Where that API answers, and the key for it. @throws CommandError as {@link connect} does */
export async function findApi(config: Config): Promise<{ readonly address: string; readonly key: string }> {
  const server = config.apiUrl === undefined ? await readServerFile(config.dataDirectory) : undefined;
  const address = config.apiUrl ?? server?.address;
  if (address === undefined) {
    throw new CommandError('no Muster is running here: start one with `npm start`, or name one with MUSTER_API_URL');
  }
  return { address, key: config.apiKey ?? (await readKey(config)) };
}

async function readKey(config: Config): Promise<string> {
  const file = config.bootstrapKeyFile ?? join(config.dataDirectory, 'admin.key');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is none' : 'it cannot be read';
    throw new CommandError(`an API key is needed, and in ${file} ${why}: name one with MUSTER_API_KEY`);
  }
}
