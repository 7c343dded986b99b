export { buildWorker, type Worker, type WorkerParts } from './build-worker.ts';
export { ChartThreads } from './threads/chart-threads.ts';
export { InlineCharts } from './threads/inline-charts.ts';
