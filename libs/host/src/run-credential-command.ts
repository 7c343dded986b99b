import { spawn } from 'node:child_process';
import { CredentialError } from './credential-error.ts';
import { MAX_CREDENTIAL_BYTES } from './credential-text.ts';

/** What a command sees of our environment beside the variables that credentials may lie in. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/** The environment of a credential's command: none of our settings, so that no command can print them. */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  envPrefix: string,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => PASSED_ON.includes(name) || name.startsWith(envPrefix)),
  );
}

/**
 * Runs a command and gives what it wrote to standard output. No shell, no standard input, and a session of its own: there
 * is no terminal that it could ask at. What it writes to standard error is nobody's.
 *
 * @param signal ends it, with everything that it started in its session
 * @throws CredentialError when it cannot be started, does not exit with 0 or writes too much
 */
export function runCredentialCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: { readonly env: Readonly<Record<string, string | undefined>>; readonly signal: AbortSignal },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    options.signal.throwIfAborted();
    const child = start(program, args, options.env);
    const chunks: Buffer[] = [];
    let bytes = 0;
    const release = () => options.signal.removeEventListener('abort', onAbort);
    const fail = (error: unknown) => {
      release();
      endGroup(child.pid);
      // Whoever still holds the other end of the pipe is not waited for.
      child.stdout.destroy();
      reject(error);
    };
    const onAbort = () => fail(options.signal.reason);
    options.signal.addEventListener('abort', onAbort);
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_CREDENTIAL_BYTES) fail(new CredentialError('credential_too_large'));
      else chunks.push(chunk);
    });
    child.on('error', () => fail(new CredentialError('credential_command_failed')));
    child.on('close', (code) => {
      release();
      if (code === 0) resolve(Buffer.concat(chunks));
      else reject(new CredentialError('credential_command_failed'));
    });
  });
}

function start(program: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  try {
    return spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  } catch {
    // An argument that no command can have: the error would say it.
    throw new CredentialError('credential_command_failed');
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
