/** What goes in, what comes out, and where: files, pipes, terminals. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linesOf, muster } from './muster-process.ts';
import { podListing } from './pod-listing.ts';

const TRY = ['try', 'kubernetes_workloads'];
const NOW = ['--now', '2026-02-01T00:00:00Z'];

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'muster-io-')));
  await writeFile(join(folder, 'pods.json'), podListing(3));
  await writeFile(join(folder, 'many.json'), podListing(2000));
  await mkdir(join(folder, 'scratch'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('input', () => {
  test('standard input and a pipe give the rows that the file gives, and nothing stays behind of them', async () => {
    const env = { TMPDIR: join(folder, 'scratch') };
    const file = await muster([...TRY, 'pods.json', ...NOW, '--rows'], { cwd: folder });
    const stdin = await muster([...TRY, '-', ...NOW, '--rows'], { stdin: podListing(3), env });
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const writer = spawnSync('sh', ['-c', 'cat pods.json > pipe &'], { cwd: folder, stdio: 'ignore' });
    expect(writer.status).toBe(0);
    const pipe = await muster([...TRY, 'pipe', ...NOW, '--rows'], { cwd: folder, env });
    expect(linesOf(file.out)).toHaveLength(3);
    expect(stdin.out).toBe(file.out);
    expect(pipe.out).toBe(file.out);
    expect(await readdir(join(folder, 'scratch'))).toEqual([]);
  });

  test('standard input that is named twice is refused', async () => {
    const { code, err } = await muster([...TRY, '-', '-'], { stdin: '' });
    expect(err).toBe('muster: standard input (-) can be given once\n');
    expect(code).toBe(2);
  });

  test('under npm, a path is meant from where the user stands, not from where npm went', async () => {
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const { code, out } = await muster([...TRY, 'pods.json', ...NOW, '--rows'], {
      cwd: root,
      env: { npm_package_json: join(root, 'package.json'), INIT_CWD: folder },
    });
    expect(code).toBe(0);
    expect(linesOf(out)).toHaveLength(3);
  });

  test('a 30 February is refused, not taken for a day in March', async () => {
    const { code, err } = await muster([...TRY, 'pods.json', '--now', '2026-02-30T00:00:00Z'], { cwd: folder });
    expect(err).toMatch(/^muster: --now takes an RFC 3339 time .*2026-02-30/);
    expect(code).toBe(2);
  });

  test('files cannot be given as an input field', async () => {
    const { code, err } = await muster([...TRY, 'pods.json', '--input', 'files=[]'], { cwd: folder });
    expect(err).toBe('muster: --input files: files are named without an option, after the runbook\n');
    expect(code).toBe(2);
  });
});

describe('output', () => {
  test('in pipes there is no progress line and no colour', async () => {
    const { out, err } = await muster([...TRY, 'many.json', ...NOW], { cwd: folder });
    expect(err).toBe('');
    expect(out).toMatch(/healthy/);
    expect(out).not.toContain('\u001b');
  });

  test('on a terminal the progress line shows the work and is taken away again', async () => {
    const { out, err } = await muster([...TRY, 'many.json', ...NOW, '--rows'], { cwd: folder, terminal: true });
    expect(err).toMatch(/reading many\.json: [\d.]+ MiB of [\d.]+ MiB/);
    expect(err).toMatch(/\[#+\.*\] \d+\/2000 assess/);
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect(linesOf(out)).toHaveLength(2000);
  });

  test('on a terminal the page has colours, and NO_COLOR takes them away', async () => {
    const page = async (env: Record<string, string>) =>
      (await muster([...TRY, 'pods.json', ...NOW], { cwd: folder, terminal: true, env })).out;
    expect(await page({})).toContain('\u001b[');
    expect(await page({ NO_COLOR: '1' })).not.toContain('\u001b');
    expect(await page({ TERM: 'dumb' })).not.toContain('\u001b');
  });

  test('a reader that goes away early is no error', async () => {
    const { code, err } = await muster([...TRY, 'many.json', ...NOW, '--rows'], {
      cwd: folder,
      onOutput: (_text, closeOutput) => closeOutput(),
    });
    expect(err).toBe('');
    expect(code).toBe(0);
  });

  test('--version prints the version alone', async () => {
    const { code, out, err } = await muster(['--version']);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect([code, err]).toEqual([0, '']);
  });

  test('every command has a help with an example', async () => {
    const { out } = await muster(['--help']);
    const commands = [...out.matchAll(/^ {2}([a-z]+) (?:\[options\]|<)/gm)].map(([, name]) => name as string);
    expect(commands).toEqual([
      'run',
      'try',
      'rerun',
      'get',
      'watch',
      'diff',
      'resume',
      'interruptions',
      'cancel',
      'runs',
      'deliveries',
      'delivery',
      'runbooks',
      'schedules',
      'schedule',
      'notifiers',
      'notifier',
      'notices',
      'resend',
      'mute',
      'mutes',
      'unmute',
      'quota',
      'mcp',
      'serve',
      'demo',
    ]);
    for (const command of commands) {
      const help = await muster([command, '--help']);
      expect(help.code).toBe(0);
      expect(help.out).toMatch(new RegExp(`\nExample:\n {2}.*muster ${command}`));
    }
  });

  test('muster runbooks lists what each runbook judges and what it takes, without any service', async () => {
    const { code, out } = await muster(['runbooks']);
    expect(code).toBe(0);
    expect(out).toMatch(/^kubernetes_workloads \d+\.\d+\.\d+$/m);
    expect(out).toMatch(/^ {2}problem: .*crash_loop/m);
    expect(out).toMatch(/^ {4}files +required: the files that are named after the runbook$/m);
    const json = await muster(['runbooks', '--json']);
    expect(linesOf(json.out).map((line) => JSON.parse(line).name)).toContain('kubernetes_workloads');
  });
});
