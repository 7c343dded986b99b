/** Busy targets: how they are recognised, and how calls back off from them. */
import { describe, expect, test } from 'vitest';
import {
  defineTool,
  dispatchTools,
  memoryPacer,
  sealCredential,
  TargetBusyError,
  ToolBusyError,
} from '../src/index.ts';
import { callPaced } from '../src/paced-call.ts';
import { readBusy } from '../src/tool-busy.ts';
import { FakeTimers, settled } from './fake-timers.ts';
import { fleetOf, runAnswered } from './fleet-runbook.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const withHeaders = (headers: unknown, status = 429) => ({ status, headers });

describe('a busy target is recognised', () => {
  test.each<[string, unknown, number | undefined]>([
    ['in what a tool throws for it', new ToolBusyError({ retryAfterMs: 1500 }), 1500],
    ['in what a tool throws for it, without a time', new ToolBusyError(), undefined],
    ['by a copy of that error from elsewhere', { name: 'Other', code: 'tool_busy', retryAfterMs: 20 }, 20],
    ['down the chain of causes', new Error('x', { cause: new Error('y', { cause: new ToolBusyError() }) }), undefined],
    ['by the status', { status: 429 }, undefined],
    ['by the status code', { statusCode: 429, retryAfter: 2 }, 2000],
    ['by a code that is a number', { code: 429 }, undefined],
    ['by the status of its response', { response: { status: 429, headers: { 'Retry-After': '3' } } }, 3000],
    ['by the status of a cloud client', { $metadata: { httpStatusCode: 429 } }, undefined],
    ['by a header in any case', withHeaders({ 'RETRY-AFTER': '4' }), 4000],
    ['by a header that came twice', withHeaders({ 'retry-after': ['5', '9'] }), 5000],
    ['by headers as the platform has them', withHeaders(new Headers({ 'retry-after': '6' })), 6000],
    ['by an HTTP date', withHeaders({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }), 30_000],
    ['by an HTTP date that has been', withHeaders({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }), 0],
    ['by a date object', { status: 429, retryAfter: new Date(NOW + 7000) }, 7000],
    ['by 503 with a time', withHeaders({ 'retry-after': '0' }, 503), 0],
    ['by a header-like field', { status: 503, 'retry-after': '1.5' }, 1500],
  ])('%s', (_how, error, retryAfterMs) => {
    expect(readBusy(error, NOW)).toEqual(retryAfterMs === undefined ? {} : { retryAfterMs });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', '429'],
    ['another failure', Object.assign(new Error('429 Too Many Requests'), { status: 500, retryAfter: 1 })],
    ['503 without a time', { status: 503 }],
    ['503 with a time that cannot be read', withHeaders({ 'retry-after': 'soon' }, 503)],
    ['a code that is a text', { code: '429' }],
  ])('and not in %s', (_what, error) => {
    expect(readBusy(error, NOW)).toBeUndefined();
  });

  test('also where the error bites: getters that throw, headers that throw, and a chain without an end', () => {
    const biting = Object.defineProperty({ status: 429 } as Record<string, unknown>, 'headers', {
      get() {
        throw new Error('no');
      },
    });
    expect(readBusy(biting)).toEqual({});
    const get = () => {
      throw new Error('no');
    };
    expect(readBusy({ status: 429, headers: { get } })).toEqual({});
    const round: { cause?: unknown } = {};
    round.cause = round;
    expect(readBusy(round)).toBeUndefined();
    expect(readBusy({ status: 429, retryAfter: -1 })).toEqual({});
  });
});

