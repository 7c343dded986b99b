/**
 * The table of settings: every environment variable Muster reads, in one place. `docs/configuration.md` is checked
 * against it by a test.
 */

/** How one environment variable is read. `parse` throws a text that says what it may be. */
export interface Setting<T> {
  readonly name: string;
  readonly purpose: string;
  /** What it is when it is not set, for the documentation. */
  readonly unset: string;
  /** Its value is never shown, not even in an error. */
  readonly secret?: true;
  parse(value: string | undefined): T;
}

type Settings = Readonly<Record<string, Setting<unknown>>>;

const text = (value: string | undefined) => (value === undefined || value === '' ? undefined : value);

function url(...protocols: string[]) {
  return (value: string | undefined): string | undefined => {
    const given = text(value);
    if (given === undefined) return undefined;
    const expected = `a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
    if (!URL.canParse(given) || !protocols.includes(new URL(given).protocol)) throw expected;
    return given;
  };
}

function whole(fallback: number, least: number, most: number) {
  return (value: string | undefined): number => {
    const given = text(value);
    if (given === undefined) return fallback;
    const number = Number(given);
    if (!/^\d+$/.test(given) || number < least || number > most) throw `a whole number from ${least} to ${most}`;
    return number;
  };
}

function choice<const T extends string>(fallback: T, ...choices: T[]) {
  return (value: string | undefined): T => {
    const given = text(value);
    if (given === undefined) return fallback;
    if (!choices.includes(given as T)) throw `one of ${choices.join(', ')}`;
    return given as T;
  };
}

/** It becomes a schema in PostgreSQL and the first part of every key in Redis. */
function queueName(fallback: string) {
  return (value: string | undefined): string => {
    const given = text(value) ?? fallback;
    if (!/^[a-z][a-z0-9_]{0,39}$/.test(given)) {
      throw 'at most 40 lower-case letters, digits and _, beginning with a letter';
    }
    return given;
  };
}

function secretKey(value: string | undefined): Buffer | undefined {
  const given = text(value);
  if (given === undefined) return undefined;
  const key = Buffer.from(given, 'base64');
  if (key.length !== 32) throw '32 bytes in base64 (openssl rand -base64 32 makes one)';
  return key;
}

/** Variables of ours would become readable by a prefix that one of them begins with. */
function credentialPrefix(fallback: string) {
  return (value: string | undefined): string => {
    const given = text(value) ?? fallback;
    const ours: string[] = Object.values(SETTINGS).map(({ name }) => name);
    if (!/^[A-Z][A-Z0-9_]{0,62}_$/.test(given) || ours.some((name) => name.startsWith(given))) {
      throw 'upper-case letters, digits and _, ending with _, and no setting of Muster may begin with it';
    }
    return given;
  };
}

function listOf(what: string) {
  return (value: string | undefined): readonly string[] => {
    const entries = (text(value)?.split(',') ?? []).map((entry) => entry.trim());
    if (entries.includes('')) throw `${what}, separated by commas`;
    return entries;
  };
}

const MIB = 1024 * 1024;

export const SETTINGS = {
  databaseUrl: {
    name: 'DATABASE_URL',
    purpose: 'PostgreSQL that holds runs, verdict rows and answers, and the queue too when REDIS_URL is not set.',
    unset: '`npm start` and `npm run demo` bring an embedded PostgreSQL; a service started by itself refuses',
    secret: true,
    parse: url('postgres:', 'postgresql:'),
  },
  redisUrl: {
    name: 'REDIS_URL',
    purpose:
      'Redis for the queue. It must not evict (`maxmemory-policy noeviction`) and should append (`appendonly yes`).',
    unset: 'the queue lives in PostgreSQL',
    secret: true,
    parse: url('redis:', 'rediss:'),
  },
  queuePrefix: {
    name: 'MUSTER_QUEUE_PREFIX',
    purpose: 'Name of this installation within the queue store, where several share one.',
    unset: 'muster',
    parse: queueName('muster'),
  },
  s3Bucket: {
    name: 'S3_BUCKET',
    purpose: 'Bucket that holds the artifacts.',
    unset: 'artifacts live in a folder',
    parse: text,
  },
  s3Endpoint: {
    name: 'S3_ENDPOINT',
    purpose: 'Endpoint of an S3-compatible store.',
    unset: "Amazon's own",
    parse: url('http:', 'https:'),
  },
  s3Region: {
    name: 'S3_REGION',
    purpose: 'Region of the bucket.',
    unset: 'us-east-1',
    parse: (v) => text(v) ?? 'us-east-1',
  },
  s3Prefix: { name: 'S3_PREFIX', purpose: 'Prefix of every key in the bucket.', unset: 'none', parse: text },
  s3AccessKeyId: {
    name: 'S3_ACCESS_KEY_ID',
    purpose: 'Access key of the store.',
    unset: "the AWS SDK's own chain of credentials",
    secret: true,
    parse: text,
  },
  s3SecretAccessKey: {
    name: 'S3_SECRET_ACCESS_KEY',
    purpose: 'Secret of that access key.',
    unset: "the AWS SDK's own chain of credentials",
    secret: true,
    parse: text,
  },
  s3ForcePathStyle: {
    name: 'S3_FORCE_PATH_STYLE',
    purpose: 'Put the bucket into the path instead of the host name, as most self-hosted stores want it.',
    unset: 'false',
    parse: choice('false', 'true', 'false'),
  },
  dataDirectory: {
    name: 'MUSTER_DATA_DIR',
    purpose: 'Folder of everything embedded: database, artifacts, keys.',
    unset: '`.muster`',
    parse: (v) => text(v) ?? '.muster',
  },
  host: {
    name: 'MUSTER_HOST',
    purpose: 'Address the API listens on.',
    unset: '127.0.0.1',
    parse: (v) => text(v) ?? '127.0.0.1',
  },
  port: {
    name: 'MUSTER_PORT',
    purpose: 'Port the API listens on; 0 takes a free one.',
    unset: '7420',
    parse: whole(7420, 0, 65_535),
  },
  apiUrl: {
    name: 'MUSTER_API_URL',
    purpose: 'Address of the API that the command line talks to.',
    unset: 'the one that runs in the data folder',
    parse: url('http:', 'https:'),
  },
  apiKey: {
    name: 'MUSTER_API_KEY',
    purpose: 'API key that the command line uses.',
    unset: 'the admin key in the data folder',
    secret: true,
    parse: text,
  },
  secretKey: {
    name: 'MUSTER_SECRET_KEY',
    purpose: 'Key that encrypts what waits to be judged. The same for every API and worker.',
    unset: 'embedded: one is made in the data folder; a service started by itself refuses',
    secret: true,
    parse: secretKey,
  },
  bootstrapKeyFile: {
    name: 'MUSTER_BOOTSTRAP_KEY_FILE',
    purpose: 'File that the API writes a first admin key to when there is none, readable by its owner alone.',
    unset: 'no key is made; embedded: `admin.key` in the data folder',
    parse: text,
  },
  runbooksModule: {
    name: 'MUSTER_RUNBOOKS',
    purpose: 'Path of a module that exports `runbooks` (and `tools`, and `hooks`) of your own.',
    unset: 'the shipped runbooks alone',
    parse: text,
  },
  schedulesFile: {
    name: 'MUSTER_SCHEDULES',
    purpose: 'Path of a file of schedules (YAML or JSON) that the API applies when it starts.',
    unset: 'schedules stay as they are',
    parse: text,
  },
  buildId: {
    name: 'MUSTER_BUILD_ID',
    purpose: "Name of the code behind the runbooks, part of every definition's digest.",
    unset: 'a digest over the source files of the runbooks',
    parse: text,
  },
  credentialsEnvPrefix: {
    name: 'MUSTER_CREDENTIALS_ENV_PREFIX',
    purpose: 'Beginning of the names of environment variables that tools may refer to as credentials.',
    unset: '`MUSTER_CREDENTIAL_`',
    parse: credentialPrefix('MUSTER_CREDENTIAL_'),
  },
  credentialsDirectory: {
    name: 'MUSTER_CREDENTIALS_DIR',
    purpose: 'Folder of the files that tools may refer to as credentials.',
    unset: '`credentials` in the data folder',
    parse: text,
  },
  credentialsCommands: {
    name: 'MUSTER_CREDENTIALS_COMMANDS',
    purpose: 'Programs that tools may refer to for credentials, separated by commas, spelled as the tools spell them.',
    unset: 'none may be run',
    parse: listOf('names or paths of programs'),
  },
  credentialsCacheMs: {
    name: 'MUSTER_CREDENTIALS_CACHE_MS',
    purpose: 'How long a credential from a file or a command is kept in memory, in ms; 0 reads it for every call.',
    unset: '60000',
    parse: whole(60_000, 0, 3_600_000),
  },
  logLevel: {
    name: 'MUSTER_LOG_LEVEL',
    purpose: 'How much is logged.',
    unset: 'info',
    parse: choice('info', 'fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  },
  logFormat: {
    name: 'MUSTER_LOG_FORMAT',
    purpose: 'JSON lines, or text for people.',
    unset: 'auto: text on a terminal, else JSON',
    parse: choice('auto', 'auto', 'json', 'pretty'),
  },
  uploadMaxBytes: {
    name: 'MUSTER_UPLOAD_MAX_BYTES',
    purpose: 'Largest input file that is taken, in bytes.',
    unset: '268435456 (256 MiB)',
    parse: whole(256 * MIB, 1, 64 * 1024 * MIB),
  },
  maxWaiters: {
    name: 'MUSTER_MAX_WAITERS',
    purpose: 'Requests that may wait for changes of runs at once, in one API process; one more is refused.',
    unset: '10000',
    parse: whole(10_000, 1, 1_000_000),
  },
  selfApproval: {
    name: 'MUSTER_SELF_APPROVAL',
    purpose: 'Whether the key that started a run may answer its questions, also where the runbook does not say so.',
    unset: 'refuse',
    parse: choice('refuse', 'allow', 'refuse'),
  },
  notifyPrivate: {
    name: 'MUSTER_NOTIFY_PRIVATE',
    purpose: 'Whether notices and callbacks may go to addresses that are not public: this machine, private networks.',
    unset: 'refuse',
    parse: choice('refuse', 'allow', 'refuse'),
  },
  artifactMaxBytes: {
    name: 'MUSTER_ARTIFACT_MAX_BYTES',
    purpose: 'Largest artifact that the store takes, in bytes.',
    unset: '1073741824 (1 GiB)',
    parse: whole(1024 * MIB, 1, 1024 * 1024 * MIB),
  },
  workerConcurrency: {
    name: 'MUSTER_WORKER_CONCURRENCY',
    purpose: 'Chunks that one worker assesses at once.',
    unset: '2',
    parse: whole(2, 1, 64),
  },
  chartThreads: {
    name: 'MUSTER_CHART_THREADS',
    purpose: 'Threads of one worker that charts run on.',
    unset: '1',
    parse: whole(1, 1, 64),
  },
  threadHeapMb: {
    name: 'MUSTER_THREAD_HEAP_MB',
    purpose: 'Memory that the charts of one thread may use before the subject in it is set aside, in MiB.',
    unset: '256',
    parse: whole(256, 32, 65_536),
  },
  sliceMs: {
    name: 'MUSTER_SLICE_MS',
    purpose: 'Longest turn of a chunk before it settles what it has and hands on the rest, in ms.',
    unset: '4000',
    parse: whole(4000, 50, 60_000),
  },
  lockMs: {
    name: 'MUSTER_LOCK_MS',
    purpose: 'How long a job stays with a worker that gave no sign of life, in ms.',
    unset: '10000',
    parse: whole(10_000, 1000, 60_000),
  },
  stallCheckMs: {
    name: 'MUSTER_STALL_CHECK_MS',
    purpose: 'How often jobs of dead workers are looked for, in ms.',
    unset: '2000',
    parse: whole(2000, 250, 30_000),
  },
  shutdownMs: {
    name: 'MUSTER_SHUTDOWN_MS',
    purpose: 'Time from SIGTERM to the end of the process, in ms; work that is not done by then is handed back.',
    unset: '10000',
    parse: whole(10_000, 500, 300_000),
  },
  withdrawAfterMs: {
    name: 'MUSTER_WITHDRAW_AFTER_MS',
    purpose:
      'How long runs wait for a worker that has their definition, in ms, before they are ended with what they have.',
    unset: '600000',
    parse: whole(600_000, 1000, 86_400_000),
  },
  retentionDays: {
    name: 'MUSTER_RETENTION_DAYS',
    purpose: 'How long runs that are over are kept, in days; the newest sweep of each scope stays. 0 keeps all.',
    unset: '90',
    parse: whole(90, 0, 36_500),
  },
  dispatchWindow: {
    name: 'MUSTER_DISPATCH_WINDOW',
    purpose: 'Jobs that are in the queue at most; the rest waits in PostgreSQL, in fair order.',
    unset: '64',
    parse: whole(64, 1, 10_000),
  },
} as const satisfies Settings;
