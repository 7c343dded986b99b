/** Prints the one line that scripts read: how many test cases passed and failed. It is the last line of a run. */
import type { Reporter, TestModule } from 'vitest/node';

/** `N passed, N failed`, and `, N skipped` when there are any. */
export function closingLine(modules: readonly Pick<TestModule, 'children'>[]): string {
  const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) counts[test.result().state] += 1;
  }
  const { passed, failed, skipped, pending } = counts;
  // A case that never got to run, because its process died, did not pass.
  const line = `${passed} passed, ${failed + pending} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // Other reporters print at the same moment; this one waits for the process to end.
    process.once('exit', () => process.stdout.write(`${closingLine(modules)}\n`));
  }
}