describe('a call that finds its target busy', () => {
  const setUp = (answers: unknown[], patienceMs = 120_000) => {
    const timers = new FakeTimers();
    const pacer = memoryPacer({ timers, elapsedMs: timers.now });
    const calledAt: number[] = [];
    const began = timers.now();
    const call = { tool: 'ask', target: 'north', patienceMs, longestMs: 60_000 };
    const start = () =>
      callPaced({ pacer, call, random: () => 1 }, async () => {
        calledAt.push(timers.now() - began);
        const answer = answers.shift();
        if (answer instanceof Error || typeof answer === 'object') throw answer;
        return answer;
      });
    return { timers, pacer, calledAt, start };
  };

  test('is made again after the time that the target named', async () => {
    const { timers, calledAt, start } = setUp([{ status: 429, retryAfter: 7 }, 'fine']);
    const call = start();
    await timers.advance(6999);
    expect(calledAt).toEqual([0]);
    await timers.advance(100);
    expect(await call).toBe('fine');
    expect(calledAt[1]).toBeGreaterThanOrEqual(7000);
  });

  test('backs off for longer each time when the target names none, up to a bound', async () => {
    const { timers, calledAt, start } = setUp([...Array.from({ length: 7 }, () => ({ status: 429 })), 'fine']);
    const call = start();
    await timers.advance(200_000);
    expect(await call).toBe('fine');
    const pauses = calledAt.slice(1).map((at, index) => Math.round((at - calledAt[index]!) / 100) / 10);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
  });

  test('is given up by name after so many tries', async () => {
    const { timers, calledAt, start } = setUp(Array.from({ length: 20 }, () => ({ status: 429, retryAfter: 0 })));
    const call = start().catch((error: unknown) => error);
    await timers.advance(10_000);
    const error = await call;
    expect(error).toBeInstanceOf(TargetBusyError);
    expect(error).toMatchObject({ code: 'target_busy', tool: 'ask', name: 'TargetBusyError' });
    expect((error as Error).message).toBe("the tool 'ask' found its target 'north' busy, and gave up after 8 tries");
    expect(calledAt).toHaveLength(8);
  });

  test('is given up at once when that would take longer than it is worth', async () => {
    const { calledAt, start, timers } = setUp([{ status: 429, retryAfter: 121 }]);
    await expect(start()).rejects.toThrow(/and gave up after 1 try$/);
    expect(calledAt).toHaveLength(1);
    // So is every other one, without a try, until the pause is nearly over.
    await expect(start()).rejects.toThrow(/^the tool 'ask' found its target 'north' busy, which is to be left alone/);
    expect(calledAt).toHaveLength(1);
    await timers.advance(60_000);
    const later = start();
    await timers.advance(62_000);
    await later;
    expect(calledAt).toHaveLength(2);
  });

  test('holds up the calls of others for that target, and for no other', async () => {
    const { timers, pacer, start } = setUp([{ status: 429, retryAfter: 5 }, 'fine', 'fine']);
    const call = start();
    await settled();
    const went: string[] = [];
    for (const target of ['north', 'south']) {
      void pacer
        .admit({ tool: 'ask', target, patienceMs: 60_000, longestMs: 60_000 })
        .then(() => went.push(`${target} at ${timers.now()}`));
    }
    await timers.advance(4900);
    expect(went).toHaveLength(1);
    expect(went[0]).toMatch(/^south/);
    await timers.advance(1000);
    expect(await call).toBe('fine');
  });

  test('afterwards trusts that target with one call at a time, and with more as they end well', async () => {
    const timers = new FakeTimers();
    const pacer = memoryPacer({ timers, elapsedMs: timers.now });
    pacer.pause({ tool: 'ask', target: 'north' }, 1000);
    const permits: { release(how?: 'busy'): void }[] = [];
    for (let index = 0; index < 12; index++) {
      void pacer
        .admit({ tool: 'ask', target: 'north', patienceMs: 60_000, longestMs: 60_000 })
        .then((permit) => permits.push(permit));
    }
    await timers.advance(1100);
    expect(permits).toHaveLength(1);
    permits.shift()?.release();
    await timers.advance(10);
    expect(permits).toHaveLength(2);
    permits.shift()?.release('busy');
    await timers.advance(10);
    expect(permits).toHaveLength(2);
    for (const permit of permits.splice(0)) permit.release();
    await timers.advance(10);
    expect(permits).toHaveLength(2);
    for (const permit of permits.splice(0)) permit.release();
    await timers.advance(10);
    expect(permits).toHaveLength(3);
  });

  test('that is something else is thrown as it is, and the permit comes back', async () => {
    const timers = new FakeTimers();
    const pacer = memoryPacer({ timers, elapsedMs: timers.now });
    const limits = { concurrency: 1 };
    const failure = new Error('no');
    const call = { tool: 'ask', limits, patienceMs: 1000, longestMs: 1000 };
    const failing = callPaced({ pacer, call }, () => Promise.reject(failure)).catch((error: unknown) => error);
    const next = callPaced({ pacer, call }, async () => 'fine');
    await timers.advance(300);
    expect([await failing, await next]).toEqual([failure, 'fine']);
  });
});

