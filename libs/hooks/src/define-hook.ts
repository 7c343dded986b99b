/**
 * The door for declarations: checked whole, so that a wrong hook is told at the start and not when an alert comes.
 */
import { HOOK_FORMATS } from './delivery.ts';
import { HOOK_PRIORITIES, type Hook, type HookDeclaration, HookDefinitionError } from './hook-definition.ts';
import { isObject } from './inert-json.ts';
import { findPickFault, findTemplateFault } from './input-template.ts';
import { SIGNATURE_SCHEMES } from './signature-check.ts';

const OPTIONS = [
  'name',
  'tenant',
  'format',
  'runbook',
  'version',
  'scheme',
  'secrets',
  'when',
  'input',
  'subject',
  'collapse',
  'priority',
];
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const DEFAULT_TENANT = 'default';
const STATUSES = ['firing', 'resolved', 'declined'];
const COLLAPSE_BY = ['subject', 'fingerprint', 'group'];
const SOURCES = ['env', 'file', 'command'];
const MAX_SECRETS = 8;
const MAX_WORDS = 100;
const LEAST_WITHIN_MS = 1000;
const MOST_WITHIN_MS = 7 * 86_400_000;

type Fail = (option: string, expected: string, got: unknown) => HookDefinitionError;

/** Declares a hook. @throws HookDefinitionError that names the option, what was expected and what it got. */
export function defineHook(declaration: HookDeclaration): Hook {
  if (!isObject(declaration)) throw new HookDefinitionError(`a hook must be an object, got ${show(declaration)}`);
  const { name } = declaration;
  if (!isText(name) || !NAME.test(name)) {
    const expected = 'up to 64 small letters, digits, - and _, beginning with a letter or a digit';
    throw new HookDefinitionError(`a hook's \`name\` must be ${expected}, got ${show(name)}`);
  }
  const fail: Fail = (option, expected, got) =>
    new HookDefinitionError(`hook '${name}': \`${option}\` must be ${expected}, got ${show(got)}`);
  checkKeys(declaration, OPTIONS, '', fail);
  checkWord(declaration.format, HOOK_FORMATS, 'format', fail);
  checkWord(declaration.scheme, SIGNATURE_SCHEMES, 'scheme', fail);
  checkName(declaration.runbook, 'runbook', fail);
  if (declaration.version !== undefined) checkName(declaration.version, 'version', fail);
  const tenant = declaration.tenant ?? DEFAULT_TENANT;
  checkName(tenant, 'tenant', fail);
  checkSecrets(declaration.secrets, fail);
  if (declaration.when !== undefined) checkCondition(declaration.when, fail);
  checkInput(declaration, fail);
  if (declaration.collapse !== undefined) checkCollapse(declaration.collapse, fail);
  const priority = declaration.priority ?? 'normal';
  checkWord(priority, HOOK_PRIORITIES, 'priority', fail);
  return freeze(structuredClone({ ...declaration, tenant, priority }));
}

function checkSecrets(secrets: unknown, fail: Fail): void {
  if (!Array.isArray(secrets) || secrets.length < 1 || secrets.length > MAX_SECRETS) {
    throw fail('secrets', `a list of 1 to ${MAX_SECRETS} references such as { credential, from: { env } }`, secrets);
  }
  secrets.forEach((need: unknown, at) => {
    const option = `secrets.${at}`;
    // What stands here by mistake may be a secret: it is never shown.
    if (!isObject(need)) throw fail(option, 'a reference to a credential, never the secret itself', kindOf(need));
    checkKeys(need, ['credential', 'from'], `${option}.`, (place, expected) => fail(place, expected, 'a value'));
    if (!isText(need.credential)) throw fail(`${option}.credential`, 'a non-empty name', kindOf(need.credential));
    if (need.from !== undefined) checkSource(need.from, `${option}.from`, fail);
  });
  const names = secrets.map((need: { readonly credential: string }) => need.credential);
  if (new Set(names).size < names.length) throw fail('secrets', 'references with different names', secrets);
}

