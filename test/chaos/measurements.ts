/** What the suite measures beside what it asserts: told at the end of a run, never compared with a limit. */

export interface Measurement {
  /** What was measured, with its unit: `reclaim after kill -9, ms`. */
  readonly what: string;
  readonly backend: string;
  readonly value: number;
}

/** One line for each thing that was measured. */
export function summarise(measurements: readonly Measurement[]): string[] {
  const groups = Map.groupBy(measurements, ({ what, backend }) => `${what}, ${backend}`);
  return [...groups].map(([name, group]) => {
    const values = group.map(({ value }) => value).sort((a, b) => a - b);
    const median = values[Math.floor((values.length - 1) / 2)];
    return `measured: ${name}: median ${median}, most ${values.at(-1)} (${values.length} times)`;
  });
}
