/** The module that worker processes load for the benchmark. */
import { benchRunbook } from './charts.ts';
import { probeTool, waitingRunbook } from './waiting-runbook.ts';

export const runbooks = [benchRunbook, waitingRunbook];
export const tools = [probeTool];
