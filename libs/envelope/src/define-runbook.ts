/**
 * Definition: a declaration is checked whole before anything runs, and every refusal names the option and the value.
 */
import type { DecideRule, FlowChart } from 'footprintjs';
import { isPlainObject } from './coverage.ts';
import { checkRule } from './rule-check.ts';
import type {
  FleetProcedure,
  RunbookDeclaration,
  RunbookPresentation,
  RunbookProcedure,
  RunbookVerdictsOptions,
  RunbookWalkOptions,
  RunLimits,
  Standing,
} from './runbook.ts';
import { describe } from './tool.ts';
import { probeDispatch } from './tool-dispatch.ts';
import { DECLINED_VERDICT } from './verdict-rows.ts';

/** The limits of a run with every default filled in. */
export type ResolvedLimits = Required<RunLimits>;

export const DEFAULT_LIMITS: ResolvedLimits = Object.freeze({
  chunkSize: 500,
  concurrency: 1,
  subjectTimeoutMs: 30_000,
  maxSubjects: 100_000,
  chartTimeoutMs: 900_000,
});

type Common = Omit<RunbookDeclaration, 'procedure' | 'fleet' | 'limits'> & { readonly limits: ResolvedLimits };

/** A checked runbook of the bounded form. */
export type ProcedureRunbook = Common & {
  readonly form: 'procedure';
  readonly procedure: RunbookProcedure;
  readonly charts: { readonly procedure: FlowChart };
};

/** A checked runbook of the fleet form. The subject's type is erased: it is the runbook's own affair. */
export type FleetRunbook = Common & {
  readonly form: 'fleet';
  readonly fleet: FleetProcedure<never>;
  readonly charts: { readonly plan: FlowChart; readonly assess: FlowChart; readonly collect?: FlowChart };
};

export type Runbook = ProcedureRunbook | FleetRunbook;

/** A declaration that was refused. */
export class RunbookDefinitionError extends TypeError {
  override readonly name = 'RunbookDefinitionError';
  readonly code = 'runbook_invalid';
}

/**
 * Checks a declaration and builds its charts once, with a probe for tools, to read their contract.
 *
 * @throws RunbookDefinitionError naming the option and what it got
 */
export function defineRunbook<Subject = never>(declaration: RunbookDeclaration<Subject>): Runbook {
  const name = checkText(declaration?.name, 'name', 'runbook');
  const fail = refusal(name);
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) {
    throw fail('name', 'lower-case letters, digits and _, at most 63, beginning with a letter', name);
  }
  for (const option of ['version', 'description', 'resultKind'] as const) checkText(declaration[option], option, name);
  checkRules(declaration, fail);
  checkVerdicts(declaration.verdicts, fail);
  checkStandings(declaration, fail);
  checkPresentation(declaration.presentation, fail);
  checkWalk(declaration.walk, fail);
  if (declaration.composedOf !== undefined && !isTextList(declaration.composedOf)) {
    throw fail('composedOf', 'a list of tool names', declaration.composedOf);
  }
  if (typeof declaration.input?.safeParse !== 'function') throw fail('input', 'a zod object', declaration.input);
  const limits = checkLimits(declaration.limits, fail);
  const { procedure, fleet } = declaration as { procedure?: unknown; fleet?: unknown };
  if ((procedure === undefined) === (fleet === undefined)) {
    throw new RunbookDefinitionError(`runbook '${name}': give exactly one of procedure and fleet`);
  }
  if (procedure !== undefined) {
    if (typeof procedure !== 'function') throw fail('procedure', 'a function', procedure);
    const chart = probeChart(name, 'procedure', () => (procedure as RunbookProcedure)(probeDispatch(name)));
    return Object.freeze({
      ...declaration,
      limits,
      form: 'procedure',
      charts: { procedure: chart },
    }) as ProcedureRunbook;
  }
  return Object.freeze({
    ...declaration,
    limits,
    form: 'fleet',
    charts: probeFleet(name, fleet, fail),
  }) as FleetRunbook;
}

/** The standing of a verdict word, or undefined when it was not declared. `declined` always is. */
export function standingOf(verdicts: RunbookVerdictsOptions, word: string): Standing | undefined {
  if (word === DECLINED_VERDICT) return 'declined';
  return verdicts.standings !== undefined && Object.hasOwn(verdicts.standings, word)
    ? verdicts.standings[word]
    : undefined;
}

/** Checks `presentation`. Shared with the seed's own door. */
export function checkPresentation(value: unknown, fail: Refusal): asserts value is RunbookPresentation | undefined {
  if (value !== undefined && value !== 'prose' && value !== 'panel')
    throw fail('presentation', "'prose' or 'panel'", value);
}

/** Checks `verdicts`: a named decider and a whole cap. */
export function checkVerdicts(verdicts: unknown, fail: Refusal): void {
  if (!isPlainObject(verdicts)) throw fail('verdicts', 'an object with a decider', verdicts);
  if (typeof verdicts.decider !== 'string' || verdicts.decider.trim() === '') {
    throw fail('verdicts.decider', 'a non-empty string', verdicts.decider);
  }
  checkWhole(verdicts.maxRows, 'verdicts.maxRows', fail);
}

