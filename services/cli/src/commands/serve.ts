/** `muster serve` and `muster demo`: everything on this machine, brought up and taken down in order. */
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { type Config, readConfig } from '@muster/host/config';
import { ApiClient } from '../api-client.ts';
import { connect } from '../connect.ts';
import { watchParent } from '../embedded/parent-watch.ts';
import { readServerFile } from '../embedded/server-file.ts';
import { type Stack, startStack } from '../embedded/stack.ts';
import { EXIT } from '../exit-codes.ts';
import { print } from '../output/print.ts';
import { progress } from '../output/progress-line.ts';
import { demoSweep } from './demo.ts';

export interface ServeOptions {
  readonly verbose?: boolean;
  readonly workers: number;
}

/** A signal that comes again this soon is an echo: a terminal and npm both pass Ctrl-C on. */
const ECHO_MS = 1000;

/** `muster serve`: brings everything up, runs the demo sweep if asked to, and stays. */
export async function serveCommand(options: ServeOptions & { readonly demo?: boolean }): Promise<number> {
  return await withStack(readConfig(process.env), options, async (stack, stopped, signal) => {
    if (options.demo) await demoSweep(await clientOf(stack), { stays: true, signal });
    const key = relative(process.cwd(), stack.keyFile);
    await print(
      `\nMuster is up at ${stack.address}; the admin key is in ${key.startsWith('..') ? stack.keyFile : key}. Ctrl-C stops it.`,
    );
    return await stopped;
  });
}

/** `muster demo`: brings everything up, runs the demo sweep once, and ends. A Muster that is up already serves too. */
export async function demoCommand(options: ServeOptions & { readonly json?: boolean }): Promise<number> {
  const config = readConfig(process.env);
  if ((await readServerFile(config.dataDirectory)) !== undefined) {
    return await demoSweep(await connect(config), { json: options.json, stays: true });
  }
  // The demo leaves the usual port to whoever stays.
  const port = process.env.MUSTER_PORT ?? '0';
  return await withStack(config, { ...options, env: { MUSTER_PORT: port } }, async (stack, _stopped, signal) =>
    demoSweep(await clientOf(stack), { json: options.json, stays: false, signal }),
  );
}

/**
 * Brings everything up, does `work` with it, and takes everything down again, also when a signal comes in the middle.
 * `work` is given what the first signal resolves, and a signal that ends its waiting: what it would wait for is gone then.
 */
async function withStack(
  config: Config,
  options: ServeOptions & { readonly env?: Readonly<Record<string, string>> },
  work: (stack: Stack, stopped: Promise<number>, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const giveUp = new AbortController();
  const stopped = onStop(() => {
    progress.say('stopping ...');
    progress.close();
    giveUp.abort();
  });
  // Logs and a line that is written over and over do not go together.
  if (options.verbose) progress.close();
  let stack: Stack;
  try {
    stack = await startStack({
      config,
      env: { ...process.env, ...options.env },
      verbose: options.verbose === true,
      workers: options.workers,
      signal: giveUp.signal,
      onStep: (words) => progress.update(words),
      onTrouble: (words) => progress.say(words),
    });
  } catch (error) {
    if (giveUp.signal.aborted) return await stopped;
    throw error;
  }
  progress.clear();
  try {
    return await Promise.race([work(stack, stopped, giveUp.signal), stack.failed, stopped]);
  } finally {
    giveUp.abort();
    progress.clear();
    await stack.stop();
  }
}

async function clientOf(stack: Stack): Promise<ApiClient> {
  return new ApiClient(stack.address, (await readFile(stack.keyFile, 'utf8')).trim());
}

/**
 * Resolves with the exit code of the first signal, or when the npm that started us is gone. A second signal, later than an
 * echo, ends the process at once; what it leaves ends by itself.
 */
function onStop(onFirst: () => void): Promise<number> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const stop = (code: number) => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        onFirst();
        resolve(code);
      } else if (performance.now() - firstAt > ECHO_MS) {
        process.exit(code);
      }
    };
    process.on('SIGINT', () => stop(EXIT.interrupted));
    process.on('SIGTERM', () => stop(EXIT.terminated));
    process.on('SIGHUP', () => stop(EXIT.hungUp));
    watchParent(() => stop(EXIT.terminated));
  });
}
