/** The fenced blocks of a guide that are executed: files to be written, and commands with what they print. */

/** A block ```ts file=NAME. */
export interface FileBlock {
  readonly file: string;
  readonly text: string;
}

const FILES = /^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm;
const CONSOLES = /^```console\n([\s\S]*?)^```$/gm;

export function fileBlocks(guide: string): FileBlock[] {
  return [...guide.matchAll(FILES)].map(([, file = '', text = '']) => ({ file, text }));
}

/** The commands of each ```console block, as one script a block: lines that begin with `$ `, and their continuations. */
export function consoleScripts(guide: string): string[] {
  return [...guide.matchAll(CONSOLES)].map(([, block = '']) => commandLines(block).join('\n'));
}

/** The guide with what its commands really print below them. */
export function withOutputs(guide: string, outputs: readonly string[]): string {
  let next = 0;
  return guide.replaceAll(CONSOLES, (_, block: string) => {
    const output = outputs[next++] ?? '';
    return `\`\`\`console\n${promptLines(block).join('\n')}\n${output === '' ? '' : `${output}\n`}\`\`\``;
  });
}

function commandLines(block: string): string[] {
  return promptLines(block).map((line) => line.replace(/^\$ /, ''));
}

function promptLines(block: string): string[] {
  const lines: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('$ ') || lines.at(-1)?.endsWith('\\')) lines.push(line);
    else break;
  }
  return lines;
}
