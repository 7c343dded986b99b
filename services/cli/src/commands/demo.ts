/** The demo sweep: made-up clusters, the shipped runbook, one answer. */
import { demoPods } from '@muster/runbooks';
import type { ApiClient } from '../api-client.ts';
import type { LocalFile } from '../input-files.ts';
import { type PrintOptions, printRun, waitForRun } from './answer-run.ts';
import { startRun } from './run.ts';

/** The instant that the demo's pods are seen at: the same answer every day. */
const DEMO_NOW = '2026-01-15T09:00:00Z';

/** Runs the demo sweep and prints its answer. */
export async function demoSweep(api: ApiClient, options: PrintOptions): Promise<number> {
  const files = demoPods(new Date(DEMO_NOW)).map(({ name, text, target }) => ({ file: textFile(name, text), target }));
  const run = await startRun(api, {
    runbook: 'kubernetes_workloads',
    fields: {},
    files,
    now: DEMO_NOW,
    priority: 'normal',
  });
  const done = await waitForRun(api, run.run_id);
  const code = await printRun(api, done, options);
  if (!options.json) {
    process.stderr.write(
      [
        '',
        `That was the demo sweep, run ${run.run_id}. Next, with a Muster that stays up (npm start):`,
        '  kubectl get pods -A -o json > pods.json',
        '  npm run muster -- run kubernetes_workloads pods.json',
        '',
      ].join('\n'),
    );
  }
  return code;
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
