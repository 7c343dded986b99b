import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';
import type { Measurement } from './measurements.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that measurements are noted in, a JSON text a line. */
    chaosMeasurements: string;
  }
}

/** Notes something for the end of the run. */
export function noteMeasurement(measurement: Measurement): void {
  appendFileSync(inject('chaosMeasurements'), `${JSON.stringify(measurement)}\n`);
}
