/**
 * Credentials by reference, resolved where the tool is called: from environment variables, files and commands.
 *
 * Invariants: nobody is asked; what cannot be had is an error that has a code and nothing of the value, its place or what
 * a command said; a value lives in this process' memory for its stated lifetime and goes to the tool that needs it.
 */
import { join, resolve } from 'node:path';
import { type ResolveCredential, sealCredential } from '@muster/envelope';
import { type Config, readConfig } from './config.ts';
import { CredentialCache } from './credential-cache.ts';
import { type CredentialPlace, credentialPlaces } from './credential-places.ts';
import { credentialText } from './credential-text.ts';
import { readCredentialFile } from './read-credential-file.ts';
import { commandEnvironment, runCredentialCommand } from './run-credential-command.ts';

/** The settings that credentials are resolved by. */
export type CredentialSettings = Pick<
  Config,
  'credentialsEnvPrefix' | 'credentialsDirectory' | 'credentialsCommands' | 'credentialsCacheMs' | 'dataDirectory'
>;

export interface CredentialResolverOptions {
  readonly config: CredentialSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long a file or a command may take, in ms. Default 10,000. */
  readonly timeoutMs?: number;
  readonly elapsedMs?: () => number;
}

const TIMEOUT_MS = 10_000;

/**
 * Makes a resolver with a cache of its own. Variables are read anew each time; files and commands are cached.
 *
 * The resolver gives undefined where there is nothing, and throws {@link CredentialError} where it may not look, or what
 * is there is no credential.
 */
export function credentialResolver(options: CredentialResolverOptions): ResolveCredential {
  const { config, env, timeoutMs = TIMEOUT_MS, elapsedMs = () => performance.now() } = options;
  const limits = {
    envPrefix: config.credentialsEnvPrefix,
    directory: resolve(config.credentialsDirectory ?? join(config.dataDirectory, 'credentials')),
    commands: config.credentialsCommands,
  };
  const cache = new CredentialCache({ lifetimeMs: config.credentialsCacheMs, timeoutMs, elapsedMs });
  const readBytes = (place: Exclude<CredentialPlace, { env: string }>, signal: AbortSignal) =>
    'file' in place
      ? readCredentialFile(place.file, limits.directory)
      : runCredentialCommand(place.command, { env: commandEnvironment(env, limits.envPrefix), signal });
  const read = async (place: CredentialPlace, signal: AbortSignal | undefined): Promise<string | undefined> => {
    if ('env' in place) return env[place.env] || undefined;
    return await cache.get(
      JSON.stringify(place),
      async (ended) => {
        const bytes = await readBytes(place, ended);
        return bytes === undefined ? undefined : credentialText(bytes);
      },
      signal,
    );
  };
  return async (need, { target, signal }) => {
    for (const place of credentialPlaces(need, target, limits)) {
      const value = await read(place, signal);
      if (value !== undefined) return sealCredential(need.credential, value);
    }
    return undefined;
  };
}

let ofProcess: ResolveCredential | undefined;

/**
 * The resolver of this process (of this thread, where there are several), by the settings and variables of its
 * environment. They are read when the first credential is asked for.
 */
export const resolveCredential: ResolveCredential = (need, request) => {
  ofProcess ??= credentialResolver({ config: readConfig(process.env), env: process.env });
  return ofProcess(need, request);
};
