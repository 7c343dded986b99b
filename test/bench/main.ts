/**
 * `npm run bench`: figures and ratios, each measured in this one run on this one machine. `-- --json` prints them as JSON
 * and nothing else on standard output; `-- NAME ...` measures only those. `--subjects N` changes the size of the sweeps.
 */
import { parseArgs } from 'node:util';
import { measureEnvelopeOverhead } from './envelope-overhead.ts';
import { startRedis } from './redis.ts';
import { measureBareRate, measureSweep, type SweepFigures } from './sweep.ts';

const SUITES = { envelope: measureEnvelope, sweep: measureSweeps };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, subjects: { type: 'string', default: '20000' } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(SUITES, name));
const subjects = Number(values.subjects);
if (unknown.length > 0 || !Number.isInteger(subjects) || subjects < 1) {
  const names = Object.keys(SUITES).join(', ');
  console.error(
    `bench: expected suites of ${names}, and --subjects with a whole number; got ${process.argv.slice(2).join(' ')}`,
  );
  process.exit(2);
}

const figures: Record<string, unknown> = { node: process.version, at: new Date().toISOString() };
for (const [name, measure] of Object.entries(SUITES)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  figures[name] = await measure();
}
if (values.json) console.log(JSON.stringify(figures, null, 1));
else console.log(figures);

async function measureEnvelope(): Promise<unknown> {
  return measureEnvelopeOverhead();
}

/** Sweeps on each backend that is here, with one thread, two threads, two workers. */
async function measureSweeps(): Promise<unknown> {
  const bare = await measureBareRate();
  const redis = await startRedis();
  const sweeps: SweepFigures[] = [];
  try {
    for (const redisUrl of redis === undefined ? [undefined] : [redis.url, undefined]) {
      for (const [workers, threads] of [
        [1, 1],
        [1, 2],
        [2, 1],
      ] as const) {
        const options = {
          subjects,
          workers,
          threads,
          barePerSecond: bare,
          ...(redisUrl !== undefined && { redisUrl }),
        };
        const sweep = await measureSweep(options);
        console.error(
          `  ${sweep.backend}, ${workers} worker(s) of ${threads} thread(s): ${sweep.subjects_per_second}/s`,
        );
        sweeps.push(sweep);
      }
    }
  } finally {
    await redis?.stop();
  }
  return {
    bare_per_second: Math.round(bare),
    redis: redis === undefined ? 'no redis-server in the PATH' : 'measured',
    sweeps,
  };
}
