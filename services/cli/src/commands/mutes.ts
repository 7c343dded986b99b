/** `muster mute`, `muster mutes`, `muster unmute`: what is not told for a while. */
import type { ApiClient } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import type { MuteView } from '../notice-views.ts';
import { oneLine, print } from '../output/print.ts';

export interface MuteOptions {
  readonly reason: string;
  readonly until: string;
  readonly from?: string;
  readonly runbook?: string;
  readonly scope?: string;
  readonly subject?: string;
  readonly target?: string;
}

/** Mutes, and prints the id that ends it. */
export async function muteCommand(api: ApiClient, options: MuteOptions): Promise<number> {
  await print((await api.mute(options)).mute_id);
  return EXIT.ok;
}

/** Lists what is muted or will be, one a line. */
export async function mutesCommand(api: ApiClient, { json }: { json?: boolean }): Promise<number> {
  const mutes = await api.listMutes();
  if (mutes.length === 0 && !json) process.stderr.write('nothing is muted\n');
  for (const one of mutes) await print(json ? JSON.stringify(one) : muteLine(one));
  return EXIT.ok;
}

/** Ends a mute. */
export async function unmuteCommand(api: ApiClient, muteId: string): Promise<number> {
  await api.unmute(muteId);
  return EXIT.ok;
}

function muteLine({ from, mute_id, reason, runbook, scope, subject, target, until }: MuteView): string {
  const what = Object.entries({ runbook, scope, subject, target }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${oneLine(value)}`],
  );
  return [mute_id, `${from} to ${until}`, what.join(', ') || 'everything', oneLine(reason)].join('  ');
}
