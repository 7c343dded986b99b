/**
 * The catalog: every runbook and tool of a process, checked whole when it is built, so that a renamed ingredient fails
 * the start and not the first run at three in the morning.
 */
import type { Runbook } from './define-runbook.ts';
import { assertComposedOf, assertGates, assertLimits, type Tool } from './tool.ts';

/** What a process offers, by name. */
export interface Catalog {
  readonly runbooks: ReadonlyMap<string, Runbook>;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** A catalog that was refused. */
export class CatalogError extends TypeError {
  override readonly name = 'CatalogError';
  readonly code = 'catalog_invalid';
}

/**
 * Builds a catalog.
 *
 * @param hostTools names of tools that the host gives each run by itself (`input_file`)
 * @throws CatalogError for a duplicate name, an ingredient that is not there, or one that can pause for an approval
 */
export function createCatalog(options: {
  readonly runbooks: readonly Runbook[];
  readonly tools?: readonly Tool[];
  readonly hostTools?: readonly string[];
}): Catalog {
  const { runbooks, tools = [], hostTools = [] } = options;
  const byName = uniqueByName('runbook', runbooks);
  const toolsByName = uniqueByName('tool', tools);
  const taken = hostTools.find((name) => toolsByName.has(name));
  if (taken !== undefined) throw new CatalogError(`the tool name '${taken}' is the host's own`);
  // A tool may be made by hand, so what defineTool checks is checked here too.
  for (const tool of tools) checkDeclarations(tool);
  for (const composed of [...runbooks, ...tools]) checkIngredients(composed, toolsByName, hostTools);
  return { runbooks: byName, tools: toolsByName };
}

interface Composed {
  readonly name: string;
  readonly composedOf?: readonly string[];
}

function checkDeclarations(tool: Tool): void {
  try {
    assertComposedOf(tool.name, tool.composedOf);
    assertGates(tool.name, tool.gates);
    assertLimits(tool.name, tool.limits);
  } catch (error) {
    throw new CatalogError((error as Error).message, { cause: error });
  }
}

function checkIngredients(composed: Composed, tools: ReadonlyMap<string, Tool>, hostTools: readonly string[]): void {
  const { name, composedOf = [] } = composed;
  const missing = composedOf.filter((ingredient) => !tools.has(ingredient) && !hostTools.includes(ingredient));
  if (missing.length > 0) {
    const names = [...tools.keys(), ...hostTools].sort();
    const known = names.length === 0 ? 'no tool is registered' : `registered are ${names.join(', ')}`;
    throw new CatalogError(
      `'${name}' has the composedOf ingredient '${missing.join("', '")}', which is not registered; ${known}`,
    );
  }
  const gating = composedOf.find((ingredient) => tools.get(ingredient)?.gates === true);
  if (gating !== undefined) {
    throw new CatalogError(
      `'${name}' is composed of '${gating}', which gates: it can pause for an approval, and an inner call cannot be resumed`,
    );
  }
}

function uniqueByName<T extends { readonly name: string }>(what: string, items: readonly T[]): Map<string, T> {
  const byName = new Map<string, T>();
  for (const item of items) {
    if (byName.has(item.name)) throw new CatalogError(`two ${what}s are named '${item.name}'`);
    byName.set(item.name, item);
  }
  return byName;
}
