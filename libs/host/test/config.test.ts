/** Configuration is parsed once, and a wrong value says its name, what it was and what it may be. */
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, requireSetting, SETTINGS } from '../src/index.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

function refusal(env: Readonly<Record<string, string>>): ConfigError {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error as ConfigError;
  }
  throw new Error('the configuration was taken');
}

test('nothing set is a configuration: everything embedded', () => {
  const config = readConfig({});
  expect(config).toMatchObject({ dataDirectory: '.muster', port: 7420, host: '127.0.0.1', queuePrefix: 'muster' });
  expect([config.databaseUrl, config.redisUrl, config.s3Bucket, config.secretKey]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('an empty value counts as not set', () => {
  const empty = Object.fromEntries(Object.values(SETTINGS).map(({ name }) => [name, '']));
  expect(readConfig(empty)).toEqual(readConfig({}));
});

test('values are taken as what they stand for', () => {
  const config = readConfig({
    DATABASE_URL: 'postgresql://ann@db/muster',
    REDIS_URL: 'rediss://cache:6380/2',
    MUSTER_PORT: '0',
    MUSTER_LOCK_MS: '2000',
    MUSTER_SECRET_KEY: KEY,
    S3_FORCE_PATH_STYLE: 'true',
  });
  expect(config).toMatchObject({ port: 0, lockMs: 2000, s3ForcePathStyle: 'true' });
  expect(config.secretKey).toEqual(Buffer.alloc(32, 7));
});

describe('a wrong value stops with its name, what it was and what it may be', () => {
  test.each([
    ['S3_ENDPOINT', 'minio:9000', 'a URL that begins with http:// or https://'],
    ['S3_FORCE_PATH_STYLE', 'yes', 'one of true, false'],
    ['MUSTER_API_URL', 'localhost', 'a URL that begins with http:// or https://'],
    ['MUSTER_QUEUE_PREFIX', 'a"; drop', 'at most 40 lower-case letters, digits and _, beginning with a letter'],
    ['MUSTER_PORT', '65536', 'a whole number from 0 to 65535'],
    ['MUSTER_PORT', '-1', 'a whole number from 0 to 65535'],
    ['MUSTER_PORT', '1e3', 'a whole number from 0 to 65535'],
    ['MUSTER_LOG_LEVEL', 'loud', 'one of fatal, error, warn, info, debug, trace, silent'],
    ['MUSTER_LOG_FORMAT', 'xml', 'one of auto, json, pretty'],
    ['MUSTER_UPLOAD_MAX_BYTES', '256MiB', 'a whole number from 1 to 68719476736'],
    ['MUSTER_ARTIFACT_MAX_BYTES', '0', 'a whole number from 1 to 1099511627776'],
    ['MUSTER_WORKER_CONCURRENCY', '0', 'a whole number from 1 to 64'],
    ['MUSTER_SLICE_MS', '49', 'a whole number from 50 to 60000'],
    ['MUSTER_LOCK_MS', '999', 'a whole number from 1000 to 60000'],
    ['MUSTER_STALL_CHECK_MS', '30001', 'a whole number from 250 to 30000'],
    ['MUSTER_SHUTDOWN_MS', '1.5', 'a whole number from 500 to 300000'],
    ['MUSTER_CREDENTIALS_COMMANDS', 'vault,,aws', 'names or paths of programs, separated by commas'],
    ['MUSTER_CREDENTIALS_CACHE_MS', '3600001', 'a whole number from 0 to 3600000'],
    ['MUSTER_DISPATCH_WINDOW', ' 5', 'a whole number from 1 to 10000'],
  ])('%s=%s', (name, value, expected) => {
    const error = refusal({ [name]: value });
    expect(error.message).toBe(`${name}: must be ${expected}; it was ${JSON.stringify(value)}`);
    expect([error.setting, error.code]).toEqual([name, 'config_invalid']);
  });

  test.each([
    ['DATABASE_URL', 'mysql://ann:geheim@db/muster', 'a URL that begins with postgres:// or postgresql://'],
    ['REDIS_URL', 'geheim@cache', 'a URL that begins with redis:// or rediss://'],
    ['MUSTER_SECRET_KEY', 'geheim', '32 bytes in base64 (openssl rand -base64 32 makes one)'],
  ])('the value of %s is a secret and is not shown', (name, value, expected) => {
    const error = refusal({ [name]: value });
    expect(error.message).toBe(`${name}: must be ${expected}; its value is not shown`);
  });

  test.each(['MUSTER_', 'DATABASE_', 'S3_SECRET_', 'MUSTER_CREDENTIALS_', 'acme_', 'ACME', '_'])(
    'no prefix of credentials lets a setting of ours be read, or has no end: %s',
    (prefix) => {
      expect(refusal({ MUSTER_CREDENTIALS_ENV_PREFIX: prefix }).message).toBe(
        `MUSTER_CREDENTIALS_ENV_PREFIX: must be upper-case letters, digits and _, ending with _, and no setting of Muster may begin with it; it was "${prefix}"`,
      );
    },
  );

  test('half a pair of S3 keys names the other half', () => {
    expect(refusal({ S3_ACCESS_KEY_ID: 'id' }).message).toMatch(/^S3_ACCESS_KEY_ID: .*S3_SECRET_ACCESS_KEY/);
    const error = refusal({ S3_SECRET_ACCESS_KEY: 'geheim' });
    expect(error.message).toMatch(/S3_SECRET_ACCESS_KEY/);
    expect(error.message).not.toMatch(/geheim/);
  });
});

describe('a MUSTER_ name that nobody reads', () => {
  test.each([
    ['MUSTER_PROT', 'MUSTER_PORT'],
    ['MUSTER_LOGLEVEL', 'MUSTER_LOG_LEVEL'],
    ['MUSTER_RUNBOOK', 'MUSTER_RUNBOOKS'],
  ])('%s is refused, and the nearest one named', (name, nearest) => {
    const error = refusal({ [name]: 'geheim' });
    expect(error.message).toBe(`${name}: is no setting of Muster; did you mean ${nearest}?`);
  });

  test('is let pass when credentials may lie in it, and only then', () => {
    expect(() => readConfig({ MUSTER_CREDENTIAL_ANYTHING: 'x' })).not.toThrow();
    const other = { MUSTER_CREDENTIALS_ENV_PREFIX: 'ACME_', MUSTER_CREDENTIAL_ANYTHING: 'geheim' };
    expect(refusal(other).setting).toBe('MUSTER_CREDENTIAL_ANYTHING');
  });

  test('what tests are told, and what belongs to others, is let pass', () => {
    expect(() => readConfig({ MUSTER_TEST_ANYTHING: '1', PATH: '/bin', S3_OTHER: 'x' })).not.toThrow();
  });
});

test('a setting that a process cannot do without is asked for by name', () => {
  const config = readConfig({});
  expect(() => requireSetting(config, 'databaseUrl')).toThrow('DATABASE_URL: is not set, and this process needs it');
  expect(requireSetting(config, 'port')).toBe(7420);
});
