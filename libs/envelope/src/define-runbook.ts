/**
 * Definition: a declaration is checked whole before anything runs, and every refusal names the option and the value.
 */
import type { DecideRule, FlowChart } from 'footprintjs';
import { checkAnswers } from './answer-policy.ts';
import { isPlainObject } from './plain-object.ts';
import { probeChart } from './probe-chart.ts';
import { checkRules as findRuleFault } from './rule-check.ts';
import type {
  FleetProcedure,
  RunbookDeclaration,
  RunbookProcedure,
  RunbookRules,
  RunbookVerdictsOptions,
  RunLimits,
  Standing,
} from './runbook.ts';
import {
  checkComposition,
  checkPresentation,
  checkStamp,
  checkText,
  checkVerdicts,
  checkWalk,
  checkWhole,
  type Refusal,
  RunbookDefinitionError,
  refusal,
} from './runbook-options.ts';
import { probeDispatch } from './tool-dispatch.ts';
import { DECLINED_VERDICT } from './verdict-rows.ts';

/** The limits of a run with every default filled in. */
export type ResolvedLimits = Required<Omit<RunLimits, OptionalLimit>> & Pick<RunLimits, OptionalLimit>;

/** Limits that are off when they are left out. */
type OptionalLimit = 'canary' | 'deadlineMs' | 'errorBudget';
const OPTIONAL_LIMITS: readonly OptionalLimit[] = ['canary', 'deadlineMs', 'errorBudget'];

/** The limits of a run that declares none. */
export const DEFAULT_LIMITS: ResolvedLimits = Object.freeze({
  chunkSize: 1000,
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

/** What `defineRunbook` gives: a declaration of either form, checked, with its charts built once. */
export type Runbook = ProcedureRunbook | FleetRunbook;

/**
 * Checks a declaration and builds its charts once, with a probe for tools, to read their contract.
 *
 * @throws RunbookDefinitionError naming the option and what it got
 */
export function defineRunbook<Subject = never>(declaration: RunbookDeclaration<Subject>): Runbook {
  const name = checkText(declaration?.name, 'name', 'runbook');
  const fail = refusal(name);
  // A name of ours is an identifier: it stands in addresses, queues and file names.
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) {
    throw fail('name', 'lower-case letters, digits and _, at most 63, beginning with a letter', name);
  }
  for (const option of ['version', 'description', 'resultKind'] as const) checkText(declaration[option], option, name);
  checkRules(declaration, fail);
  checkVerdicts(declaration.verdicts, fail);
  checkStandings(declaration, fail);
  checkPresentation(declaration.presentation, fail);
  checkWalk(declaration.walk, fail);
  checkComposition(name, declaration);
  if (typeof declaration.input?.safeParse !== 'function') throw fail('input', 'a zod object', declaration.input);
  checkAnswers(declaration, fail);
  const limits = checkLimits(declaration.limits, fail);
  const { procedure, fleet } = declaration as { procedure?: unknown; fleet?: unknown };
  if ((procedure === undefined) === (fleet === undefined)) {
    throw new RunbookDefinitionError(`runbook '${name}': give exactly one of procedure and fleet`);
  }
  if (procedure !== undefined) {
    if (typeof procedure !== 'function') throw fail('procedure', 'a function', procedure);
    if (limits.canary !== undefined) throw fail('limits.canary', 'left out: only a fleet has targets', limits.canary);
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

function checkRules(declaration: { readonly rules?: unknown }, fail: Refusal): void {
  checkStamp(declaration.rules, fail);
  const { list, otherwise } = declaration.rules as RunbookRules;
  if (list !== undefined) {
    const fault = findRuleFault(list);
    if (fault !== undefined) throw fail(`rules.list${fault.option}`, fault.expected, fault.got);
  }
  const branch: unknown = typeof otherwise === 'object' ? otherwise?.branch : otherwise;
  if (otherwise !== undefined && (typeof branch !== 'string' || branch.trim() === '')) {
    throw fail('rules.otherwise', 'a branch, or { branch, label? }', otherwise);
  }
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

function isShare(value: unknown): boolean {
  const [, percent] = typeof value === 'string' ? (/^(\d{1,3}(?:\.\d+)?)%$/.exec(value) ?? []) : [];
  return percent !== undefined && Number(percent) > 0 && Number(percent) <= 100;
}

function checkLimit(limit: string, value: unknown, fail: Refusal): void {
  if (limit === 'canary') {
    if (value !== undefined && !isShare(value)) throw fail('limits.canary', "a share like '10%'", value);
  } else if (limit === 'errorBudget' && typeof value === 'string') {
    if (!isShare(value)) throw fail('limits.errorBudget', "a whole number of at least 1, or a share like '5%'", value);
  } else {
    checkWhole(value, `limits.${limit}`, fail);
  }
}

function checkLimits(limits: unknown, fail: Refusal): ResolvedLimits {
  if (limits === undefined) return DEFAULT_LIMITS;
  if (!isPlainObject(limits)) throw fail('limits', 'an object', limits);
  const known = [...Object.keys(DEFAULT_LIMITS), ...OPTIONAL_LIMITS];
  for (const [limit, value] of Object.entries(limits)) {
    if (!known.includes(limit)) throw fail(`limits.${limit}`, `one of ${known.join(', ')}`, value);
    checkLimit(limit, value, fail);
  }
  return Object.freeze({ ...DEFAULT_LIMITS, ...(limits as RunLimits) });
}

function probeFleet(name: string, fleet: unknown, fail: Refusal): FleetRunbook['charts'] {
  if (!isPlainObject(fleet)) throw fail('fleet', 'an object with plan, key, assess and row', fleet);
  for (const option of ['plan', 'key', 'assess', 'row'] as const) {
    if (typeof fleet[option] !== 'function') throw fail(`fleet.${option}`, 'a function', fleet[option]);
  }
  for (const option of ['identity', 'target', 'gap', 'collect', 'approve'] as const) {
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
