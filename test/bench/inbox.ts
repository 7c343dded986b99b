/**
 * The suite `inbox`: 10,000 deliveries of webhooks at once, of which 9,000 are repeats of one, or a storm about one machine,
 * each of many senders with a connection of its own. One worker works on them and on the runs that they begin meanwhile.
 */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { BenchContext } from './context.ts';
import { HOOK_KEY, openStage, type Stage } from './stage.ts';

/** What answering and working on a flood took. */
export interface InboxFigures {
  readonly flood: 'repeats' | 'storm';
  readonly senders: number;
  readonly deliveries: number;
  readonly kept: number;
  readonly runs: number;
  readonly per_second: number;
  /** From a sender's first byte to the answer in its hands. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
  /** From the first delivery until each was worked on. */
  readonly worked_ms: number;
}

interface Sent {
  readonly id: string;
  readonly body: string;
}

const DELIVERIES = 10_000;
const APART = 1_000;
const SENDERS = [100, 1000];
const LOOK_MS = 100;
const HOOKS = { repeats: 'bench-events', storm: 'bench-storms' } as const;

export async function measureInbox({ note, signal }: BenchContext): Promise<InboxFigures[]> {
  const figures: InboxFigures[] = [];
  for (const flood of ['repeats', 'storm'] as const) {
    for (const senders of SENDERS) {
      signal.throwIfAborted();
      const measured = await measureOne(flood, senders);
      note(`  ${flood}, ${senders} senders: p99 ${measured.p99_ms} ms, ${measured.runs} runs`);
      figures.push(measured);
    }
  }
  return figures;
}

async function measureOne(flood: InboxFigures['flood'], senders: number): Promise<InboxFigures> {
  const stage = await openStage('postgres');
  try {
    const workers = await stage.startWorkers({ workers: 1, chartThreads: 1 });
    try {
      await send(stage, HOOKS[flood], [{ id: 'warm-up', body: bodyOf('warm-up', 0) }], 1);
      await untilWorked(stage);
      await stage.db.query('delete from muster.deliveries');
      const startedAt = performance.now();
      const latencies = await send(stage, HOOKS[flood], floodOf(flood), senders);
      const answeredMs = performance.now() - startedAt;
      await untilWorked(stage);
      const workedMs = performance.now() - startedAt;
      const counts = await countAll(stage);
      const expected = flood === 'repeats' ? { kept: APART, runs: APART } : { kept: DELIVERIES, runs: APART + 1 };
      if (counts.kept !== expected.kept || counts.runs !== expected.runs) {
        throw new Error(`${JSON.stringify(counts)} where ${JSON.stringify(expected)} was right`);
      }
      return {
        flood,
        senders,
        deliveries: DELIVERIES,
        ...counts,
        per_second: Math.round((1000 * DELIVERIES) / answeredMs),
        ...percentiles(latencies),
        worked_ms: Math.round(workedMs),
      };
    } finally {
      await workers.stop();
    }
  } finally {
    await stage.close();
  }
}

/** A tenth is about machines of its own, each once; the rest repeats the first, or is about one machine. Mixed evenly. */
function floodOf(flood: InboxFigures['flood']): Sent[] {
  return Array.from({ length: DELIVERIES }, (_, nth) => {
    const apart = nth % (DELIVERIES / APART) === 0;
    if (apart) return { id: `apart-${nth}`, body: bodyOf(`machine-${nth}`, nth) };
    return flood === 'repeats'
      ? { id: 'apart-0', body: bodyOf('machine-0', 0) }
      : { id: `storm-${nth}`, body: bodyOf('machine-in-a-storm', nth) };
  });
}

/** As large as alerts are. */
function bodyOf(machine: string, nth: number): string {
  return JSON.stringify({ type: 'machine.slow', data: { machine, nth, text: 'x'.repeat(1000) } });
}

/** Sends all, so many at a time, each sender the next one when it has its answer. Latencies in ms. */
async function send(stage: Stage, hook: string, deliveries: readonly Sent[], senders: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: senders });
  const latencies: number[] = [];
  let next = 0;
  const sender = async () => {
    for (let sent = deliveries[next++]; sent !== undefined; sent = deliveries[next++]) {
      latencies.push(await sendOne(agent, `${stage.address}/v1/hooks/${hook}`, sent));
    }
  };
  await Promise.all(Array.from({ length: senders }, sender));
  agent.destroy();
  return latencies;
}

function sendOne(agent: Agent, url: string, { id, body }: Sent): Promise<number> {
  const seconds = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', HOOK_KEY).update(`${id}.${seconds}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${mac}`,
  };
  return new Promise((resolve, reject) => {
    const sentAt = performance.now();
    const sending = request(url, { method: 'POST', agent, headers });
    sending.on('error', reject);
    sending.on('response', (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200 || response.statusCode === 202) resolve(performance.now() - sentAt);
        else reject(new Error(`a delivery was answered ${response.statusCode}`));
      });
    });
    sending.end(body);
  });
}

async function untilWorked({ db }: Stage): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(`select from muster.deliveries where state = 'received' limit 1`);
    if (rowCount === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function countAll({ db }: Stage): Promise<{ kept: number; runs: number }> {
  const { rows } = await db.query<{ kept: number; runs: number }>(
    `select (select count(*)::int from muster.deliveries where state = 'done') as kept,
      (select count(*)::int from muster.runs join muster.deliveries on deliveries.id = runs.delivery_id) as runs`,
  );
  return rows[0]!;
}

function percentiles(latencies: readonly number[]) {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
  return { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}
