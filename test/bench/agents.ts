/**
 * The suite `agents`: many agents that wait at once on one API process, each with a request of its own that is answered when
 * its run is over. No worker runs: this process ends the runs itself, so that the instant of the change is known, and looks
 * at what the API asks of the database while nothing changes.
 */
import { Agent, request } from 'node:http';
import { claimRun, finishRun } from '@muster/results';
import type { BenchContext } from './context.ts';
import { openStage, type Stage } from './stage.ts';
import { startMeter } from './usage.ts';

/** How a number of waiting agents was spread over runs, and what waking them up took. */
export interface WakingFigures {
  readonly agents: number;
  readonly runs: number;
  /** From the commit of the change to the answer in the agent's hands. */
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
}

export interface AgentsFigures {
  readonly waking: readonly WakingFigures[];
  /** How many of the API's connections asked the database anything in a time in which nothing changed. */
  readonly idle: { readonly seconds: number; readonly connections_used: number };
  readonly api_rss_mb: number;
}

const AGENTS = 1000;
const SPREADS = [1, 10, 100, AGENTS];
const ROUNDS = 3;
const IDLE_SECONDS = 5;
const WAIT_MS = 30_000;
/** So many connections stand open at a time, one an agent. */
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

export async function measureAgents({ note, signal }: BenchContext): Promise<AgentsFigures> {
  const stage = await openStage('postgres');
  try {
    const meter = await startMeter(stage.services);
    const waking: WakingFigures[] = [];
    let idle: AgentsFigures['idle'] | undefined;
    await wake(stage, 1);
    for (const runs of SPREADS) {
      const latencies: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        signal.throwIfAborted();
        const waited = await wake(
          stage,
          runs,
          idle === undefined ? async () => (idle = await watchIdle(stage)) : undefined,
        );
        latencies.push(...waited);
      }
      const figures = { agents: AGENTS, runs, ...percentiles(latencies) };
      note(`  ${AGENTS} agents on ${runs} run(s): p95 ${figures.p95_ms} ms`);
      waking.push(figures);
    }
    return { waking, idle: idle!, api_rss_mb: (await meter.stop()).api?.peak_rss_mb ?? 0 };
  } finally {
    await stage.close();
  }
}

/** Lets all agents wait, spread over so many runs, and ends the runs one after the other. Latencies in ms. */
async function wake(stage: Stage, runs: number, whileWaiting?: () => Promise<unknown>): Promise<number[]> {
  const runIds: string[] = [];
  while (runIds.length < runs) runIds.push((await stage.startRun('bench_posture', 10)).runId);
  const fences = new Map<string, number>();
  for (const runId of runIds) {
    const claim = await claimRun(stage.db, { runId, phase: 'plan', dispatchNo: 1_000_000 });
    fences.set(runId, claim!.fence);
  }
  const changedAt = new Map<string, number>();
  const waits = Array.from({ length: AGENTS }, (_, index) => waitFor(stage, runIds[index % runs]!, changedAt));
  await untilWaiting(stage, AGENTS);
  await whileWaiting?.();
  for (const [runId, fence] of fences) {
    const answer = {
      kind: 'failure',
      body: { code: 'bench', message: 'ended by the benchmark', phase: 'plan' },
    } as const;
    await finishRun(stage.db, { runId, fence, status: 'failed', answer, statusSummary: 'ended' });
    changedAt.set(runId, performance.now());
  }
  return await Promise.all(waits);
}

function waitFor(stage: Stage, runId: string, changedAt: ReadonlyMap<string, number>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${stage.address}/v1/runs/${runId}?wait_ms=${WAIT_MS}`, {
      agent,
      headers: { authorization: `Bearer ${stage.key}` },
    });
    asked.on('error', reject);
    asked.on('response', (response) => {
      response.resume();
      response.on('end', () => {
        const at = changedAt.get(runId);
        // An answer may be here before this process has noted that its own commit came through.
        if (response.statusCode === 200) resolve(at === undefined ? 0 : Math.max(0, performance.now() - at));
        else reject(new Error(`a waiting agent was answered ${response.statusCode}`));
      });
    });
    asked.end();
  });
}

/** Until the API has taken all requests in and asks nothing any more: each of them has read its run once by then. */
async function untilWaiting(stage: Stage, agents: number): Promise<void> {
  for (;;) {
    const since = await clock(stage);
    await pause(500);
    if (Object.values(agent.sockets).flat().length >= agents && (await usedSince(stage, since)) === 0) return;
  }
}

async function watchIdle(stage: Stage): Promise<AgentsFigures['idle']> {
  const since = await clock(stage);
  await pause(IDLE_SECONDS * 1000);
  return { seconds: IDLE_SECONDS, connections_used: await usedSince(stage, since) };
}

async function clock(stage: Stage): Promise<Date> {
  return (await stage.db.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]!.now;
}

/** How many of the API's connections have asked anything since an instant. */
async function usedSince(stage: Stage, since: Date): Promise<number> {
  const { rows } = await stage.db.query<{ used: number }>(
    `select count(*)::int as used from pg_stat_activity
      where application_name = 'muster-api' and (state <> 'idle' or state_change > $1)`,
    [since],
  );
  return rows[0]!.used;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function percentiles(latencies: readonly number[]) {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
  return { p50_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1) };
}
