/** Thresholds as a run sets them, and what is built of them once a run. */

/** The run's thresholds; the defaults themselves when it sets none, so that what was built of them is found again. */
export function thresholdsOf<Thresholds extends object>(
  defaults: Thresholds,
  input: Readonly<Record<string, unknown>>,
): Thresholds {
  const keys = Object.keys(defaults) as (keyof Thresholds & string)[];
  if (keys.every((key) => input[key] === undefined)) return defaults;
  return Object.fromEntries(keys.map((key) => [key, input[key] ?? defaults[key]])) as Thresholds;
}

/** Builds the rules for a run's thresholds once a run, not once a subject. */
export function oncePerRun<Thresholds extends object, Rules>(
  defaults: Thresholds,
  defaultRules: Rules,
  build: (thresholds: Thresholds) => Rules,
): (thresholds: Thresholds) => Rules {
  let known: { readonly key: string; readonly rules: Rules } | undefined;
  return (thresholds) => {
    if (thresholds === defaults) return defaultRules;
    const key = JSON.stringify(thresholds);
    if (known?.key !== key) known = { key, rules: build(thresholds) };
    return known.rules;
  };
}
