/**
 * The hooks of a module, held against the catalog: a hook that could only ever be skipped is told at the start.
 *
 * What is certain is refused (a runbook or version that is not here, a field that the runbook's schema does not have or
 * needs and never gets, a fixed value of another type); what only a delivery can show is checked when it comes.
 */
import type { Runbook } from '@muster/envelope';
import type { Hook, HookPick, InputTemplate } from '@muster/hooks';
import { z } from 'zod';
import { findReferenceFault } from './credential-places.ts';

/** What is wrong with the exported hooks as a whole, or undefined. */
export function findHooksFault(hooks: readonly Hook[], runbooks: ReadonlyMap<string, Runbook>): string | undefined {
  const names = new Set<string>();
  for (const hook of hooks) {
    if (names.has(hook.name)) return `two hooks are named '${hook.name}'`;
    names.add(hook.name);
    const fault = findHookFault(hook, runbooks);
    if (fault !== undefined) return `the hook '${hook.name}' ${fault}`;
  }
  return undefined;
}

/** Whether it went through defineHook: a bare declaration is not frozen and has no tenant of its own. */
export function isHook(hook: Partial<Hook> | null | undefined): hook is Hook {
  return typeof hook?.name === 'string' && typeof hook.tenant === 'string' && Object.isFrozen(hook);
}

function findHookFault(hook: Hook, runbooks: ReadonlyMap<string, Runbook>): string | undefined {
  for (const need of hook.secrets) {
    const fault = findReferenceFault(need);
    if (fault !== undefined) return `has the secret '${need.credential}', which ${fault}`;
  }
  const runbook = runbooks.get(hook.runbook);
  if (runbook === undefined) return `starts the runbook '${hook.runbook}', which is not there`;
  if (hook.version !== undefined && hook.version !== runbook.version) {
    return `stays with version ${hook.version} of '${hook.runbook}', which is here in version ${runbook.version}`;
  }
  const schema = z.toJSONSchema(runbook.input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const misfit = findMisfit(hook.input, schema, 'input');
  return misfit === undefined ? undefined : `does not fit '${hook.runbook}': ${misfit}`;
}

/** As much of JSON Schema as is looked at. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
}

function findMisfit(template: InputTemplate, schema: JsonSchema, at: string): string | undefined {
  if (isPick(template)) return findPickMisfit(template, schema, at);
  if (isLiteral(template)) return findTypeMisfit(template.literal, schema, at);
  if (Array.isArray(template)) {
    const items = template as readonly InputTemplate[];
    return (
      findTypeMisfit(items, schema, at) ??
      firstOf(items.map((item, nth) => () => findMisfit(item, schema.items ?? {}, `${at}.${nth}`)))
    );
  }
  if (template === null || typeof template !== 'object') return findTypeMisfit(template, schema, at);
  return findTypeMisfit(template, schema, at) ?? findFieldMisfit(template as Fields, schema, at);
}

type Fields = Readonly<Record<string, InputTemplate>>;

function findFieldMisfit(fields: Fields, schema: JsonSchema, at: string): string | undefined {
  const { properties = {}, required = [], additionalProperties } = schema;
  for (const name of required) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value === undefined) return `it needs ${at}.${name}`;
    if (isPick(value) && value.required === false && value.default === undefined) {
      return `it needs ${at}.${name}, which this hook may leave out`;
    }
  }
  return firstOf(
    Object.entries(fields).map(([name, value]) => () => {
      if (Object.hasOwn(properties, name)) return findMisfit(value, properties[name]!, `${at}.${name}`);
      if (additionalProperties === false) return `it has no field ${at}.${name}`;
      return findMisfit(value, typeof additionalProperties === 'object' ? additionalProperties : {}, `${at}.${name}`);
    }),
  );
}

function findPickMisfit(pick: HookPick, schema: JsonSchema, at: string): string | undefined {
  const types = typesOf(schema);
  if (pick.default !== undefined) {
    const misfit = findTypeMisfit(pick.default, schema, `${at}.default`);
    if (misfit !== undefined) return misfit;
  }
  if (types === undefined) return undefined;
  const picked = pick.as ?? (isTextPath(pick.from) ? 'string' : undefined);
  if (picked === undefined || types.includes(picked) || (picked === 'number' && types.includes('integer'))) {
    return undefined;
  }
  return `${at} must be ${types.join(' or ')}, and the hook picks a ${picked} there; \`as\` says what is picked`;
}

/** Labels and annotations are texts, whatever they look like. */
function isTextPath(from: HookPick['from']): boolean {
  const root = typeof from === 'string' ? from.split('.')[0] : from[0];
  return root === 'labels' || root === 'annotations';
}

function findTypeMisfit(value: unknown, schema: JsonSchema, at: string): string | undefined {
  const types = typesOf(schema);
  const type = typeOf(value);
  const fits = types === undefined || types.includes(type) || (types.includes('number') && type === 'integer');
  if (!fits) return `${at} must be ${types.join(' or ')}, and is ${type}`;
  const words = schema.const !== undefined ? [schema.const] : schema.enum;
  const isPlain = value === null || typeof value !== 'object';
  return words === undefined || !isPlain || words.includes(value)
    ? undefined
    : `${at} must be one of ${words.map(String).join(', ')}`;
}

function typesOf({ type }: JsonSchema): readonly string[] | undefined {
  return typeof type === 'string' ? [type] : type;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function firstOf(looks: readonly (() => string | undefined)[]): string | undefined {
  for (const look of looks) {
    const found = look();
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPick(template: InputTemplate): template is HookPick {
  return template !== null && typeof template === 'object' && Object.hasOwn(template, 'from');
}

function isLiteral(template: InputTemplate): template is Extract<InputTemplate, { readonly literal: unknown }> {
  return template !== null && typeof template === 'object' && Object.hasOwn(template, 'literal');
}
