/** Targets that answer slowly, refuse, fail and talk nonsense: what was not checked says so, and nothing is made up. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { Chance } from './chance.ts';
import { describeFaults } from './describe-faults.ts';
import { loadOf, machineName, rightOutcome } from './fleet.ts';
import { outcomesOf, untilEnded } from './runs.ts';

const MACHINES = 200;
const busy = (response: ServerResponse) => void response.writeHead(429, { 'retry-after': '1' }).end();
/** What the ill ones do when they are asked. */
const ILL: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'never answers': () => undefined,
  'answers a part and stops': (response) => void response.writeHead(200).write('{"load":'),
  'hangs up': (response) => void response.destroy(),
  'is broken': (response) => void response.writeHead(500).end('{"load": 1}'),
  'talks nonsense': (response) => void response.writeHead(200).end('\u0000<html>\ufffd'),
  'says something else': (response) => void response.writeHead(200).end('{"load":"10"}'),
};

interface Targets {
  readonly address: string;
  /** Machines that never give a right answer, and what they do instead. */
  readonly ill: ReadonlyMap<string, string>;
  /** They refuse for good: 429 whenever they are asked. */
  readonly alwaysBusy: readonly string[];
}

/** Machines of which some are ill, each in its own way; some others are too busy when they are asked first. */
async function startTargets(chance: Chance, alwaysBusyCount: number): Promise<Targets> {
  const names = chance.shuffle(Array.from({ length: MACHINES }, (_, number) => machineName(number)));
  const alwaysBusy = names.splice(0, alwaysBusyCount);
  const ill = new Map(names.splice(0, 40).map((name) => [name, chance.pick(Object.keys(ILL))]));
  const stillBusy = new Map(names.splice(0, 10).map((name) => [name, chance.int(1, 2)]));
  const server = createServer((request, response) => {
    const name = request.url!.slice(1);
    const times = stillBusy.get(name) ?? 0;
    stillBusy.set(name, times - 1);
    if (times > 0 || alwaysBusy.includes(name)) busy(response);
    else if (ill.has(name)) ILL[ill.get(name)!]!(response);
    else response.end(JSON.stringify({ load: loadOf(Number(name.split('-')[1])) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ill, alwaysBusy };
}

describeFaults('targets', (fault) => {
  fault('that answer slowly, 429, 500 and garbage', async ({ cluster, chance, first }) => {
    // One that is busy for good is waited for, for a minute: once is enough.
    const { address, ill, alwaysBusy } = await startTargets(chance, first ? 1 : 0);
    const runId = await cluster.startRun('short_waiting', { machines: MACHINES, address });
    await Promise.all([cluster.startWorker(), cluster.startWorker()]);
    expect(await untilEnded(cluster.db, runId)).toMatchObject({ status: 'completed', answer_kind: 'envelope' });
    const outcomes = await outcomesOf(cluster.db, runId);
    expect(Object.keys(outcomes)).toHaveLength(MACHINES);
    for (let number = 0; number < MACHINES; number++) {
      const name = machineName(number);
      const unchecked = ill.has(name) || alwaysBusy.includes(name);
      const expected = unchecked ? { outcome: 'not_checked', verdict: null } : rightOutcome(number);
      expect({ name, does: ill.get(name), ...outcomes[name] }).toMatchObject({ name, ...expected });
    }
    for (const name of alwaysBusy) expect(outcomes[name]).toMatchObject({ reason_code: 'target_busy' });
  });
});
