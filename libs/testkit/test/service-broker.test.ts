import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { SharedService } from '../src/service-broker.ts';
import { startServiceBroker } from '../src/service-broker.ts';

/** A service that writes down what is done with it. */
function recordingService(log: string[]): SharedService<number> {
  let lent = 0;
  return {
    async lend() {
      const value = ++lent;
      log.push(`lent ${value}`);
      return { value, takeBack: async () => void log.push(`took back ${value}`) };
    },
    stop: async () => void log.push('stopped'),
  };
}

async function ask(path: string, name: string) {
  const socket = connect(path);
  socket.write(`${name}\n`);
  const [line] = await once(createInterface({ input: socket }), 'line');
  return { socket, answer: JSON.parse(line as string) as unknown };
}

test('a service starts when it is asked for, once, and what is lent goes back when the asker lets go or breaks off', async () => {
  const log: string[] = [];
  const broker = await startServiceBroker({
    one: async () => {
      log.push('started');
      return recordingService(log);
    },
    other: async () => {
      throw new Error('must not start');
    },
  });
  const [first, second] = [await ask(broker.path, 'one'), await ask(broker.path, 'one')];
  expect([first.answer, second.answer]).toEqual([{ lent: 1 }, { lent: 2 }]);
  first.socket.end();
  await once(first.socket, 'close');
  expect(log).toEqual(['started', 'lent 1', 'lent 2', 'took back 1']);
  second.socket.destroy();
  await broker.stop();
  expect(log.slice(4)).toEqual(['took back 2', 'stopped']);
  expect(existsSync(broker.path)).toBe(false);
});

test('the end of the run takes back what nobody gave back, before the service stops', async () => {
  const log: string[] = [];
  const broker = await startServiceBroker({ one: async () => recordingService(log) });
  await ask(broker.path, 'one');
  await broker.stop();
  expect(log).toEqual(['lent 1', 'took back 1', 'stopped']);
});

test('a service that cannot start refuses with its reason, and an unknown one by name', async () => {
  const broker = await startServiceBroker({ broken: () => Promise.reject(new Error('no such image')) });
  expect((await ask(broker.path, 'broken')).answer).toEqual({ refused: 'no such image' });
  expect((await ask(broker.path, 'toString')).answer).toEqual({ refused: 'no service is named "toString"' });
  await broker.stop();
});
