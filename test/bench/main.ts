/**
 * `npm run bench`: figures and ratios, each measured in this one run on this one machine. `-- --json` prints them as JSON
 * and nothing else on standard output; `-- NAME ...` measures only those.
 */
import { measureEnvelopeOverhead } from './envelope-overhead.ts';

const SUITES: Readonly<Record<string, () => Promise<unknown>>> = {
  envelope: () => measureEnvelopeOverhead(),
};

const asJson = process.argv.includes('--json');
const asked = process.argv.slice(2).filter((argument) => argument !== '--json');
const unknown = asked.filter((name) => !Object.hasOwn(SUITES, name));
if (unknown.length > 0) {
  console.error(`bench: there is no suite ${unknown.join(', ')}; there are ${Object.keys(SUITES).join(', ')}`);
  process.exit(2);
}

const figures: Record<string, unknown> = { node: process.version, at: new Date().toISOString() };
for (const [name, measure] of Object.entries(SUITES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  figures[name] = await measure();
}
if (asJson) console.log(JSON.stringify(figures, null, 1));
else console.log(figures);