/** Checks `walk`: whole numbers, and a recording that is a boolean or a bag. */
export function checkWalk(walk: RunbookWalkOptions | undefined, fail: Refusal): void {
  if (walk === undefined) return;
  if (!isPlainObject(walk)) throw fail('walk', 'an object', walk);
  checkWhole(walk.cap, 'walk.cap', fail);
  const { recording } = walk as { recording?: unknown };
  if (recording === undefined || typeof recording === 'boolean') return;
  if (!isPlainObject(recording)) throw fail('walk.recording', 'true, false or an object', recording);
  if (recording.label !== undefined && typeof recording.label !== 'string') {
    throw fail('walk.recording.label', 'a string', recording.label);
  }
  checkWhole(recording.maxBytes, 'walk.recording.maxBytes', fail);
}

/** Runs a factory with a probe and checks that it gave a built chart. */
export function probeChart(name: string, option: string, build: () => unknown): FlowChart {
  let chart: unknown;
  try {
    chart = build();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new RunbookDefinitionError(`runbook '${name}': ${option} threw while it was being defined: ${text}`, {
      cause: error,
    });
  }
  if (chart === null || typeof chart !== 'object' || !('root' in chart) || !('buildTimeStructure' in chart)) {
    throw new RunbookDefinitionError(
      `runbook '${name}': ${option} must return a built chart (is .build() missing?), got ${describe(chart)}`,
    );
  }
  return chart as FlowChart;
}

/** Makes the error of one refused option. */
export type Refusal = (option: string, expected: string, got: unknown) => RunbookDefinitionError;

export function refusal(name: string): Refusal {
  return (option, expected, got) =>
    new RunbookDefinitionError(`runbook '${name}': ${option} must be ${expected}, got ${describe(got)}`);
}

function checkText(value: unknown, option: string, name: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw refusal(name)(option, 'a non-empty string', value);
  return value;
}

function checkWhole(value: unknown, option: string, fail: Refusal): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 1)) {
    throw fail(option, 'a whole number of at least 1', value);
  }
}

function checkRules(declaration: { readonly rules?: unknown }, fail: Refusal): void {
  const { rules } = declaration;
  if (!isPlainObject(rules)) throw fail('rules', 'an object with name and version', rules);
  for (const option of ['name', 'version'] as const) {
    const value = rules[option];
    if (typeof value !== 'string' || value.trim() === '') throw fail(`rules.${option}`, 'a non-empty string', value);
  }
  if (rules.list === undefined) return;
  if (!Array.isArray(rules.list)) throw fail('rules.list', 'a list of rules', rules.list);
  rules.list.forEach((rule, index) => {
    const fault = checkRule(rule);
    if (fault !== undefined) throw fail(`rules.list[${index}]${fault.option}`, fault.expected, fault.got);
  });
}

function checkStandings(declaration: RunbookDeclaration<never>, fail: Refusal): void {
  const standings: unknown = declaration.verdicts.standings;
  if (standings === undefined) {
    if (declaration.fleet !== undefined)
      throw fail('verdicts.standings', 'an object of verdict word to standing', undefined);
    return;
  }
  if (!isPlainObject(standings)) throw fail('verdicts.standings', 'an object of verdict word to standing', standings);
  for (const [word, standing] of Object.entries(standings)) {
    if (standing !== 'ok' && standing !== 'problem' && standing !== 'declined') {
      throw fail(`verdicts.standings.${word}`, "'ok', 'problem' or 'declined'", standing);
    }
  }
  const { list = [], otherwise } = declaration.rules;
  const fallback = otherwise === undefined ? [] : [typeof otherwise === 'string' ? otherwise : otherwise.branch];
  for (const word of [...list.map((rule: DecideRule<Record<string, unknown>>) => rule.then), ...fallback]) {
    if (standingOf(declaration.verdicts, word) === undefined) {
      throw fail('verdicts.standings', `an object that declares the word '${word}', which a rule gives`, standings);
    }
  }
}

function checkLimits(limits: unknown, fail: Refusal): ResolvedLimits {
  if (limits === undefined) return DEFAULT_LIMITS;
  if (!isPlainObject(limits)) throw fail('limits', 'an object', limits);
  for (const [limit, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, limit))
      throw fail(`limits.${limit}`, `one of ${Object.keys(DEFAULT_LIMITS).join(', ')}`, value);
    checkWhole(value, `limits.${limit}`, fail);
  }
  return Object.freeze({ ...DEFAULT_LIMITS, ...(limits as RunLimits) });
}

function probeFleet(name: string, fleet: unknown, fail: Refusal): FleetRunbook['charts'] {
  if (!isPlainObject(fleet)) throw fail('fleet', 'an object with plan, key, assess and row', fleet);
  for (const option of ['plan', 'key', 'assess', 'row'] as const) {
    if (typeof fleet[option] !== 'function') throw fail(`fleet.${option}`, 'a function', fleet[option]);
  }
  for (const option of ['identity', 'target', 'collect'] as const) {
    if (fleet[option] !== undefined && typeof fleet[option] !== 'function')
      throw fail(`fleet.${option}`, 'a function', fleet[option]);
  }
  const procedure = fleet as unknown as FleetProcedure<never>;
  const tools = probeDispatch(name);
  const sink = { add: () => Promise.reject(new Error('subjects.add was called while the runbook was being defined')) };
  return {
    plan: probeChart(name, 'fleet.plan', () => procedure.plan(tools, sink)),
    assess: probeChart(name, 'fleet.assess', () => procedure.assess(tools)),
    ...(procedure.collect !== undefined && {
      collect: probeChart(name, 'fleet.collect', () => procedure.collect?.(tools)),
    }),
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item.trim() !== '');
}
