import type { FlowChart } from 'footprintjs';
import { findBadStageId } from './chart-stages.ts';
import { describe } from './describe.ts';
import { RunbookDefinitionError } from './runbook-options.ts';

/** Runs a factory with a probe and checks that it gave a built chart. */
export function probeChart(name: string, option: string, build: () => unknown): FlowChart {
  let chart: unknown;
  try {
    chart = build();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new RunbookDefinitionError(`runbook '${name}': \`${option}\` threw while it was being defined: ${text}`, {
      cause: error,
    });
  }
  if (chart === null || typeof chart !== 'object' || !('root' in chart) || !('buildTimeStructure' in chart)) {
    throw new RunbookDefinitionError(
      `runbook '${name}': \`${option}\` must return a BUILT chart (is .build() missing?), got ${describe(chart)}`,
    );
  }
  const bad = findBadStageId(chart as FlowChart);
  if (bad !== undefined) {
    throw new RunbookDefinitionError(
      `runbook '${name}': \`${option}\` has the stage id ${describe(bad)}; a stage id has no /, ~ or #, which join ids into paths`,
    );
  }
  return chart as FlowChart;
}
