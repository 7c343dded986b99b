/** The mark by which a loss of everything is seen. */
import { testQueueBackends } from '@muster/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openQueueBackend } from '../src/index.ts';
import { loseEverything } from './lose-everything.ts';
import { message, openBench } from './queue-bench.ts';

describe.each(await testQueueBackends())('on $name', ({ name, url }) => {
  test('it is there from when it was set until the store loses everything, for everybody who looks', async () => {
    const { backend, producer, prefix } = await openBench(name, url);
    const marks = [backend.openMark(), backend.openMark()];
    onTestFinished(async () => void (await Promise.all(marks.map((mark) => mark.close()))));
    const seen = () => Promise.all(marks.map((mark) => mark.isThere()));
    expect(await seen()).toEqual([false, false]);
    await marks[0]!.set();
    await marks[1]!.set();
    expect(await seen()).toEqual([true, true]);
    await backend.prepare();
    expect(await seen()).toEqual([true, true]);
    const sent = message();
    await producer.send([{ message: sent, priority: 1 }]);
    await loseEverything(name, url, prefix);
    expect(await seen()).toEqual([false, false]);
    await backend.prepare();
    expect(await seen()).toEqual([false, false]);
    expect(await producer.isLiving(sent)).toBe(false);
    await marks[0]!.set();
    expect(await seen()).toEqual([true, true]);
  });

  test('a store that cannot be reached is no store that has lost everything', async () => {
    const away = new URL(url);
    away.host = '127.0.0.1:1';
    const gone = openQueueBackend({
      ...(name === 'redis' && { redisUrl: away.href }),
      databaseUrl: away.href,
      prefix: 'gone',
    }).openMark();
    onTestFinished(() => gone.close());
    await expect(gone.isThere()).rejects.toThrow();
  });
});