describe('the dispatch', () => {
  const busy = (limits?: { concurrency: number }, needs?: { credential: string }) => {
    const seen: (string | undefined)[] = [];
    const tool = defineTool({
      name: 'ask',
      description: 'Asks.',
      ...(limits !== undefined && { limits }),
      ...(needs !== undefined && { needs }),
      execute: (_args, { target, credential }) => {
        seen.push(target);
        throw Object.assign(new Error(`secret ${credential?.reveal()}`), {
          status: 429,
          headers: { 'retry-after': '0' },
        });
      },
    });
    return { tool, seen };
  };

  test.each([undefined, { concurrency: 1 }])('tries a busy target again, with limits %o', async (limits) => {
    const { tool, seen } = busy(limits);
    const tools = dispatchTools([tool], { toolCallId: 'c1', pacer: memoryPacer() });
    await expect(tools.call('ask', {}, { target: 'north' })).rejects.toThrow(
      "the tool 'ask' found its target 'north' busy, and gave up after 8 tries",
    );
    expect(seen).toEqual(Array(8).fill('north'));
  });

  test('recognises it in a tool that held a credential too, and tells nothing of what it threw', async () => {
    const { tool, seen } = busy(undefined, { credential: 'token' });
    const resolveCredential = () => sealCredential('token', 'open sesame');
    const tools = dispatchTools([tool], { toolCallId: 'c1', pacer: memoryPacer(), resolveCredential });
    const error: unknown = await tools.call('ask').catch((thrown: unknown) => thrown);
    expect((error as Error).message).toBe("the tool 'ask' found what it asks busy, and gave up after 8 tries");
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/secret|sesame/);
    expect((error as Error).cause).toBeUndefined();
    expect(seen).toHaveLength(8);
  });

  test('ends the wait for a busy target as soon as the run is aborted', async () => {
    const { tool } = busy({ concurrency: 1 });
    const abort = new AbortController();
    const pacer = memoryPacer();
    pacer.pause({ tool: 'ask' }, 60_000);
    const tools = dispatchTools([tool], { toolCallId: 'c1', pacer, signal: abort.signal });
    const call = tools.call('ask').catch((error: unknown) => error);
    await settled();
    abort.abort('stopping');
    expect(await call).toBe('stopping');
    await pacer.close();
  });

  test('without a pacer holds limits within the process, over all dispatches', async () => {
    let [underWay, most] = [0, 0];
    const tool = defineTool({
      name: 'ask_one_at_a_time',
      description: 'Asks.',
      limits: { concurrency: 1 },
      execute: async () => {
        most = Math.max(most, ++underWay);
        await settled();
        underWay--;
      },
    });
    const dispatches = ['c1', 'c2'].map((toolCallId) => dispatchTools([tool], { toolCallId }));
    await Promise.all(dispatches.flatMap((tools) => [1, 2, 3].map(() => tools.call(tool.name))));
    expect(most).toBe(1);
  });
});

test('a subject whose target stays busy is not checked, by the names of tool and target; the others go on', async () => {
  const tool = defineTool({
    name: 'call',
    description: 'Asks.',
    execute: (_args, { target }) => {
      if (target === 'north') throw new ToolBusyError({ retryAfterMs: 3_600_000 });
      return { ok: true };
    },
  });
  const subjects = ['north', 'north', 'south'].map((target, index) => ({ id: `${index}`, act: 'call', target }));
  const tools = dispatchTools([tool], { toolCallId: 'c1', pacer: memoryPacer() });
  const { envelope, subjects: assessed } = await runAnswered(fleetOf(subjects), { tools });
  expect(assessed.map(({ outcome, reasonCode }) => reasonCode ?? outcome)).toEqual([
    'target_busy',
    'target_busy',
    'verdict',
  ]);
  expect(assessed[0]?.reason).toBe("the tool 'call' found its target 'north' busy, and gave up after 1 try");
  expect(assessed[1]?.reason).toMatch(/^the tool 'call' found its target 'north' busy, which is to be left alone/);
  expect(JSON.stringify(envelope.af_coverage.not_checked)).toMatch(/'call' found its target 'north' busy/);
});
