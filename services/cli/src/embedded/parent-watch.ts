/** How often the parent is looked for. A look is one system call. */
const LOOK_MS = 500;

/**
 * Calls `onGone` once when the npm script that started this process is gone. A signal to npm alone ends npm and its shell
 * and never gets here; without this, what it started would stay. Started by hand, a process may outlive its shell.
 */
export function watchParent(onGone: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
  timer.unref();
}
