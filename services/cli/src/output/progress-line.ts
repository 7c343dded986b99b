/** A line on standard error that shows long work on a terminal, and stays out of pipes. */
export class ProgressLine {
  readonly #shown = process.stderr.isTTY === true;
  #last = '';

  /** Shows `done` of `total`; without a total, only the words. */
  update(words: string, done?: number, total?: number): void {
    if (!this.#shown) return;
    const width = 28;
    const known = done !== undefined && total !== undefined && total > 0;
    const filled = known ? Math.round((width * done) / total) : 0;
    const bar = known ? `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done}/${total} ` : '';
    const line = `${bar}${words}`.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 1));
    if (line === this.#last) return;
    this.#last = line;
    process.stderr.write(`\r\u001b[K${line}`);
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#shown && this.#last !== '') process.stderr.write('\r\u001b[K');
    this.#last = '';
  }
}
