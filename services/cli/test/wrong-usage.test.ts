/** Wrong usage is one line that says what was expected, and an exit code that scripts can tell apart. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnService } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { nodeName: 'n1', containers: [{ name: 'web' }] },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' }],
    containerStatuses: [
      { name: 'web', ready: true, restartCount: 0, state: { running: { startedAt: '2026-01-01T00:01:00Z' } } },
    ],
  },
};
const FAILED = { ...POD, metadata: { ...POD.metadata, name: 'job-1' }, status: { phase: 'Failed', reason: 'Evicted' } };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  await writeFile(join(folder, 'pod.json'), JSON.stringify(POD));
  await writeFile(join(folder, 'pods.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [POD, FAILED] }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function muster(args: string[], env: Record<string, string> = {}) {
  const clean = Object.keys(process.env).filter((name) => /^(MUSTER|DATABASE|REDIS|S3)_/.test(name));
  const none = Object.fromEntries(clean.map((name) => [name, undefined]));
  const run = spawnService(MAIN, {
    args: args.map((argument) => argument.replace('FOLDER', folder)),
    env: { ...none, MUSTER_DATA_DIR: join(folder, 'data'), ...env },
  });
  const { code } = await run.exited;
  return { code, out: run.stdout, err: run.stderr };
}

describe('one line and exit 2', () => {
  test.each<[string, string[], RegExp, Record<string, string>?]>([
    ['an unknown command', ['rnu'], /run/],
    ['an unknown option', ['try', 'kubernetes_workloads', '--rosw'], /--rows/],
    ['a missing argument', ['try'], /runbook/],
    ['an unknown runbook', ['try', 'kubernetes_workload', 'FOLDER/pod.json'], /kubernetes_workloads/],
    ['an unknown input field', ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--input', 'tagret=x'], /target/],
    [
      'an input without a value',
      ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--input', 'target'],
      /FIELD=VALUE/i,
    ],
    [
      'an input of the wrong type',
      ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--input', 'retry_limit=many'],
      /retry_limit/,
    ],
    [
      'a time without a zone',
      ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--now', '2026-01-01T00:00:00'],
      /2026-01-31T12:00:00Z/,
    ],
    ['an unknown standing', ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--fail-on', 'bad'], /problem/],
    ['rows and json together', ['try', 'kubernetes_workloads', 'FOLDER/pod.json', '--rows', '--json'], /--rows/],
    [
      'a wrong setting',
      ['try', 'kubernetes_workloads', 'FOLDER/pod.json'],
      /MUSTER_PORT.*65535/,
      { MUSTER_PORT: '70000' },
    ],
    ['a setting nobody reads', ['runs'], /MUSTER_API_URL/, { MUSTER_API_ULR: 'http://127.0.0.1:1' }],
    ['a rerun of nothing', ['rerun', 'RUN'], /--only problem,not_checked or --subject KEY/],
    [
      'a rerun by an unknown word',
      ['rerun', 'RUN', '--only', 'problem,not_cheked'],
      /"not_cheked"; did you mean not_checked\?/,
    ],
    ['a rerun by no word', ['rerun', 'RUN', '--only', ''], /--only: there is no ""/],
    ['a rerun both ways', ['rerun', 'RUN', '--only', 'ok', '--subject', 'a'], /--only.*--subject/],
    ['rows of a dry run', ['run', 'kubernetes_workloads', '--dry-run', '--rows'], /--dry-run.*--rows/],
    [
      'a verdict on a dry run',
      ['run', 'kubernetes_workloads', '--dry-run', '--fail-on', 'problem'],
      /--dry-run.*--fail-on/,
    ],
    ['a dry run in one process', ['try', 'kubernetes_workloads', '--dry-run'], /--dry-run/],
    ['a canary without its sign', ['run', 'kubernetes_workloads', '--canary', '10'], /a share like 10%/],
    ['a canary of nothing', ['run', 'kubernetes_workloads', '--canary', '0%'], /over 0%/],
    ['a state that is none', ['deliveries', '--state', 'lost'], /received, done, refused, unreadable/],
    ['nothing to do with a delivery', ['delivery', 'drop', 'ID'], /show, replay/],
    ['a limit that is none', ['quota', '--max-open-runs', '-1'], /up to 2147483647, or none/],
    ['a limit in words', ['quota', '--max-subjects-per-run', 'few'], /up to 2147483647, or none/],
    ['too many workers', ['serve', '--workers', '0'], /1 to 32/],
  ])('%s', async (_what, args, expected, env) => {
    const { code, out, err } = await muster(args, env);
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(expected);
    expect(out).toEqual([]);
    expect(code).toBe(2);
  });
});

describe('one line, and nothing is begun', () => {
  test.each<[string, string[], RegExp, Record<string, string>?]>([
    ['a file that is not there', ['try', 'kubernetes_workloads', 'FOLDER/nothing.json'], /nothing\.json.*no such file/],
    ['a folder', ['try', 'kubernetes_workloads', 'FOLDER'], /folder/],
    ['no Muster that runs', ['runs'], /npm start/],
    [
      'an API that does not answer',
      ['runs'],
      /127\.0\.0\.1:9/,
      { MUSTER_API_URL: 'http://127.0.0.1:9', MUSTER_API_KEY: 'mk_none' },
    ],
  ])('%s', async (_what, args, expected, env) => {
    const { code, out, err } = await muster(args, env);
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(expected);
    expect(out).toEqual([]);
    expect([1, 2]).toContain(code);
  });
});

describe('muster try', () => {
  const NOW = ['--now', '2026-02-01T00:00:00Z'];

  test('prints one verdict row a line: the four fixed columns first, then the runbook’s own', async () => {
    const { code, out, err } = await muster(['try', 'kubernetes_workloads', 'FOLDER/pods.json', ...NOW, '--rows']);
    expect(err).toEqual([]);
    expect(code).toBe(0);
    const rows = out.map((line) => JSON.parse(line));
    expect(rows.map((row) => [row.subject, row.verdict, row.standing])).toEqual([
      ['shop/web-0', 'healthy', 'ok'],
      ['shop/job-1', 'evicted', 'problem'],
    ]);
    expect(Object.keys(rows[0]).slice(0, 4)).toEqual(['subject', 'verdict', 'standing', 'reason']);
  });

  test('prints { run, envelope } and nothing else with --json', async () => {
    const { code, out } = await muster(['try', 'kubernetes_workloads', 'FOLDER/pods.json', ...NOW, '--json']);
    expect(code).toBe(0);
    const { run, envelope, ...rest } = JSON.parse(out.join('\n'));
    expect(rest).toEqual({});
    expect(run.run_status).toBe('completed');
    expect(envelope.result.subjects).toMatchObject({ total: 2, ok: 1, problem: 1 });
  });

  test('verdicts change the exit code only when --fail-on asks for it', async () => {
    const args = ['try', 'kubernetes_workloads', 'FOLDER/pods.json', ...NOW];
    expect((await muster(args)).code).toBe(0);
    expect((await muster([...args, '--fail-on', 'problem'])).code).toBe(3);
    expect(
      (await muster(['try', 'kubernetes_workloads', 'FOLDER/pod.json', ...NOW, '--fail-on', 'problem'])).code,
    ).toBe(0);
  });
});
