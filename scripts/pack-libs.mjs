/**
 * The libraries that people install (`libs/envelope`, `libs/artifacts`) as packages of JavaScript and declarations: Node
 * refuses TypeScript below `node_modules`, while this tree runs its sources as they are.
 *
 *   node scripts/pack-libs.mjs            packs all into dist/
 *   node scripts/pack-libs.mjs build      in a library's folder: its dist/
 *   node scripts/pack-libs.mjs prepack    in a library's folder: build, and put the packed manifest in place
 *   node scripts/pack-libs.mjs postpack   in a library's folder: put the manifest of this tree back
 *
 * npm packs the package.json that lies in the folder, so it is exchanged for as long as that takes. The manifest of this
 * tree is kept under dist/packing: a packing that was interrupted is undone by the next one.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LIBRARIES = ['envelope', 'artifacts'];
// Its behaviour below the documented surface is leaned on and pinned by tests, so its minor version stays.
const TILDE = ['footprintjs'];
const KEPT = ['name', 'version', 'description', 'license', 'type', 'engines', 'exports', 'files', 'dependencies'];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const room = process.cwd();
const manifest = join(room, 'package.json');
const license = join(room, 'LICENSE');
const packing = join(root, 'dist', 'packing');
const kept = join(packing, `${basename(room)}.json`);

const STEPS = { build, prepack, postpack };

const [step] = process.argv.slice(2);
if (step === undefined) packAll();
else if (Object.hasOwn(STEPS, step)) STEPS[step]();
else {
  console.error(`usage: node scripts/pack-libs.mjs [${Object.keys(STEPS).join(' | ')}]`);
  process.exitCode = 2;
}

function packAll() {
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (const library of LIBRARIES) {
    run('npm', ['pack', '--pack-destination', join(root, 'dist')], join(root, 'libs', library));
  }
}

function build() {
  const dist = join(room, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  run(process.execPath, [tsc, '-p', 'tsconfig.build.json'], room);
  // The compiler rewrites the imports of the code and leaves those of the declarations.
  for (const file of readdirSync(dist, { recursive: true })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = readFileSync(join(dist, file), 'utf8');
    writeFileSync(join(dist, file), text.replaceAll(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2'));
  }
}

function prepack() {
  postpack();
  build();
  mkdirSync(packing, { recursive: true });
  copyFileSync(manifest, kept);
  copyFileSync(join(root, 'LICENSE'), license);
  replace(manifest, `${JSON.stringify(packedManifest(JSON.parse(readFileSync(manifest, 'utf8'))), null, 2)}\n`);
}

function postpack() {
  if (!existsSync(kept)) return;
  replace(manifest, readFileSync(kept));
  rmSync(license, { force: true });
  rmSync(kept);
}

/** A manifest as it is packed: built entries, ranges instead of pins, and nothing that only this tree needs. */
function packedManifest(source) {
  const packed = Object.fromEntries(KEPT.filter((key) => key in source).map((key) => [key, source[key]]));
  packed.exports = Object.fromEntries(Object.entries(source.exports).map(([entry, file]) => [entry, builtEntry(file)]));
  packed.dependencies = Object.fromEntries(
    Object.entries(source.dependencies).map(([name, version]) => [
      name,
      `${TILDE.includes(name) ? '~' : '^'}${version}`,
    ]),
  );
  return packed;
}

function builtEntry(file) {
  const built = /^\.\/src\/(.*)\.ts$/.exec(file);
  return built === null ? file : { types: `./dist/${built[1]}.d.ts`, default: `./dist/${built[1]}.js` };
}

/** In one step: nobody ever reads half a manifest. */
function replace(file, content) {
  writeFileSync(`${file}.next`, content);
  renameSync(`${file}.next`, file);
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return;
  console.error(`packing stopped at: ${basename(command)} ${args.join(' ')}${error ? ` (${error.message})` : ''}`);
  process.exit(1);
}
