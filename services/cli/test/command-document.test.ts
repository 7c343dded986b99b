/** docs/cli.md is what --help says: every command with its words, its example and its options. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildProgram } from '../src/program.ts';

const document = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
const sections = new Map(
  document.split(/^## /m).map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
);
const { commands } = buildProgram(() => {});

/** The rows of a section's table, without what a formatter may change. */
function rowsOf(heading: string): string[][] {
  const rows = (sections.get(heading) ?? '').split('\n').filter((line) => /^\| +`|^\|`/.test(line));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

/** What a help prints below the options. */
function helpOf(index: number): string {
  let help = '';
  const command = commands[index];
  command?.configureOutput({
    writeOut(text) {
      help += text;
    },
  });
  command?.outputHelp();
  return help;
}

test('it has a section for each command and for nothing else', () => {
  const headings = [...sections.keys()].filter((heading) => heading.startsWith('muster '));
  expect(headings).toEqual(commands.map((command) => `muster ${command.name()}`));
});

test.each(commands.map((command, index) => [command.name(), index] as const))(
  'muster %s: description, example and options are those of its help',
  (name, index) => {
    const command = commands[index];
    const section = sections.get(`muster ${name}`) ?? '';
    expect(section).toContain(`\n${command?.description()}\n`);
    const example = /Example:\n {2}(.*)/.exec(helpOf(index))?.[1];
    expect(section).toContain(`\n\`\`\`sh\n${example}\n\`\`\`\n`);
    const options = command?.options.map(({ flags, description, defaultValue }) => [
      flags,
      defaultValue === undefined ? description : `${description} (default: ${defaultValue})`,
    ]);
    expect(rowsOf(`muster ${name}`)).toEqual(options);
  },
);

test('the exit codes are those of the help', () => {
  let help = '';
  const program = buildProgram(() => {});
  program.configureOutput({
    writeOut(text) {
      help += text;
    },
  });
  program.outputHelp();
  const codes = [...help.slice(help.indexOf('Exit codes:')).matchAll(/^ {2}(\d+) +(.*)$/gm)];
  expect(codes.length).toBeGreaterThan(3);
  expect(rowsOf('Exit codes')).toEqual(codes.map(([, code, means]) => [code, means]));
});
