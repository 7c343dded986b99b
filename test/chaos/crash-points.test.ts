/**
 * A process ends at one chosen statement: between two pages of a plan, between a commit and what was to follow it, in the
 * middle of a commit whose outcome it never learns.
 */
import { expect } from 'vitest';
import type { ChaosCluster } from './chaos-cluster.ts';
import { describeFaults } from './describe-faults.ts';
import type { Crash, CrashMoment } from './fault.ts';
import { CHUNK, PAGE } from './fleet.ts';
import { outcomesOf, rightOutcomes, startSweep, untilEnded } from './runs.ts';

/** Statements by what they do, as regular expressions over their text. */
const ACCEPT = 'insert into muster\\.runs ';
const SEND = 'update muster\\.(runs|chunks) set dispatch_no';
const CLAIM_RUN = 'update muster\\.runs set fence = fence \\+ 1, starts = starts \\+ 1';
const PAGE_OF_PLAN = 'on conflict \\(run_id, plan_fence, first_ordinal\\)';
const FREEZE = 'plan_fence = fence, subjects_total';
const CLAIM_CHUNK = 'update muster\\.chunks set fence = chunks\\.fence \\+ 1';
const STAGE = 'insert into muster\\.artifacts';
const SETTLE = "update muster\\.chunks set state = 'settled'";
const MOVE_ON = "update muster\\.runs set phase = 'collect'";
const ANSWER = 'insert into muster\\.answers';

const MACHINES = 3 * CHUNK;
const AROUND_A_COMMIT: readonly CrashMoment[] = ['before_commit', 'in_commit', 'after_commit'];

/** Starts a worker that dies at a point, lets it die, and lets others end the run as if nothing had been. */
async function dieAt(cluster: ChaosCluster, crash: Crash, machines: number): Promise<void> {
  const runId = await startSweep(cluster, machines);
  const doomed = await cluster.startWorker({ crash });
  expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' });
  await cluster.startWorker();
  await expectRight(cluster, runId, machines);
}

async function expectRight({ db }: ChaosCluster, runId: string, machines: number): Promise<void> {
  expect(await untilEnded(db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
  expect(await outcomesOf(db, runId)).toEqual(rightOutcomes(machines));
}

describeFaults('processes end at one statement', (fault) => {
  fault('kill -9 of the planner between two pages', async ({ cluster, chance }) => {
    const nth = chance.int(1, 4);
    await dieAt(cluster, { statement: PAGE_OF_PLAN, at: chance.pick(AROUND_A_COMMIT), nth }, 5 * PAGE);
  });

  fault('between the transaction that marks as sent, and the sending', async ({ cluster, chance }) => {
    await dieAt(cluster, { statement: SEND, at: 'after_commit', nth: chance.int(1, 3) }, 4 * CHUNK);
  });

  fault('between the answer and the end of its job', async ({ cluster, chance }) => {
    await dieAt(cluster, { statement: ANSWER, at: chance.pick(AROUND_A_COMMIT), nth: 1 }, 2 * CHUNK);
  });

  fault('between the last settlement and what moves the run on', async ({ cluster, chance }) => {
    const crash: Crash = chance.pick([
      { statement: SETTLE, at: 'after_commit', nth: 1 },
      { statement: MOVE_ON, at: 'before', nth: 1 },
      { statement: MOVE_ON, at: 'in_commit', nth: 1 },
      { statement: MOVE_ON, at: 'after_commit', nth: 1 },
    ]);
    await dieAt(cluster, crash, CHUNK);
  });

  fault('the API between the acceptance and its acknowledgement', async ({ cluster, chance }) => {
    const { db } = cluster;
    const crash: Crash = { statement: ACCEPT, at: chance.pick(AROUND_A_COMMIT), nth: 1 };
    const doomed = await cluster.startDoor({ crash });
    const key = `chaos-${chance.int(1, 1e9)}-${crash.at}`;
    const asked = { runbook: 'computing', input: { machines: CHUNK }, now: '2026-05-05T05:05:05Z' };
    const headers = { 'idempotency-key': key };
    await expect(doomed.ask('POST', '/v1/runs', asked, headers)).rejects.toThrow();
    expect(await doomed.service.exited).toMatchObject({ signal: 'SIGKILL' });
    const kept = async () =>
      (await db.query<{ id: string }>('select id from muster.runs where idempotency_key = $1', [key])).rows;
    const before = await kept();
    if (crash.at !== 'in_commit') expect(before).toHaveLength(crash.at === 'after_commit' ? 1 : 0);
    await cluster.startWorker();
    const { run_id: runId } = await cluster.door.ask('POST', '/v1/runs', asked, headers);
    expect(await kept()).toEqual([{ id: before[0]?.id ?? runId }]);
    await expectRight(cluster, runId, CHUNK);
  });

  // However many die on the same chunk: none of these deaths came while a subject was being assessed.
  fault('eight workers in a row, each at another statement', async ({ cluster, chance }) => {
    const runs: string[] = [];
    for (const statement of chance.shuffle([
      CLAIM_RUN,
      PAGE_OF_PLAN,
      FREEZE,
      CLAIM_CHUNK,
      STAGE,
      SETTLE,
      SEND,
      ANSWER,
    ])) {
      const at = statement === STAGE ? 'after' : chance.pick(AROUND_A_COMMIT);
      const doomed = await cluster.startWorker({ crash: { statement, at, nth: chance.int(1, 2) } });
      // Two more runs, so that it comes by its point twice whatever is left of the others.
      runs.push(await startSweep(cluster, MACHINES), await startSweep(cluster, MACHINES));
      expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' });
    }
    await cluster.startWorker();
    for (const runId of runs) await expectRight(cluster, runId, MACHINES);
  });
});
