import pino, { type Logger } from 'pino';
import type { Config } from './config.ts';

export type { Logger } from 'pino';

/** Where secrets could stand if somebody logged a whole request or error: those places are blanked. */
const REDACTED_PATHS = [
  'authorization',
  '*.authorization',
  'req.headers',
  'headers',
  'password',
  '*.password',
  'key',
  '*.key',
];

/**
 * The logger of one process: JSON lines, or text where a person looks. Errors are logged as their name and code, and
 * their message only when it is ours (`safe`): a foreign message can carry a payload.
 */
export function createLogger(config: Pick<Config, 'logLevel' | 'logFormat'>, service: string): Logger {
  const pretty = config.logFormat === 'pretty' || (config.logFormat === 'auto' && process.stderr.isTTY === true);
  return pino(
    {
      level: config.logLevel,
      base: { service },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Standard output belongs to what a person asked for; logs go to the side of it.
    pretty
      ? pino.transport({
          target: 'pino-pretty',
          options: { destination: 2, ignore: 'service', messageFormat: '[{service}] {msg}' },
        })
      : standardError(),
  );
}

/**
 * Not `pino.destination(2)`: when the reader of standard error is gone, that one tries to write its last lines for ever,
 * and the process never ends.
 */
function standardError(): NodeJS.WriteStream {
  process.stderr.on('error', () => {});
  return process.stderr;
}
