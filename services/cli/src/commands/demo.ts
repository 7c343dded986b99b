/** The demo sweep: made-up clusters, the shipped runbook, one answer. */
import { demoPods } from '@muster/runbooks';
import type { ApiClient } from '../api-client.ts';
import type { LocalFile } from '../input-files.ts';
import { print } from '../output/print.ts';
import { type PrintOptions, printRun, waitForRun } from './answer-run.ts';
import { startRun } from './run.ts';

/** The instant that the demo's pods are seen at: the same answer every day. */
const DEMO_NOW = '2026-01-15T09:00:00Z';

export interface DemoOptions extends PrintOptions {
  /** Whether Muster stays up afterwards: then there is an API for the next command. */
  readonly stays: boolean;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
}

/** Runs the demo sweep, prints its answer and, for a person, what to type next. */
export async function demoSweep(api: ApiClient, options: DemoOptions): Promise<number> {
  const files = demoPods(new Date(DEMO_NOW)).map(({ name, text, target }) => ({ file: textFile(name, text), target }));
  const run = await startRun(api, {
    runbook: 'kubernetes_workloads',
    fields: {},
    files,
    now: DEMO_NOW,
    priority: 'normal',
  });
  const code = await printRun(api, await waitForRun(api, run.run_id, options.signal), options);
  if (!options.json) await print(nextSteps(run.run_id, options.stays));
  return code;
}

function nextSteps(runId: string, stays: boolean): string {
  const steps = stays
    ? [
        [`npm run muster -- get ${runId}`, 'this answer again'],
        ['kubectl get pods -A -o json > pods.json', 'your own pods'],
        ['npm run muster -- run kubernetes_workloads pods.json', ''],
      ]
    : [
        ['npm start', 'the same, and it stays up: runs are kept'],
        ['kubectl get pods -A -o json > pods.json', 'your own pods'],
        ['npm run muster -- try kubernetes_workloads pods.json', 'in one process, nothing to start'],
      ];
  const width = Math.max(...steps.map(([command]) => (command as string).length));
  const lines = steps.map(([command = '', why]) => (why ? `  ${command.padEnd(width)}  # ${why}` : `  ${command}`));
  return ['', `That was the demo sweep. Next${stays ? ', in another terminal' : ''}:`, ...lines].join('\n');
}

function textFile(name: string, text: string): LocalFile {
  const bytes = new TextEncoder().encode(text);
  return {
    path: name,
    name,
    bytes: bytes.length,
    async *open() {
      yield bytes;
    },
  };
}
