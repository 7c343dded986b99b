/** The module that worker processes load for the benchmark. */
import { benchRunbook } from './charts.ts';

export const runbooks = [benchRunbook];
