import type { Config } from '@muster/host';
import { type Stack, type StackOptions, startStack } from '../embedded/stack.ts';
import { EXIT } from '../exit-codes.ts';
import { ProgressLine } from '../output/progress-line.ts';

export interface ServeOptions {
  readonly verbose: boolean;
  readonly workers: number;
}

/** A signal that comes again this soon is an echo: a terminal and npm both pass Ctrl-C on. */
const ECHO_MS = 1000;

/**
 * Brings everything up, does `work` with it, and takes everything down again, also when a signal comes in the middle.
 *
 * @param stay keep it up after the work, until a signal comes
 */
export async function withStack(
  config: Config,
  options: ServeOptions,
  work: (stack: Stack) => Promise<number>,
  stay: boolean,
): Promise<number> {
  const line = new ProgressLine();
  const say = (words: string) => {
    line.clear();
    process.stderr.write(`${words}\n`);
  };
  const signalled = onSignal(() => say('stopping ...'));
  const stackOptions: StackOptions = {
    config,
    env: process.env,
    verbose: options.verbose,
    workers: options.workers,
    onStep: (words) => line.update(words),
    onTrouble: say,
  };
  const starting = startStack(stackOptions);
  const stack = await Promise.race([starting, signalled]);
  line.clear();
  if (typeof stack === 'number') {
    // Whatever has come up by now is taken down before we go.
    await starting.then((late) => late.stop()).catch(() => {});
    return stack;
  }
  try {
    const code = await Promise.race([work(stack), stack.failed, signalled]);
    return stay && code === EXIT.ok ? await Promise.race([stack.failed, signalled]) : code;
  } finally {
    line.clear();
    await stack.stop();
  }
}

/** Resolves with the exit code of the first signal; a second one, later than an echo, ends the process at once. */
function onSignal(onFirst: () => void): Promise<number> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      process.on(signal, () => {
        if (firstAt === undefined) {
          firstAt = performance.now();
          onFirst();
          resolve(code);
        } else if (performance.now() - firstAt > ECHO_MS) {
          process.exit(code);
        }
      });
    }
  });
}
