import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Catalog, createCatalog, definitionText, type Runbook, type Tool } from '@muster/envelope';
import type { Hook } from '@muster/hooks';
import { shippedRunbooks } from '@muster/runbooks';
import { findHooksFault, isHook } from './check-hooks.ts';
import { type Config, ConfigError } from './config.ts';
import { findReferenceFault } from './credential-places.ts';
import { INPUT_FILE_TOOL } from './input-file-tool.ts';

/** A runbook as runs refer to it. */
export interface Definition {
  readonly runbook: Runbook;
  /** SHA-256 over the definition's canonical text, hex. */
  readonly digest: string;
}

export interface LoadedCatalog {
  readonly catalog: Catalog;
  readonly byName: ReadonlyMap<string, Definition>;
  readonly byDigest: ReadonlyMap<string, Definition>;
  /** By name. Left out: none. */
  readonly hooks?: ReadonlyMap<string, Hook>;
}

/** What a module of runbooks exports. */
interface Exported {
  readonly runbooks: readonly Runbook[];
  readonly tools: readonly Tool[];
  readonly hooks: readonly Hook[];
}

const SOURCE_ENDINGS = new Set(['.ts', '.mts', '.js', '.mjs']);
const MAX_SOURCE_FILES = 2000;

/**
 * Loads the shipped runbooks and those of the configured module, and checks them whole.
 *
 * @throws ConfigError when the module cannot be loaded or exports something else; CatalogError and
 * RunbookDefinitionError from the check
 */
export async function loadCatalog(config: Pick<Config, 'runbooksModule' | 'buildId'>): Promise<LoadedCatalog> {
  const shippedId = config.buildId ?? (await digestSources(fileURLToPath(import.meta.resolve('@muster/runbooks'))));
  const sources: (Exported & { readonly buildId: string })[] = [
    { runbooks: shippedRunbooks, tools: [], hooks: [], buildId: shippedId },
  ];
  if (config.runbooksModule !== undefined) {
    const file = resolve(config.runbooksModule);
    const own = await importModule(file);
    sources.push({ ...own, buildId: config.buildId ?? (await digestSources(file)) });
  }
  const catalog = createCatalog({
    runbooks: sources.flatMap((source) => source.runbooks),
    tools: sources.flatMap((source) => source.tools),
    hostTools: [INPUT_FILE_TOOL],
  });
  const hooks = sources.flatMap((source) => source.hooks);
  const fault = findHooksFault(hooks, catalog.runbooks);
  if (fault !== undefined) throw new ConfigError('MUSTER_RUNBOOKS', fault);
  const definitions = sources.flatMap(({ runbooks, buildId }) =>
    runbooks.map((runbook) => ({
      runbook,
      digest: createHash('sha256').update(definitionText(runbook, buildId)).digest('hex'),
    })),
  );
  return {
    catalog,
    byName: new Map(definitions.map((definition) => [definition.runbook.name, definition])),
    byDigest: new Map(definitions.map((definition) => [definition.digest, definition])),
    hooks: new Map(hooks.map((hook) => [hook.name, hook])),
  };
}

async function importModule(file: string): Promise<Exported> {
  let exported: { readonly [K in keyof Exported]?: unknown };
  try {
    exported = await import(pathToFileURL(file).href);
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new ConfigError('MUSTER_RUNBOOKS', `the module could not be loaded: ${why}`);
  }
  const { runbooks, tools = [], hooks = [] } = exported;
  if (!Array.isArray(runbooks) || !Array.isArray(tools) || !Array.isArray(hooks)) {
    throw new ConfigError(
      'MUSTER_RUNBOOKS',
      'the module must export a list `runbooks`, and `tools` and `hooks` as lists if at all',
    );
  }
  if (!runbooks.every(isDefined)) {
    throw new ConfigError('MUSTER_RUNBOOKS', 'every entry of `runbooks` must be what defineRunbook returned');
  }
  if (!tools.every((tool) => typeof tool?.name === 'string' && typeof tool.execute === 'function')) {
    throw new ConfigError('MUSTER_RUNBOOKS', 'every entry of `tools` must be what defineTool returned');
  }
  if (!hooks.every(isHook)) {
    throw new ConfigError('MUSTER_RUNBOOKS', 'every entry of `hooks` must be what defineHook returned');
  }
  for (const tool of tools as Tool[]) checkReferences(tool);
  return { runbooks, tools, hooks };
}

/** A reference that names no place is wrong whatever is configured, so it does not wait for its first call. */
function checkReferences({ name, needs = [] }: Tool): void {
  for (const need of Array.isArray(needs) ? needs : [needs]) {
    const fault = findReferenceFault(need);
    if (fault === undefined) continue;
    throw new ConfigError('MUSTER_RUNBOOKS', `the credential '${need.credential}' of the tool '${name}' ${fault}`);
  }
}

/** Whether a runbook went through its check: a bare declaration has no charts yet. */
function isDefined(runbook: Partial<Runbook> | null | undefined): boolean {
  return typeof runbook?.name === 'string' && typeof runbook.charts === 'object';
}

/** A digest over the source files beside and below a module: the build id of code that was not built. */
async function digestSources(moduleFile: string): Promise<string> {
  const folder = dirname(moduleFile);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && SOURCE_ENDINGS.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.slice(folder.length).includes('node_modules'))
    .sort()
    .slice(0, MAX_SOURCE_FILES);
  const hash = createHash('sha256');
  for (const file of files) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest('hex');
}
