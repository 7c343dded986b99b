/** Makes ids that are the same in every run of a test: `run_1`, `run_2`, ... counted for each prefix. */
export function newCounterIds(): (prefix?: string) => string {
  const counts = new Map<string, number>();
  return (prefix = 'id') => {
    const next = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, next);
    return `${prefix}_${next}`;
  };
}
