import { spawn } from 'node:child_process';

/** A process that the benchmark started. */
export interface StartedProcess {
  readonly pid: number;
  /** What it said when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Listens to what else it says. */
  onMessage(listener: (message: Readonly<Record<string, unknown>>) => void): void;
  stop(): Promise<void>;
}

/** Starts a service and waits until it says that it is ready. */
export async function startProcess(file: string, env: NodeJS.ProcessEnv): Promise<StartedProcess> {
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const ready = await new Promise<Record<string, unknown>>((resolve, reject) => {
    child.on('message', (message: { type?: string }) => message?.type === 'ready' && resolve(message as never));
    child.on('exit', (code) => reject(new Error(`${file} ended with ${code} before it was ready`)));
  });
  return {
    pid: child.pid as number,
    ready,
    onMessage(listener) {
      child.on('message', (message) => listener(message as never));
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
