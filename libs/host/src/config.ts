import { SETTINGS } from './settings.ts';

type Table = typeof SETTINGS;

/** The parsed settings. */
export type Config = { readonly [K in keyof Table]: ReturnType<Table[K]['parse']> };

/** A wrong setting: its name, what it was (unless it is a secret) and what it may be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'config_invalid';
  readonly setting: string;

  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.setting = setting;
  }
}

/**
 * Parses the environment once, at the edge.
 *
 * @throws ConfigError for the first setting that is wrong, and for a `MUSTER_` name that nobody reads: a typo would
 * silently leave the default in force
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, unknown> = {};
  const names = new Set<string>();
  for (const [key, setting] of Object.entries(SETTINGS)) {
    names.add(setting.name);
    const value = env[setting.name];
    try {
      config[key] = setting.parse(value);
    } catch (expected) {
      const shown = 'secret' in setting ? 'its value is not shown' : `it was ${JSON.stringify(value)}`;
      throw new ConfigError(setting.name, `must be ${String(expected)}; ${shown}`);
    }
  }
  for (const name of Object.keys(env)) {
    if (/^MUSTER_(?!TEST_)/.test(name) && !names.has(name) && !isCredential(name, config)) {
      throw new ConfigError(name, `is no setting of Muster; did you mean ${nearest(name, [...names])}?`);
    }
  }
  if ((config.s3AccessKeyId === undefined) !== (config.s3SecretAccessKey === undefined)) {
    throw new ConfigError('S3_ACCESS_KEY_ID', 'must be given together with S3_SECRET_ACCESS_KEY');
  }
  return config as Config;
}

/** Variables that credentials lie in are named by whoever declares them. */
function isCredential(name: string, { credentialsEnvPrefix }: Readonly<Record<string, unknown>>): boolean {
  return name.startsWith(credentialsEnvPrefix as string);
}

/** The value of a setting that this process cannot do without. @throws ConfigError when it is not set */
export function requireSetting<K extends keyof Config>(config: Config, key: K): NonNullable<Config[K]> {
  const value = config[key];
  if (value === undefined || value === null)
    throw new ConfigError(SETTINGS[key].name, 'is not set, and this process needs it');
  return value as NonNullable<Config[K]>;
}

/** The candidate that takes the fewest edits to reach. */
export function nearest(word: string, candidates: readonly string[]): string {
  const ranked = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }));
  return ranked.sort((a, b) => a.distance - b.distance)[0]?.candidate ?? '';
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const current = [i];
    for (let j = 1; j <= right.length; j++) {
      const substitution = (previous[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1);
      current[j] = Math.min((previous[j] as number) + 1, (current[j - 1] as number) + 1, substitution);
    }
    previous = current;
  }
  return previous[right.length] as number;
}
