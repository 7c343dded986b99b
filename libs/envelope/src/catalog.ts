/**
 * The catalog: every runbook and tool of a process, checked whole when it is built, so that a renamed ingredient fails
 * the start and not the first run at three in the morning.
 */
import type { Runbook } from './define-runbook.ts';
import type { Tool } from './tool.ts';

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
 * @throws CatalogError for a duplicate name or an ingredient that is not there
 */
export function createCatalog(options: {
  readonly runbooks: readonly Runbook[];
  readonly tools?: readonly Tool[];
  readonly hostTools?: readonly string[];
}): Catalog {
  const { runbooks, tools = [], hostTools = [] } = options;
  const byName = uniqueByName('runbook', runbooks);
  const toolsByName = uniqueByName('tool', tools);
  const available = [...toolsByName.keys(), ...hostTools];
  for (const runbook of runbooks) assertComposedOf(runbook, available);
  for (const tool of tools) assertComposedOf(tool, available);
  return { runbooks: byName, tools: toolsByName };
}

/** Checks that every ingredient of a tool or runbook is there. @throws CatalogError naming the missing ones */
export function assertComposedOf(
  composed: { readonly name: string; readonly composedOf?: readonly string[] },
  available: Iterable<string>,
): void {
  const names = new Set(available);
  const missing = (composed.composedOf ?? []).filter((name) => !names.has(name));
  if (missing.length === 0) return;
  const known = names.size === 0 ? 'no tool is registered' : `registered are ${[...names].sort().join(', ')}`;
  throw new CatalogError(`'${composed.name}' is composed of ${missing.join(', ')}, which is not registered; ${known}`);
}

function uniqueByName<T extends { readonly name: string }>(what: string, items: readonly T[]): Map<string, T> {
  const byName = new Map<string, T>();
  for (const item of items) {
    if (byName.has(item.name)) throw new CatalogError(`two ${what}s are named '${item.name}'`);
    byName.set(item.name, item);
  }
  return byName;
}
