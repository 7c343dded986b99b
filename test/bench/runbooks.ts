/** The module that worker processes load for the benchmark. */
import { benchRunbook } from './charts.ts';
import { lookHooks, lookRunbook } from './look-runbook.ts';
import { probeTool, waitingRunbook } from './waiting-runbook.ts';

export const runbooks = [benchRunbook, waitingRunbook, lookRunbook];
export const hooks = lookHooks;
export const tools = [probeTool];
