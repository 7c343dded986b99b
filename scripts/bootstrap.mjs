#!/usr/bin/env node
/**
 * What every npm script starts with: installs what is missing, then runs the wanted program on the Node of this project.
 * It runs on any Node from 20 on and needs nothing from node_modules.
 *
 *   node scripts/bootstrap.mjs PROGRAM [ARGUMENTS]
 *
 * Standard output belongs to the program: whatever npm says goes to standard error.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const node = join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const marker = join(modules, '.muster-installed');
const lockFile = join(root, 'package-lock.json');
const installing = join(root, '.installing');

const [major] = process.versions.node.split('.').map(Number);
if (major < 20) {
  console.error(`Muster needs Node 20 or newer to start; this is ${process.version}.`);
  process.exit(1);
}
if (!isInstalled()) await install();
run(process.argv.slice(2));

function lockDigest() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

/** Installed means: by us for this lock file, or by hand after it was written. */
function isInstalled() {
  if (!existsSync(node)) return false;
  if (existsSync(marker)) return readFileSync(marker, 'utf8') === lockDigest();
  const byHand = join(modules, '.package-lock.json');
  return existsSync(byHand) && statSync(byHand).mtimeMs >= statSync(lockFile).mtimeMs;
}

/** One install at a time: two commands in a fresh clone would otherwise remove each other's files. */
async function install() {
  let lock;
  while (lock === undefined) {
    try {
      lock = openSync(installing, 'wx');
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (!ownerLives()) rmSync(installing, { force: true });
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (isInstalled()) return;
    }
  }
  writeFileSync(lock, String(process.pid));
  closeSync(lock);
  try {
    if (isInstalled()) return;
    console.error('Installing dependencies (npm ci) ...');
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    const result = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 2, 2],
      env: { ...process.env, npm_config_yes: 'true' },
    });
    if (result.status !== 0) {
      console.error(`npm ci failed (${result.error?.message ?? `exit ${result.status}`}); nothing was started.`);
      process.exitCode = 1;
      process.exit();
    }
    writeFileSync(marker, lockDigest());
  } finally {
    rmSync(installing, { force: true });
  }
}

function ownerLives() {
  try {
    const pid = Number(readFileSync(installing, 'utf8'));
    if (!Number.isInteger(pid) || pid <= 0) return true;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs the program and ends as it ends. The terminal's Ctrl-C reaches it by itself; other signals are passed on. */
function run([program, ...args]) {
  const path = [join(modules, 'node', 'bin'), join(modules, '.bin'), process.env.PATH].join(':');
  const child = spawn(node, [join(root, program), ...args], { stdio: 'inherit', env: { ...process.env, PATH: path } });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`The program could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 1);
  });
}
