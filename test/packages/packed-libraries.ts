/**
 * The libraries as people get them: packed by npm from a copy of their sources, so that nothing which runs in this tree is
 * disturbed, and installed in an empty folder outside it. No registry is asked: what they depend on is packed from here.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const LIBRARIES = ['envelope', 'artifacts'];
const LIBRARY_FILES = ['package.json', 'README.md', 'tsconfig.build.json', 'src', 'schema'];
const DEPENDENCIES = ['footprintjs', 'zod'];
// Links suffice for what is large and never met in two copies.
const LINKED = ['@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@types/node'];

export interface PackedLibraries {
  /** The folder of everything, to be removed in the end. */
  readonly place: string;
  /** The copy of the sources that was packed. */
  readonly tree: string;
  /** The folder that they are installed in. */
  readonly consumer: string;
}

export function installPackedLibraries(): PackedLibraries {
  const place = mkdtempSync(join(tmpdir(), 'muster-packages-'));
  const tree = copySources(join(place, 'tree'));
  const packed = join(place, 'packed');
  mkdirSync(packed);
  pack(
    tree,
    packed,
    LIBRARIES.map((library) => `./libs/${library}`),
  );
  pack(root, packed, [...DEPENDENCIES.map((name) => `./node_modules/${name}`), '--ignore-scripts']);
  return { place, tree, consumer: install(join(place, 'consumer'), packed) };
}

function copySources(tree: string): string {
  for (const file of ['package.json', 'tsconfig.base.json', 'LICENSE', 'scripts/pack-libs.mjs']) {
    cpSync(join(root, file), join(tree, file));
  }
  for (const library of LIBRARIES) {
    const from = join(root, 'libs', library);
    for (const file of readdirSync(from).filter((name) => LIBRARY_FILES.includes(name))) {
      cpSync(join(from, file), join(tree, 'libs', library, file), { recursive: true });
    }
  }
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

function pack(cwd: string, destination: string, folders: readonly string[]): void {
  npm(['pack', '--silent', '--pack-destination', destination, ...folders], cwd);
}

function install(consumer: string, packed: string): string {
  mkdirSync(consumer);
  const archives = readdirSync(packed).map((file) => [packageOf(file), `file:${join(packed, file)}`]);
  const links = LINKED.map((name) => [name, `file:${join(root, 'node_modules', name)}`]);
  const dependencies = Object.fromEntries([...archives, ...links]);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  npm(['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], consumer);
  return consumer;
}

/** `muster-envelope-0.1.0.tgz` is `@muster/envelope`. */
function packageOf(archive: string): string {
  return archive.replace(/-\d[^-]*\.tgz$/, '').replace(/^muster-/, '@muster/');
}

function npm(args: readonly string[], cwd: string): void {
  // What the npm of this test run was told is not for the one of the packages.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)/i.test(name)));
  execFileSync('npm', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
}
