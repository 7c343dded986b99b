import { cleanLine } from '@muster/envelope';
import { type Definition, nearest } from '@muster/host';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';

const NEAREST_NAMES = 3;
const SHOWN_LENGTH = 64;

/**
 * The definition by that name, in that version when one is asked for.
 *
 * @throws Problem `unknown_runbook` with names that are spelled alike, `unknown_runbook_version`
 */
export function resolveDefinition(deps: Pick<ApiDeps, 'catalog'>, name: string, version?: string): Definition {
  const definition = deps.catalog.byName.get(name);
  if (definition === undefined) {
    const shown = cleanLine(name, SHOWN_LENGTH);
    const alike = nearestNames(shown, [...deps.catalog.byName.keys()]);
    const hint = alike[0] === undefined ? '' : `; did you mean '${alike[0]}'?`;
    throw new Problem('unknown_runbook', `there is no runbook '${shown}'${hint}`, { nearest: alike });
  }
  const available = definition.runbook.version;
  if (version !== undefined && version !== available) {
    const detail = `the runbook '${name}' is here in version ${available}, not ${cleanLine(version, SHOWN_LENGTH)}`;
    throw new Problem('unknown_runbook_version', detail, { available });
  }
  return definition;
}

function nearestNames(name: string, candidates: string[]): string[] {
  const found: string[] = [];
  while (found.length < NEAREST_NAMES && found.length < candidates.length) {
    found.push(
      nearest(
        name,
        candidates.filter((candidate) => !found.includes(candidate)),
      ),
    );
  }
  return found;
}
