/** Limits of tools: what may be declared, and that a pacer holds them (see the head of shared-pacer.ts). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CallPermit,
  CatalogError,
  createAssessor,
  createCatalog,
  defineTool,
  dispatchTools,
  memoryPacer,
  type PacedCall,
  type PermitReply,
  type PermitRequest,
  SharedPacer,
  type Tool,
} from '../src/index.ts';
import { FakeTimers, settled } from './fake-timers.ts';
import { ARGS, fleetOf } from './fleet-runbook.ts';
import { thrownBy } from './procedures.ts';

const execute = () => 'fine';
const define = (limits: unknown) => defineTool({ name: 'ask', description: 'Asks.', limits: limits as never, execute });

describe('a tool', () => {
  test.each([
    [undefined],
    [{ concurrency: 1 }],
    [{ perSecond: 0.5 }],
    [{ perTarget: { concurrency: 3 } }],
    [{ concurrency: 50, perSecond: 100, perTarget: { concurrency: 2, perSecond: 5 } }],
    [{ concurrency: 5, perSecond: undefined }],
  ])('may declare the limits %o', (limits) => {
    expect(define(limits).limits).toBe(limits);
  });

  test.each<[string, unknown, RegExp]>([
    ['null', null, /`limits` must be .*concurrency\?.*got null/],
    ['a number', 5, /`limits` must be .*got 5/],
    ['nothing in it', {}, /`limits` must be .*at least one/],
    ['nothing that counts', { concurrency: undefined }, /`limits` must be .*at least one/],
    ['another word', { rate: 5 }, /`limits\.rate` must be one of the limits .*got 5/],
    ['no concurrency at all', { concurrency: 0 }, /`limits\.concurrency` must be a whole number from 1.*got 0/],
    ['half a call', { concurrency: 1.5 }, /`limits\.concurrency` .*got 1\.5/],
    ['too many to be held', { concurrency: 1e9 }, /`limits\.concurrency` .*got 1000000000/],
    ['a rate of none', { perSecond: 0 }, /`limits\.perSecond` must be a number from 0\.001 .*got 0/],
    ['a rate without an end', { perSecond: Number.POSITIVE_INFINITY }, /`limits\.perSecond` .*got Infinity/],
    ['a rate that is none', { perSecond: Number.NaN }, /`limits\.perSecond` .*got NaN/],
    ['a rate in words', { perSecond: '5' }, /`limits\.perSecond` .*got "5"/],
    ['an empty part', { perTarget: {} }, /`limits\.perTarget` must be .*at least one/],
    ['a part that is none', { perTarget: 3 }, /`limits\.perTarget` must be .*got 3/],
    ['a wrong part', { perTarget: { concurrency: -1 } }, /`limits\.perTarget\.concurrency` .*got -1/],
    [
      'a part in a part',
      { perTarget: { perTarget: { concurrency: 1 } } },
      /`limits\.perTarget\.perTarget` must be one of/,
    ],
  ])('is refused with %s, by the name of the option and what it got', (_what, limits, message) => {
    const error = thrownBy(() => define(limits));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^tool 'ask': /);
    expect(error.message).toMatch(message);
  });

  test('that was made by hand is refused when the catalog is built', () => {
    const tool = { ...define(undefined), limits: { concurrency: 0 } } as Tool;
    expect(thrownBy(() => createCatalog({ runbooks: [], tools: [tool] }))).toBeInstanceOf(CatalogError);
  });
});

const asked = (over: Partial<PacedCall> = {}): PacedCall => ({
  tool: 'ask',
  patienceMs: 60_000,
  longestMs: 60_000,
  ...over,
});

describe('a pacer', () => {
  const setUp = () => {
    const timers = new FakeTimers();
    return { timers, pacer: memoryPacer({ timers, elapsedMs: timers.now }) };
  };

  test('lets as many calls begin at once as are declared, over all and for each target, and in the end all of them', async () => {
    const call = fc.record({ target: fc.constantFrom('a', 'b', 'c', ''), lastsMs: fc.integer({ min: 0, max: 300 }) });
    const limit = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 25 }), limit, limit, async (calls, concurrency, perTarget) => {
        fc.pre(concurrency !== undefined || perTarget !== undefined);
        const { timers, pacer } = setUp();
        const limits = {
          ...(concurrency !== undefined && { concurrency }),
          ...(perTarget !== undefined && { perTarget: { concurrency: perTarget } }),
        };
        const underWay = new Map<string, number>();
        let done = 0;
        for (const { target, lastsMs } of calls) {
          void pacer.admit(asked({ target, limits })).then((permit) => {
            underWay.set(target, (underWay.get(target) ?? 0) + 1);
            const all = [...underWay.values()].reduce((sum, count) => sum + count, 0);
            expect(all).toBeLessThanOrEqual(concurrency ?? all);
            if (target !== '') expect(underWay.get(target)).toBeLessThanOrEqual(perTarget ?? all);
            timers.setTimeout(() => {
              underWay.set(target, (underWay.get(target) as number) - 1);
              done++;
              permit.release();
              permit.release();
            }, lastsMs);
          });
        }
        await timers.advance(calls.length * 600 + 1000);
        expect(done).toBe(calls.length);
        expect(timers.armed).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  test('lets calls begin no closer than the rate, over all and for each target', async () => {
    const { timers, pacer } = setUp();
    const began: { at: number; target: string }[] = [];
    for (let index = 0; index < 40; index++) {
      const target = `target-${index % 4}`;
      void pacer.admit(asked({ target, limits: { perSecond: 10, perTarget: { perSecond: 2 } } })).then((permit) => {
        began.push({ at: timers.now(), target });
        permit.release();
      });
    }
    await timers.advance(30_000);
    expect(began).toHaveLength(40);
    const closest = (instants: number[]) => Math.min(...instants.slice(1).map((at, index) => at - instants[index]!));
    // A timer of whole ms may come a little after its start, and the next one not.
    expect(closest(began.map(({ at }) => at))).toBeGreaterThanOrEqual(95);
    for (const target of ['target-0', 'target-3']) {
      expect(closest(began.filter((one) => one.target === target).map(({ at }) => at))).toBeGreaterThanOrEqual(495);
    }
  });

  test('holds a rate and a concurrency at once, and lets every call begin in the end', async () => {
    const { timers, pacer } = setUp();
    const limits = { concurrency: 2, perSecond: 20, perTarget: { concurrency: 1, perSecond: 10 } };
    let [underWay, most, done] = [0, 0, 0];
    for (let index = 0; index < 30; index++) {
      void pacer.admit(asked({ target: `target-${index % 3}`, limits })).then((permit) => {
        most = Math.max(most, ++underWay);
        timers.setTimeout(() => {
          underWay--;
          done++;
          permit.release();
        }, 150);
      });
    }
    await timers.advance(20_000);
    expect([most, done]).toEqual([2, 30]);
  });

  test('gives lanes their turns: a full target does not hold up the others', async () => {
    const { timers, pacer } = setUp();
    const limits = { concurrency: 2, perTarget: { concurrency: 1 } };
    const began: string[] = [];
    for (const target of ['full', 'full', 'full', 'free']) {
      void pacer.admit(asked({ target, limits })).then(() => began.push(target));
    }
    await timers.advance(1000);
    expect(began.sort()).toEqual(['free', 'full']);
  });

  test('ends a wait as soon as its signal is aborted, and what it waited for goes to the next', async () => {
    const { timers, pacer } = setUp();
    const limits = { concurrency: 1 };
    let held: CallPermit | undefined;
    void pacer.admit(asked({ limits })).then((permit) => (held = permit));
    await timers.advance(10);
    const abort = new AbortController();
    const waits = pacer.admit(asked({ limits, signal: abort.signal })).catch((reason: unknown) => reason);
    const next = pacer.admit(asked({ limits }));
    abort.abort('cancelled');
    expect(await waits).toBe('cancelled');
    const late = pacer.admit(asked({ limits, signal: abort.signal })).catch((reason: unknown) => reason);
    expect(await late).toBe('cancelled');
    held?.release();
    await timers.advance(10);
    await next;
  });

  test('takes back a permit that its run has given up', async () => {
    const { timers, pacer } = setUp();
    const limits = { concurrency: 1 };
    void pacer.admit(asked({ limits, longestMs: 5000 }));
    let went = false;
    void pacer.admit(asked({ limits })).then(() => (went = true));
    await timers.advance(4900);
    expect(went).toBe(false);
    await timers.advance(400);
    expect(went).toBe(true);
  });

  test('lets nothing begin any more when it is closed', async () => {
    const { timers, pacer } = setUp();
    const waits = pacer.admit(asked({ limits: { concurrency: 1 } })).catch((error: Error) => error.message);
    await pacer.close();
    expect(await waits).toMatch(/no longer held/);
    await expect(pacer.admit(asked())).rejects.toThrow(/no longer held/);
    await timers.advance(1000);
    expect(timers.armed).toBe(0);
  });
});

describe('a pacer over a store', () => {
  /** A store of one limit: what it gives is the test's to say, and everything that it was asked is kept. */
  const setUp = (reply: (request: PermitRequest) => Promise<PermitReply> | PermitReply) => {
    const timers = new FakeTimers();
    const requests: PermitRequest[] = [];
    const errors: unknown[] = [];
    const exchange = async (request: PermitRequest) => {
      requests.push(request);
      return await reply(request);
    };
    const options = { validMs: 5000, timers, elapsedMs: timers.now, onError: (error: unknown) => errors.push(error) };
    return { timers, requests, errors, pacer: new SharedPacer(exchange, options) };
  };
  const gives =
    (slots: number) =>
    ({ limits }: PermitRequest) => ({
      limits: limits.map(({ wanted }) => ({ slots: Math.min(slots, wanted), pausedForMs: 0 })),
      starts: [],
    });
  const limits = { concurrency: 8 };

  test('asks once for all calls that come together, and not at all while nothing goes on', async () => {
    const { timers, requests, pacer } = setUp(gives(8));
    await timers.advance(10_000);
    expect(requests).toHaveLength(0);
    const permits = Promise.all(Array.from({ length: 8 }, () => pacer.admit(asked({ limits }))));
    await timers.advance(20);
    expect(requests.map((request) => request.limits.map(({ inUse, wanted }) => [inUse, wanted]))).toEqual([[[0, 8]]]);
    for (const permit of await permits) permit.release();
    await timers.advance(2000);
    const asks = requests.length;
    // The last thing said is that nothing is wanted any more.
    expect(requests.at(-1)?.limits).toMatchObject([{ inUse: 0, wanted: 0 }]);
    await timers.advance(60_000);
    expect(requests).toHaveLength(asks);
    expect(timers.armed).toBe(0);
  });

  test('takes many calls, one after the other, through what it has leased without asking for each', async () => {
    const { timers, requests, pacer } = setUp(gives(8));
    let calls = 0;
    const lane = async () => {
      for (let call = 0; call < 50; call++) {
        const permit = await pacer.admit(asked({ limits }));
        await new Promise<void>((resolve) => void timers.setTimeout(resolve, 100));
        calls++;
        permit.release();
      }
    };
    const lanes = Array.from({ length: 8 }, lane);
    await timers.advance(5100);
    await Promise.all(lanes);
    // Five seconds of eight calls at once, as if there were no limit, and a few questions a second.
    expect(calls).toBe(400);
    expect(requests.length).toBeLessThan(60);
  });

  test('lets nothing begin on slots that a question under way may give back', async () => {
    let answer: (reply: PermitReply) => void = () => undefined;
    let first = true;
    const { timers, requests, pacer } = setUp((request) => {
      if (!first) return new Promise((resolve) => (answer = resolve));
      first = false;
      return gives(8)(request);
    });
    const permits: CallPermit[] = [];
    const ask = () => void pacer.admit(asked({ limits })).then((permit) => permits.push(permit));
    for (let index = 0; index < 8; index++) ask();
    await timers.advance(20);
    for (const permit of permits.splice(0, 6)) permit.release();
    await timers.advance(300);
    expect(requests).toHaveLength(2);
    expect(requests[1]?.limits).toMatchObject([{ inUse: 2 }]);
    ask();
    await timers.advance(50);
    expect(permits).toHaveLength(2);
    answer({ limits: [{ slots: 3, pausedForMs: 0 }], starts: [] });
    await timers.advance(50);
    expect(permits).toHaveLength(3);
  });

  test('cut off from the store, lets nothing begin after what it was given is over, and goes on when it is back', async () => {
    let away = false;
    const { timers, errors, pacer } = setUp((request) => {
      if (away) throw new Error('away');
      return gives(8)(request);
    });
    const permits: CallPermit[] = [];
    const ask = () => void pacer.admit(asked({ limits })).then((permit) => permits.push(permit));
    ask();
    await timers.advance(20);
    away = true;
    await timers.advance(6000);
    permits.shift()?.release();
    ask();
    await timers.advance(20_000);
    expect(permits).toHaveLength(0);
    expect(errors.length).toBeGreaterThan(5);
    away = false;
    await timers.advance(1000);
    expect(permits).toHaveLength(1);
  });

  test('leaves alone what another has found busy, until the store says that it is over', async () => {
    let pausedForMs = 3000;
    const { timers, requests, pacer } = setUp((request) => ({
      limits: request.limits.map(({ target }) => ({ slots: 8, pausedForMs: target === 'north' ? pausedForMs : 0 })),
      starts: [],
    }));
    let went = 0;
    void pacer.admit(asked({ target: 'north', limits })).then(() => went++);
    await timers.advance(100);
    expect(went).toBe(0);
    pausedForMs = 0;
    await timers.advance(300);
    expect(went).toBe(1);
    pacer.pause({ tool: 'ask', target: 'north' }, 1000);
    await timers.advance(10);
    expect(requests.at(-1)?.pauses).toEqual([{ tool: 'ask', target: 'north', forMs: 1000 }]);
  });
});

