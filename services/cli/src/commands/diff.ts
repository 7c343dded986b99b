import { describeChanges } from '@muster/envelope';
import type { ApiClient, ChangePage, ChangeView } from '../api-client.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';

export interface DiffOptions {
  readonly change?: readonly string[];
  readonly target?: string;
  readonly json?: boolean;
}

/** Why a run was compared with none, for a person. */
const WHY: Readonly<Record<string, string>> = {
  not_a_fleet: 'its runbook is one chart, and has no sweeps to compare',
  dry_run: 'it was a dry run: nothing was assessed',
  rerun: 'it does a part of another run again, and a part is compared with nothing',
  no_scope: 'it has no scope: runs over uploads are compared with each other when they are started with --scope NAME',
  no_envelope: 'it has no envelope as its answer',
  not_recorded: 'nothing was recorded of it: it was stopped before its plan was closed, or an older build ended it',
  first: 'it is the first of its scope: the next one is compared with it',
  late: 'a run that was accepted later was recorded before it',
  unlooked: 'it was stopped before it looked at any subject',
};

const GONE: Readonly<Record<string, string>> = {
  stopped: 'it was stopped, so nothing is told gone',
  plan_not_whole: 'its plan left something out, so nothing is told gone',
};

/** `muster diff`: what a run changed since the sweep before it. */
export async function diffCommand(api: ApiClient, runId: string, options: DiffOptions): Promise<number> {
  const { change, target, json } = options;
  const filter = { ...(change && { change: change.join(',') }), ...(target !== undefined && { target }) };
  let page = await api.getChanges(runId, filter);
  if (page.why === 'run_not_final') {
    throw new CommandError(`run ${runId} is ${page.run_status}; what it changed is known when it is over`);
  }
  process.stderr.write(`${headOf(page)}\n`);
  for (;;) {
    for (const one of page.changes) await print(json ? JSON.stringify(one) : changeLine(one));
    if (page.next_after === undefined) return EXIT.ok;
    page = await api.getChanges(runId, { ...filter, after: page.next_after });
  }
}

function headOf({ against, counts, gone_untold: untold, run_id: run, scope, why }: ChangePage): string {
  if (why !== undefined || against === undefined || counts === undefined) {
    return `run ${run} was compared with none: ${WHY[why ?? ''] ?? why}`;
  }
  const said = describeChanges({ scope: scope ?? '', outcome: 'compared', against, counts });
  const ends = untold === undefined ? '' : `; ${GONE[untold] ?? untold}`;
  return `since run ${against.run_id} of ${against.now}: ${said}${ends}`;
}

function changeLine(one: ChangeView): string {
  const way = `${one.from_standing ?? 'unknown'} > ${one.change === 'gone' ? 'gone' : (one.to_standing ?? 'unknown')}`;
  const since = one.standing_since === undefined ? '' : `since ${one.standing_since}`;
  const named = [one.identity, one.target].filter((name) => name !== undefined).map(oneLine);
  return [one.change.padEnd(14), way.padEnd(18), ...named, since, oneLine(one.reason ?? '')].join('  ').trimEnd();
}
