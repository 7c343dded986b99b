/** Gathers what the tests of a run measure, and tells it when they are done. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Measurement, summarise } from './measurements.ts';

interface TestRun {
  provide(key: 'chaosMeasurements', file: string): void;
}

export default function setup(run: TestRun): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'muster-measured-'));
  const file = join(folder, 'measurements.ndjson');
  writeFileSync(file, '');
  run.provide('chaosMeasurements', file);
  return () => {
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    for (const line of summarise(lines.map((text) => JSON.parse(text) as Measurement))) console.log(line);
    rmSync(folder, { recursive: true, force: true });
  };
}
