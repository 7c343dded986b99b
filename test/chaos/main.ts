/**
 * `npm run test:chaos`: the chaos suite, by vitest in this process. What is asked for becomes environment variables, which
 * may be given instead (see `plan.ts`).
 *
 *   --seed N          only this seed: what a failure names, to have it again
 *   --seeds N         the seeds 1 to N (default 1)
 *   --backend NAME    only `redis` or only `postgres`
 *   --fault TEXT      only the tests whose names have this text
 *   --long            outages of two minutes and time-outs as they are shipped, too
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BACKENDS, readPlan } from './plan.ts';

const USAGE = `--seed N, --seeds N, --backend ${BACKENDS.join('|')}, --fault TEXT, --long`;

const vitestArguments = readArguments(process.argv.slice(2));
process.argv.splice(2, Infinity, ...vitestArguments);
await import(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url).href);

function readArguments(args: string[]): string[] {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        backend: { type: 'string' },
        fault: { type: 'string' },
        long: { type: 'boolean' },
      },
    });
    if (values.seed !== undefined) process.env.CHAOS_SEED = values.seed;
    if (values.seeds !== undefined) process.env.CHAOS_SEEDS = values.seeds;
    if (values.backend !== undefined) process.env.CHAOS_BACKEND = values.backend;
    if (values.long) process.env.CHAOS_LONG = '1';
    readPlan(process.env);
    const config = fileURLToPath(new URL('./vitest.config.ts', import.meta.url));
    return ['run', '--config', config, ...(values.fault === undefined ? [] : ['-t', literal(values.fault)])];
  } catch (error) {
    console.error(`test:chaos: ${(error as Error).message.split('\n')[0]}; it takes ${USAGE}`);
    process.exit(2);
  }
}

/** vitest takes a pattern. */
function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
