/** `muster notifiers`, `muster notifier`: where notices go, and sending one there on demand. */
import type { ApiClient } from '../api-client.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import type { NotifierView } from '../notice-views.ts';
import { oneLine, print } from '../output/print.ts';

export const NOTIFIER_ACTIONS = ['set', 'show', 'test', 'announce', 'delete'] as const;
export type NotifierAction = (typeof NOTIFIER_ACTIONS)[number];

export interface NotifierOptions {
  readonly url?: string;
  readonly format?: string;
  readonly runbook?: readonly string[];
  readonly scope?: readonly string[];
  readonly target?: readonly string[];
  readonly changes?: readonly string[];
  readonly disable?: boolean;
  readonly json?: boolean;
}

/** Lists the notifiers of the tenant, one a line. */
export async function notifiersCommand(api: ApiClient, { json }: { json?: boolean }): Promise<number> {
  const notifiers = await api.listNotifiers();
  if (notifiers.length === 0 && !json) process.stderr.write('there are no notifiers\n');
  for (const one of notifiers) await print(json ? JSON.stringify(one) : notifierLine(one));
  return EXIT.ok;
}

/** Does one thing to one notifier. */
export async function notifierCommand(
  api: ApiClient,
  action: NotifierAction,
  name: string,
  options: NotifierOptions,
): Promise<number> {
  switch (action) {
    case 'set':
      await show(await setNotifier(api, name, options), options.json);
      return EXIT.ok;
    case 'show':
      await show(await api.getNotifier(name), options.json);
      return EXIT.ok;
    case 'test':
    case 'announce':
      await print((await api.fileNotice(name, action)).notice_id);
      return EXIT.ok;
    case 'delete':
      await api.deleteNotifier(name);
      return EXIT.ok;
  }
}

/** What is not given stays as it is; a new notifier wants an address. */
async function setNotifier(api: ApiClient, name: string, options: NotifierOptions): Promise<NotifierView> {
  const before = (await api.listNotifiers()).find((one) => one.name === name);
  const url = options.url ?? before?.url;
  if (url === undefined)
    throw new UsageError(`there is no notifier ${JSON.stringify(name)} yet: --url says where it goes`);
  const { runbook, scope, target, changes, disable, format } = options;
  return await api.setNotifier(name, {
    url,
    format: format ?? before?.format ?? 'muster',
    runbooks: runbook ?? before?.runbooks ?? null,
    scopes: scope ?? before?.scopes ?? null,
    targets: target ?? before?.targets ?? null,
    ...((changes ?? before?.changes) && { changes: changes ?? before?.changes }),
    enabled: disable !== true,
  });
}

async function show(notifier: NotifierView, json: boolean | undefined): Promise<void> {
  await print(json ? JSON.stringify(notifier) : notifierLine(notifier));
  if (notifier.secret !== undefined && !json) {
    process.stderr.write(`its notices are signed with ${notifier.secret}, which is not shown again\n`);
  }
}

function notifierLine({ name, enabled, format, url, changes }: NotifierView): string {
  return [name, enabled ? 'on ' : 'off', format.padEnd(8), oneLine(url), changes.join(',')].join('  ');
}
