/**
 * The stages of a chart as its author wrote them. The substrate joins ids into paths with `/`, `~` and `#`, and accepts a
 * stage id that has them: every reader of such a path is then misled (FACTS).
 */
import type { FlowChart } from 'footprintjs';

interface Stage {
  readonly id?: unknown;
  readonly children?: readonly Stage[];
  readonly next?: Stage;
}

const SEPARATOR = /[/~#]/;

/** The first stage id that would break a path, or undefined. */
export function findBadStageId(chart: FlowChart): string | undefined {
  const { root, subflows = {} } = chart as unknown as {
    root: Stage;
    subflows?: Readonly<Record<string, { readonly root: Stage }>>;
  };
  const places: [prefix: string, root: Stage][] = [['', root]];
  // The stages of a subflow carry the path of its mount in front of their own id.
  for (const [path, subflow] of Object.entries(subflows)) places.push([`${path}/`, subflow.root]);
  for (const [prefix, start] of places) {
    for (const stage of stagesFrom(start)) {
      if (typeof stage.id !== 'string') continue;
      const own = stage.id.startsWith(prefix) ? stage.id.slice(prefix.length) : stage.id;
      if (SEPARATOR.test(own)) return own;
    }
  }
  return undefined;
}

function stagesFrom(start: Stage): Set<Stage> {
  const found = new Set<Stage>();
  const open = [start];
  for (let stage = open.pop(); stage !== undefined; stage = open.pop()) {
    if (found.has(stage)) continue;
    found.add(stage);
    open.push(...(stage.children ?? []));
    if (stage.next !== undefined) open.push(stage.next);
  }
  return found;
}
