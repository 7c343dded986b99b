/**
 * What has to hold before a change lands: format and lint (with the import boundaries), types, tests. The tests come
 * last, so that their closing lines are the last lines.
 */
import { spawnSync } from 'node:child_process';

const STEPS = [
  ['format, lint and boundaries', 'biome', ['ci', ...(process.stdout.isTTY ? [] : ['--colors=off']), '.']],
  ['types', 'turbo', ['run', 'typecheck', '--output-logs=errors-only', '--no-update-notifier']],
  ['tests', 'npm', ['test', '--silent']],
];

for (const [what, program, args] of STEPS) {
  console.log(`\n== ${what}`);
  const { status, error } = spawnSync(program, args, {
    stdio: 'inherit',
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  });
  if (status !== 0) {
    console.log(`\nverify stopped at: ${what}${error ? ` (${error.message})` : ''}`);
    process.exit(status ?? 1);
  }
}
