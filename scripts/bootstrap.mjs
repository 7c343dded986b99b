#!/usr/bin/env node
/**
 * What every npm script starts with: installs what is missing, then runs the wanted program on the Node of this project.
 * It runs on any Node from 20 on, needs nothing from node_modules, and is written so that an older Node can still say so.
 *
 *   node scripts/bootstrap.mjs PROGRAM [ARGUMENTS]
 *
 * Standard output belongs to the program: whatever npm says goes to standard error.
 */
import { spawn } from 'node:child_process';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LEAST_NODE = 20;
const LOOK_MS = 500;
/** npm may go on with its downloads for minutes after Ctrl-C; what it leaves is known to be incomplete. */
const NPM_GRACE_MS = 2000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const node = join(modules, 'node', 'bin', 'node');
const installing = join(root, '.installing');

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(`Muster could not be started: ${String(error.message).split('\n')[0]}`);
    process.exitCode = 1;
  },
);

async function main([program, ...args]) {
  if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
    console.error(`Muster needs Node ${LEAST_NODE} or newer to start; this is Node ${process.versions.node}.`);
    return 1;
  }
  if (program === undefined) {
    console.error('usage: node scripts/bootstrap.mjs PROGRAM [ARGUMENTS]');
    return 2;
  }
  if (!isInstalled()) {
    const failed = await install();
    if (failed !== 0) return failed;
  }
  const path = [join(modules, 'node', 'bin'), join(modules, '.bin'), process.env.PATH].join(':');
  return await runChild(node, [join(root, program), ...args], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
}

/**
 * Installed means: every package of the lock file is there in the version that it names. npm writes its own list last, so
 * an install that was interrupted has none. Packages of other platforms are optional and may be missing.
 */
function isInstalled() {
  if (!existsSync(node)) return false;
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(modules, '.package-lock.json'));
  if (wanted === undefined || present === undefined) return false;
  return Object.entries(wanted).every(([place, entry]) => {
    if (place === '') return true;
    const found = present[place];
    if (found === undefined) return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version && found.integrity === entry.integrity && found.link === entry.link;
  });
}

function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** One install at a time: two commands in a fresh clone would otherwise remove each other's files. Gives an exit code. */
async function install() {
  const release = await takeTurn();
  try {
    if (isInstalled()) return 0;
    console.error('Installing dependencies (npm ci); the first time takes a minute ...');
    // Production settings of the surroundings must not leave out what every start needs.
    const args = [
      'ci',
      '--include=dev',
      '--include=optional',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      '--loglevel=error',
    ];
    const code = await runChild('npm', args, { cwd: root, stdio: ['ignore', 2, 2] }, NPM_GRACE_MS);
    if (code >= 128) {
      // npm leaves its turning wheel behind.
      const clear = process.stderr.isTTY ? '\r\u001b[K' : '';
      console.error(`${clear}The installation was interrupted; the next start begins it again.`);
      return code;
    }
    if (code !== 0) {
      console.error(`npm ci failed (exit ${code}); nothing was started.`);
      return 1;
    }
    if (!existsSync(node)) {
      console.error(
        'npm ci did not run the install scripts (ignore-scripts), and the one of the package `node` is needed: run `npm ci --ignore-scripts=false` once.',
      );
      return 1;
    }
    return 0;
  } finally {
    release();
  }
}

/** Waits until no other start installs. A lock whose owner is gone is taken over. */
async function takeTurn() {
  // Written aside and linked, so that nobody ever reads half of it.
  const own = `${installing}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    for (let told = false; ; told = true) {
      try {
        linkSync(own, installing);
        return () => rmSync(installing, { force: true });
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const owner = ownerOf(installing);
      if (owner === undefined) rmSync(installing, { force: true });
      else if (!told) console.error(`Another start is installing (process ${owner}); waiting for it ...`);
      if (owner !== undefined) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** The living process that a lock names. Our own number means that it was used by an earlier process. */
function ownerOf(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid === process.pid) return undefined;
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return error.code === 'EPERM' ? 'of another user' : undefined;
  }
}

/**
 * Runs a program and gives the code that it ends with, as shells count it. Ctrl-C in a terminal reaches it by itself; other
 * signals are passed on. When npm or its shell is gone, which pass nothing on, the program is told to end. One that has
 * `graceMs` is ended that long after it was told, and the code is then that of the signal.
 */
function runChild(command, args, options, graceMs) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options);
    let toldBy;
    const stop = (signal) => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
      if (graceMs === undefined || toldBy !== undefined) return;
      toldBy = signal;
      setTimeout(() => child.kill('SIGKILL'), graceMs).unref();
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, stop);
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.env.npm_lifecycle_event === undefined || process.ppid === parent) return;
      clearInterval(watch);
      stop('SIGTERM');
    }, LOOK_MS);
    const settle = (end) => {
      clearInterval(watch);
      for (const signal of signals) process.off(signal, stop);
      end();
    };
    child.on('error', (error) => settle(() => reject(error)));
    child.on('exit', (code, signal) =>
      settle(() => resolve(toldBy === undefined ? (code ?? codeOf(signal)) : codeOf(toldBy))),
    );
  });
}

function codeOf(signal) {
  return { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }[signal] ?? 1;
}
