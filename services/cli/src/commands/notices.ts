/** `muster notices`, `muster resend`: what was filed to be told, and what became of it. */
import type { ApiClient } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import type { NoticeView } from '../notice-views.ts';
import { print } from '../output/print.ts';

export interface NoticesOptions {
  readonly state?: string;
  readonly notifier?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** Lists notices, newest first, one a line. */
export async function noticesCommand(api: ApiClient, options: NoticesOptions): Promise<number> {
  const { json, ...query } = options;
  const notices = await api.listNotices(query);
  if (notices.length === 0 && !json) process.stderr.write('there are no notices\n');
  for (const one of notices) await print(json ? JSON.stringify(one) : noticeLine(one));
  return EXIT.ok;
}

/** Sends a notice that is over once more. */
export async function resendCommand(api: ApiClient, noticeId: string): Promise<number> {
  await print((await api.replayNotice(noticeId)).notice_id);
  return EXIT.ok;
}

function noticeLine(notice: NoticeView): string {
  const { attempts, created_at, kind, last_error, last_status, notice_id, notifier, run_id, state } = notice;
  const said = last_error ?? (last_status === undefined ? '' : String(last_status));
  const tried = `${attempts} attempt${attempts === 1 ? '' : 's'}`;
  return [notice_id, created_at, state.padEnd(7), kind, notifier ?? 'callback', run_id ?? '', tried, said]
    .filter((part) => part !== '')
    .join('  ');
}
