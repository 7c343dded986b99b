/**
 * `npm run bench`: figures and ratios, each measured in this one run on this one machine. `-- --json` prints them as JSON
 * and nothing else on standard output; `-- SUITE ...` measures only those. docs/performance.md says what each measures.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { measureAgents } from './agents.ts';
import { measureBaseline } from './baseline.ts';
import type { BenchContext } from './context.ts';
import { measureEnvelopeOverhead } from './envelope-overhead.ts';
import { measureInbox } from './inbox.ts';
import { measureMillion } from './million.ts';
import { type BenchOptions, OptionsError, readOptions, type SuiteName } from './options.ts';
import { plotSweeps } from './plot.ts';
import { type Figures, type Ratio, ratiosOf } from './ratios.ts';
import { redisVersion } from './redis.ts';
import { BACKENDS } from './stage.ts';
import { measureSweeps } from './sweeps.ts';
import { tablesOf } from './tables.ts';
import { measureWaiting } from './waiting.ts';

const SUITES: Readonly<Record<SuiteName, (context: BenchContext) => Promise<unknown>>> = {
  envelope: () => measureEnvelopeOverhead(),
  sweep: measureSweeps,
  baseline: measureBaseline,
  waiting: measureWaiting,
  agents: measureAgents,
  inbox: measureInbox,
  million: measureMillion,
};

try {
  const options = readOptions(process.argv.slice(2));
  const figures = options.from.length > 0 ? await readFigures(options.from) : await measure(options);
  if (options.json) console.log(JSON.stringify(figures, null, 1));
  else if (options.markdown) console.log(tablesOf(figures));
  else if (options.from.length === 0) console.table(figures.ratios);
  if (options.plot !== undefined) await writeFile(options.plot, plotSweeps(figures));
} catch (error) {
  console.error(`bench: ${(error as Error).message}`);
  process.exitCode = error instanceof OptionsError ? 2 : 1;
}

type AllFigures = Figures & { readonly ratios: readonly Ratio[] };

async function measure(options: BenchOptions): Promise<AllFigures> {
  const redis = redisVersion();
  const backends = options.backends ?? BACKENDS.filter((name) => name !== 'redis' || redis !== undefined);
  const stop = new AbortController();
  // As often as they come: a group of processes is told twice, and what was started has to be stopped in order.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  }
  const note = (words: string) => console.error(words);
  const context = { ...options, backends, signal: stop.signal, note };
  const machine = {
    node: process.version,
    redis: redis ?? 'no redis-server in the PATH',
    processors: `${cpus().length} x ${cpus()[0]?.model}`,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    // More than next to nothing at the beginning means that something else ran too.
    load_at_begin: Number(loadavg()[0]?.toFixed(2)),
    at: new Date().toISOString(),
  };
  const measured: Partial<Record<SuiteName, unknown>> = {};
  for (const suite of new Set(options.suites)) {
    note(`measuring ${suite} ...`);
    try {
      measured[suite] = await SUITES[suite](context);
    } catch (error) {
      // What the other suites measured took minutes, and is told all the same.
      console.error(`bench: ${suite}: ${(error as Error).message}`);
      process.exitCode = 1;
      if (stop.signal.aborted) break;
    }
  }
  const figures = measured as Figures;
  return { machine, ratios: ratiosOf(figures), ...figures };
}

/** Figures of earlier runs as one; where two have the same suite, the later one counts. */
async function readFigures(files: readonly string[]): Promise<AllFigures> {
  let figures: Figures = {};
  for (const file of files) {
    try {
      figures = { ...figures, ...(JSON.parse(await readFile(file, 'utf8')) as Figures) };
    } catch (error) {
      throw new OptionsError(`--from ${file} cannot be read as figures: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  return { ...figures, ratios: ratiosOf(figures) };
}
