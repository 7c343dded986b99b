import { spawn } from 'node:child_process';

/** A process that the benchmark started. */
export interface StartedProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a service and waits until it says that it is ready. */
export async function startProcess(file: string, env: NodeJS.ProcessEnv): Promise<StartedProcess> {
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: { type?: string }) => message?.type === 'ready' && resolve());
    child.on('exit', (code) => reject(new Error(`${file} ended with ${code} before it was ready`)));
  });
  return {
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
