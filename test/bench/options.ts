import { parseArgs } from 'node:util';
import { BACKENDS, type BackendName } from './stage.ts';

/** Measured when nothing is named. The million is measured only when it is. */
export const SUITE_NAMES = ['envelope', 'sweep', 'baseline', 'waiting', 'agents', 'inbox', 'million'] as const;
export type SuiteName = (typeof SUITE_NAMES)[number];

export interface BenchOptions {
  readonly suites: readonly SuiteName[];
  readonly json: boolean;
  /** Print Markdown tables. */
  readonly markdown: boolean;
  /** Fleet sizes, smallest first. */
  readonly subjects: readonly number[] | undefined;
  readonly backends: readonly BackendName[] | undefined;
  /** The most that the million may take, in minutes. */
  readonly limitMinutes: number;
  /** Where the plot goes. */
  readonly plot: string | undefined;
  /** Figures to read instead of measuring. */
  readonly from: readonly string[];
}

/** Arguments that cannot be meant. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

const MOST_SUBJECTS = 1_000_000;
const LIMIT_MINUTES = 30;

/** Reads the arguments. @throws OptionsError in one line */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args);
  const from = values.from ?? [];
  if (from.length > 0 && positionals.length > 0) {
    throw new OptionsError('--from reads figures instead of measuring, so no suite can be named with it');
  }
  if (values.json && values.markdown) throw new OptionsError('--json and --markdown cannot both be printed');
  if (from.length > 0 && values.plot === undefined && !values.json && !values.markdown) {
    throw new OptionsError('--from wants --plot FILE.svg, --markdown or --json');
  }
  if (values.plot !== undefined && !values.plot.endsWith('.svg')) {
    throw new OptionsError(`--plot must name a file that ends with .svg; got '${values.plot}'`);
  }
  return {
    suites:
      positionals.length > 0
        ? positionals.map((name) => oneOf(name, SUITE_NAMES, 'a suite'))
        : SUITE_NAMES.filter((name) => name !== 'million'),
    json: values.json ?? false,
    markdown: values.markdown ?? false,
    subjects: values.subjects === undefined ? undefined : readSizes(values.subjects),
    backends: values.backend?.map((name) => oneOf(name, BACKENDS, '--backend')),
    limitMinutes: readWhole(values['limit-minutes'] ?? String(LIMIT_MINUTES), '--limit-minutes', 24 * 60),
    plot: values.plot,
    from,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        markdown: { type: 'boolean' },
        subjects: { type: 'string' },
        backend: { type: 'string', multiple: true },
        'limit-minutes': { type: 'string' },
        plot: { type: 'string' },
        from: { type: 'string', multiple: true },
      },
    });
  } catch (error) {
    // The first sentence says what is wrong; the rest is about arguments that begin with a dash.
    throw new OptionsError((error as Error).message.split(/\. |\n/)[0]);
  }
}

function readSizes(given: string): number[] {
  const sizes = given.split(',').map((size) => readWhole(size.trim(), '--subjects', MOST_SUBJECTS));
  return [...new Set(sizes)].sort((a, b) => a - b);
}

function readWhole(given: string, option: string, most: number): number {
  const number = Number(given);
  if (!/^\d+$/.test(given) || number < 1 || number > most) {
    const list = option === '--subjects' ? ', several of them with commas between' : '';
    throw new OptionsError(`${option} takes a whole number from 1 to ${most}${list}; got '${given}'`);
  }
  return number;
}

function oneOf<const T extends string>(given: string, choices: readonly T[], what: string): T {
  if (choices.includes(given as T)) return given as T;
  throw new OptionsError(`${what} must be one of ${choices.join(', ')}; got '${given}'`);
}
