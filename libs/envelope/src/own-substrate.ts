/**
 * Charts of another copy of the substrate.
 *
 * A runbook that lives in a package of its own builds its charts with the footprintjs installed there, and CommonJS code
 * gets another build of it than modules do. The substrate knows its own decisions and scopes by symbols that each copy
 * makes for itself, so a chart of another copy would decide nothing and could not break off. Here they become this copy's.
 */
import type { FlowChart } from 'footprintjs';
import { decide, flowChart } from 'footprintjs';

type ScopeFactory = (...args: unknown[]) => unknown;

const BRAND = Object.getOwnPropertySymbols(decide({}, [], 'none'))[0] as symbol;
const typedScope = (flowChart('none', () => undefined, 'none').build() as { scopeFactory?: unknown })
  .scopeFactory as ScopeFactory;

/** What decide() or select() of any copy gave, as this copy's; anything else is handed back as it is. */
export function ownDecision(decision: unknown): unknown {
  if (decision === null || typeof decision !== 'object' || Object.hasOwn(decision, BRAND)) return decision;
  const isForeign = Object.getOwnPropertySymbols(decision).some((symbol) => symbol.description === BRAND.description);
  return isForeign ? { ...decision, [BRAND]: true } : decision;
}

/** A chart's scope factory; one that makes the substrate's typed scopes is replaced by this copy's. */
export function ownScopeFactory(chart: FlowChart): ScopeFactory | undefined {
  const { scopeFactory: given } = chart as { scopeFactory?: ScopeFactory };
  if (given === undefined) return undefined;
  let factory: ScopeFactory | undefined;
  return (...args) => {
    if (factory !== undefined) return factory(...args);
    const scope = given(...args);
    const isTyped = Object.prototype.toString.call(scope) === '[object TypedScope]';
    factory = isTyped ? typedScope : given;
    return isTyped ? typedScope(...args) : scope;
  };
}
