export { buildWorker, type Worker, type WorkerParts } from './build-worker.ts';
