/** A line on standard error that shows long work on a terminal, and stays out of pipes. There is one, as one terminal is. */

const BAR_WIDTH = 28;
const CLEAR_LINE = '\r\u001b[K';

class ProgressLine {
  #shown = process.stderr.isTTY === true;
  #last = '';

  /** Shows `done` of `total`; without a total, only the words. */
  update(words: string, done?: number, total?: number): void {
    if (!this.#shown) return;
    const bar = done !== undefined && total !== undefined && total > 0 ? `${barOf(done, total)} ` : '';
    const line = `${bar}${words}`.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 1));
    if (line === this.#last) return;
    this.#last = line;
    process.stderr.write(`${CLEAR_LINE}${line}`);
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#last !== '') process.stderr.write(CLEAR_LINE);
    this.#last = '';
  }

  /** Takes the line away for good: what still goes on is being stopped. */
  close(): void {
    this.clear();
    this.#shown = false;
  }

  /** A sentence on standard error, in a pipe too; the line moves out of its way. */
  say(sentence: string): void {
    this.clear();
    process.stderr.write(`${sentence}\n`);
  }
}

function barOf(done: number, total: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor((BAR_WIDTH * done) / total));
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${total}`;
}

/** The line of this process. */
export const progress = new ProgressLine();