test('waiting for a limit costs a subject none of its time; a call that takes too long still does', async () => {
  const timers = new FakeTimers();
  const pacer = memoryPacer({ timers, elapsedMs: timers.now });
  const lasting = (ms: number) => new Promise<void>((resolve) => void timers.setTimeout(resolve, ms));
  const tool = defineTool({
    name: 'call',
    description: 'Asks.',
    limits: { concurrency: 1 },
    execute: (_args, { target }) => lasting(target === 'slow' ? 1500 : 700),
  });
  const tools = dispatchTools([tool], { toolCallId: 'c1', pacer });
  const runbook = fleetOf([], { limits: { subjectTimeoutMs: 1000 } });
  const assessor = createAssessor(runbook, ARGS, { toolCallId: 'c1', tools, timers });
  const ends = ['fast', 'fast', 'slow', 'fast', 'fast'].map((target, ordinal) =>
    assessor.assess({ ordinal, key: `${ordinal}`, target, subject: { id: `${ordinal}`, act: 'call' } }),
  );
  await timers.advance(10_000);
  const outcomes = (await Promise.all(ends)).map((end) => (end === 'aborted' ? end : (end.reasonCode ?? end.outcome)));
  // Each waits for those before it, the last for more than four seconds.
  expect(outcomes).toEqual(['verdict', 'verdict', 'timeout', 'verdict', 'verdict']);
  await settled();
});