function checkSource(from: unknown, option: string, fail: Fail): void {
  const places = isObject(from) ? Object.entries(from) : [];
  const [place, value] = places[0] ?? ['', undefined];
  const isCommand = Array.isArray(value) && value.length > 0 && value.every(isText);
  const fits = places.length === 1 && SOURCES.includes(place) && (place === 'command' ? isCommand : isText(value));
  if (!fits) throw fail(option, 'one of { env }, { file } or { command: [program, ...] }', kindOf(from));
}

function checkCondition(when: unknown, fail: Fail): void {
  if (!isObject(when)) throw fail('when', 'an object', when);
  checkKeys(when, ['event', 'status', 'labels'], 'when.', fail);
  if (when.event !== undefined) checkWords(when.event, 'when.event', fail);
  if (when.status !== undefined) {
    if (!Array.isArray(when.status) || when.status.length === 0) {
      throw fail('when.status', `a list of ${STATUSES.join(', ')}`, when.status);
    }
    for (const status of when.status) checkWord(status, STATUSES, 'when.status', fail);
  }
  if (when.labels === undefined) return;
  if (!isObject(when.labels)) throw fail('when.labels', 'an object of label names', when.labels);
  for (const [label, words] of Object.entries(when.labels)) {
    if (label === '') throw fail('when.labels', 'an object of label names, none of them empty', when.labels);
    checkWords(words, `when.labels.${label}`, fail);
  }
}

function checkInput({ input, subject }: HookDeclaration, fail: Fail): void {
  if (!isObject(input) || Object.hasOwn(input, 'from') || Object.hasOwn(input, 'literal')) {
    throw fail('input', 'an object whose values may be picks', input);
  }
  const fault =
    findTemplateFault(input, 'input') ?? (subject === undefined ? undefined : findPickFault(subject, 'subject'));
  if (fault !== undefined) throw fail(fault.option, fault.expected, fault.got);
}

function checkCollapse(collapse: unknown, fail: Fail): void {
  if (!isObject(collapse)) throw fail('collapse', 'an object with by and withinMs', collapse);
  checkKeys(collapse, ['by', 'withinMs'], 'collapse.', fail);
  checkWord(collapse.by, COLLAPSE_BY, 'collapse.by', fail);
  const { withinMs } = collapse;
  const fits =
    Number.isSafeInteger(withinMs) && Number(withinMs) >= LEAST_WITHIN_MS && Number(withinMs) <= MOST_WITHIN_MS;
  if (!fits)
    throw fail('collapse.withinMs', `whole milliseconds from ${LEAST_WITHIN_MS} to ${MOST_WITHIN_MS}`, withinMs);
}

function checkKeys(value: object, allowed: readonly string[], prefix: string, fail: Fail): void {
  const strange = Object.keys(value).find((key) => !allowed.includes(key));
  if (strange === undefined) return;
  const got = (value as Record<string, unknown>)[strange];
  throw fail(`${prefix}${strange}`, `left out: the options are ${allowed.join(', ')}`, got);
}

function checkWords(value: unknown, option: string, fail: Fail): void {
  const words = Array.isArray(value) ? value : [value];
  if (words.length === 0 || words.length > MAX_WORDS || !words.every(isText)) {
    throw fail(option, `a non-empty text, or a list of 1 to ${MAX_WORDS} of them`, value);
  }
}

function checkWord(value: unknown, words: readonly string[], option: string, fail: Fail): void {
  if (!isText(value) || !words.includes(value)) throw fail(option, `one of ${words.join(', ')}`, value);
}

function checkName(value: unknown, option: string, fail: Fail): void {
  if (!isText(value) || value.length > 128) throw fail(option, 'a non-empty text of up to 128 characters', value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function kindOf(value: unknown): unknown {
  return typeof value === 'string' ? 'a text that is not shown' : value;
}

function show(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : `a text of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value);
}

function freeze<T>(value: T): T {
  if (value === null || typeof value !== 'object') return value;
  for (const item of Object.values(value)) freeze(item);
  return Object.freeze(value);
}
