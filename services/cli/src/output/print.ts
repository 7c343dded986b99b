/** Writing to standard output, which holds only what was asked for. */
import { once } from 'node:events';
import { CommandError } from '../exit-codes.ts';

/** Whoever read our standard output has gone (`| head`): no error, but nothing more is to be done. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

let broken: NodeJS.ErrnoException | undefined;

/** Without a listener, a reader that goes away would end the process with a stack trace, in the middle of its work. */
export function watchOutput(): void {
  process.stdout.on('error', (error) => {
    broken ??= error;
  });
  process.stderr.on('error', () => {});
}

/**
 * Writes a line to standard output and waits where the reader is slow.
 *
 * @throws ReaderGone when nobody reads any more; CommandError when it cannot be written (a full disk)
 */
export async function print(text: string): Promise<void> {
  if (broken === undefined && !process.stdout.write(`${text}\n`)) {
    await once(process.stdout, 'drain').catch((error) => {
      broken ??= error;
    });
  }
  if (broken === undefined) return;
  if (broken.code === 'EPIPE') throw new ReaderGone('nobody reads the output any more');
  throw new CommandError(`standard output cannot be written (${broken.code ?? broken.name})`);
}

/** Whether a stream is a terminal that wants colours. */
export function paintsOn(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
}

/** Text of a run as one line of a terminal: no breaks, and nothing that moves the cursor. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
