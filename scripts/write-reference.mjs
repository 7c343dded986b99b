/**
 * The API reference of the libraries that people install, from their declarations: every export with its docstring and
 * its signature, in the order of the entry file.
 *
 *   node scripts/write-reference.mjs            writes docs/reference/*.md
 *   node scripts/write-reference.mjs FOLDER     writes them there instead
 *
 * It reads what the compiler emits, whose statements begin at the start of a line and are formatted one way.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2] ?? join(root, 'docs', 'reference');
const work = mkdtempSync(join(tmpdir(), 'muster-reference-'));

try {
  mkdirSync(target, { recursive: true });
  for (const library of ['envelope', 'artifacts']) {
    emitDeclarations(library);
    writeFileSync(join(target, `${library}.md`), formatted(`docs/reference/${library}.md`, referenceOf(library)));
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

function emitDeclarations(library) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const project = join(root, 'libs', library, 'tsconfig.build.json');
  const args = [tsc, '-p', project, '--emitDeclarationOnly', '--outDir', join(work, library)];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`the declarations of ${library} could not be made`);
}

/** A page as the formatter of this tree leaves it, so that nobody's `npm run format` changes it. */
function formatted(page, text) {
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const args = [biome, 'format', `--stdin-file-path=${page}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, input: text, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${page} could not be formatted: ${stderr.trim()}`);
  return stdout;
}

function referenceOf(library) {
  const {
    name,
    description,
    exports: entries,
  } = JSON.parse(readFileSync(join(root, 'libs', library, 'package.json'), 'utf8'));
  const lines = [`# ${name}`, '', description, ''];
  lines.push('<!-- Written by `npm run reference` from the docstrings: change them, not this page. -->', '');
  const code = Object.entries(entries).filter(([, file]) => file.endsWith('.ts'));
  const listed = new Set();
  const sections = code.map(([entry, file]) => entrySection(library, name, entry, file, listed));
  lines.push(sections.join('\n').trimEnd());
  const data = Object.keys(entries).filter((entry) => !entries[entry].endsWith('.ts'));
  for (const entry of data) lines.push('', `## ${name}${entry.slice(1)}`, '', `The file ${basename(entries[entry])}.`);
  return `${lines.join('\n')}\n`;
}

/** One entry of the package: its exports by the file that declares them. What an earlier entry told is only named. */
function entrySection(library, name, entry, file, listed) {
  const index = [];
  const lines = [];
  const told = [];
  for (const { place, names } of exportsOf(join(work, library, file.replace('./src/', '').replace(/\.ts$/, '.d.ts')))) {
    const statements = declarationsOf(place).filter((found) => names === undefined || names.has(found.name));
    const links = statements.map(({ name: exported }) => `[${exported}](#${exported.toLowerCase()})`);
    if (links.length > 0) index.push(`- ${basename(place, '.d.ts')}: ${links.join(', ')}`);
    for (const { name: exported, doc, text } of statements) {
      if (listed.has(`${place} ${exported}`)) {
        told.push(`\`${exported}\``);
        continue;
      }
      listed.add(`${place} ${exported}`);
      lines.push(`### ${exported}`, '');
      if (doc !== '') lines.push(doc, '');
      lines.push('```ts', text, '```', '');
    }
  }
  if (told.length > 0) lines.push(`${told.join(', ')}: as above.`, '');
  return [`## ${name}${entry.slice(1)}`, '', ...index, '', ...lines].join('\n');
}

/** What an entry file gives: files with the names that it passes on, or all of them. */
function exportsOf(index) {
  const text = readFileSync(index, 'utf8');
  const found = [];
  for (const [, , list, from] of text.matchAll(/^export (type )?(\*|\{[^}]*\}) from '([^']+)';$/gm)) {
    const place = join(dirname(index), from.replace(/\.ts$/, '.d.ts'));
    const names = list.match(/[\w$]+/g)?.filter((word) => word !== 'type');
    found.push({ place, names: list === '*' ? undefined : new Set(names) });
  }
  if (declarationsOf(index).length > 0) found.push({ place: index, names: undefined });
  return found;
}

function declarationsOf(file) {
  const found = [];
  let doc = [];
  let statement;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (statement !== undefined) statement.push(line);
    else if (/^(\/\*\*| \*)/.test(line)) {
      doc = line.startsWith('/**') ? [line] : [...doc, line];
      continue;
    } else statement = [line];
    if (!isWhole(statement.join('\n'))) continue;
    const text = statement.join('\n');
    const [, name] = /^export (?:declare )?(?:const|function|class|interface|type) ([\w$]+)/.exec(text) ?? [];
    if (name !== undefined) found.push({ name, doc: docText(doc), text: signature(text) });
    statement = undefined;
    doc = [];
  }
  return found;
}

/** Whether a statement is closed: every bracket of its code has its partner, and the last line ends it. */
function isWhole(text) {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|=>/g, '');
  const opened = code.match(/[([{]/g)?.length ?? 0;
  const closed = code.match(/[)\]}]/g)?.length ?? 0;
  return opened === closed && /([;}]|^)$/.test(code.trimEnd());
}

function signature(text) {
  const hidden = /\n {4}#?private[^\n]*;(?=\n)|\n {4}#private;/g;
  return text
    .replace(/^export (declare )?/, '')
    .replaceAll(hidden, '')
    .replaceAll(/^( {4})+/gm, (indent) => indent.replaceAll('    ', '  '));
}

/** A docstring as Markdown: its text, then what the tags say as a list. */
function docText(lines) {
  const text = lines
    .join('\n')
    .replace(/^\/\*\*\s?/, '')
    .replace(/\s*\*\/\s*$/, '')
    .replaceAll(/^ \* ?/gm, '')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .trim();
  const [body, ...tags] = text.split(/(?:^|\s)(?=@(?:param|throws|returns)\b)/);
  const items = tags.map((tag) => {
    const [, kind, rest] = /^@(\w+)\s*([\s\S]*)$/.exec(tag.trim());
    const spoken = rest.replaceAll(/\s+/g, ' ').trim();
    if (kind !== 'param') return `- ${kind} ${spoken}`;
    const [, parameter, meaning] = /^(\S+)\s*(.*)$/.exec(spoken);
    return `- \`${parameter}\`: ${meaning}`;
  });
  return [body.trim(), items.join('\n')].filter((part) => part !== '').join('\n\n');
}
