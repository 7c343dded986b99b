/** Starts a child under a watchdog and tells its pid; then waits to be killed. */
import { spawn } from 'node:child_process';
import { startWatchdog } from '@muster/embedded';

const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], {
  stdio: 'ignore',
  detached: true,
});
startWatchdog({ pid: child.pid!, signal: 'KILL' });
process.send?.({ child: child.pid });
