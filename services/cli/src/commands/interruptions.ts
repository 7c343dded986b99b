import type { ApiClient, InterruptionView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';

export interface InterruptionsOptions {
  readonly limit: number;
  readonly json?: boolean;
}

/** `muster interruptions`: what runs ask, and nobody has answered yet. */
export async function interruptionsCommand(api: ApiClient, { limit, json }: InterruptionsOptions): Promise<number> {
  const open = await api.listInterruptions(limit);
  if (open.length === 0 && !json) process.stderr.write('no run asks anything\n');
  for (const one of open) await print(json ? JSON.stringify(one) : questionLine(one));
  return EXIT.ok;
}

function questionLine({ run_id: run, expires_at: until, needed_role: role, question }: InterruptionView): string {
  return [run, `until ${until}`, role.padEnd(8), oneLine(question)].join('  ');
}
