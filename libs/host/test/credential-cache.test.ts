/** What was read lately is not read again; what nobody waits for ends (see the head of `credential-cache.ts`). */
import { expect, test } from 'vitest';
import { CredentialCache } from '../src/credential-cache.ts';

function openCache(over: { lifetimeMs?: number; timeoutMs?: number } = {}) {
  const clock = { ms: 0 };
  const cache = new CredentialCache({ lifetimeMs: 60_000, timeoutMs: 60_000, elapsedMs: () => clock.ms, ...over });
  let readings = 0;
  const get = (key: string, value: string | undefined | Error = 'v') =>
    cache.get(key, async () => {
      readings++;
      if (value instanceof Error) throw value;
      return value;
    });
  return { clock, cache, get, readings: () => readings };
}

test('a value is read once in its lifetime, and anew after it', async () => {
  const { clock, get, readings } = openCache();
  for (const ms of [0, 1, 59_999]) {
    clock.ms = ms;
    expect(await get('k', `at ${ms}`)).toBe('at 0');
  }
  clock.ms = 60_000;
  expect(await get('k', 'later')).toBe('later');
  expect(readings()).toBe(2);
});

test('places have values of their own', async () => {
  const { get } = openCache();
  expect([await get('a', '1'), await get('b', '2'), await get('a', '3')]).toEqual(['1', '2', '1']);
});

test('with no lifetime each call reads', async () => {
  const { get, readings } = openCache({ lifetimeMs: 0 });
  await get('k');
  await get('k');
  expect(readings()).toBe(2);
});

test.each([undefined, new Error('no')])('that it is not there, or failed, is remembered for 5 s: %s', async (end) => {
  const { clock, get, readings } = openCache();
  const outcome = (value?: string | Error) => get('k', value).catch((error: Error) => error.message);
  const first = await outcome(end);
  clock.ms = 4999;
  expect(await outcome('v')).toBe(first);
  expect(readings()).toBe(1);
  clock.ms = 5000;
  expect(await outcome('v')).toBe('v');
});

test('many that wait for one place share one reading', async () => {
  const { cache } = openCache();
  const { promise, resolve } = Promise.withResolvers<string>();
  let readings = 0;
  const read = () => {
    readings++;
    return promise;
  };
  const all = Promise.all([1, 2, 3].map(() => cache.get('k', read)));
  resolve('v');
  expect(await all).toEqual(['v', 'v', 'v']);
  expect(readings).toBe(1);
});

test('who leaves does not end a reading that others wait for; the last one does', async () => {
  const { cache } = openCache();
  const [one, other] = [new AbortController(), new AbortController()];
  let ended: AbortSignal | undefined;
  const never = (signal: AbortSignal) => {
    ended = signal;
    return new Promise<string>(() => {});
  };
  const first = cache.get('k', never, one.signal);
  const second = cache.get('k', never, other.signal);
  one.abort('one left');
  await expect(first).rejects.toBe('one left');
  expect(ended?.aborted).toBe(false);
  other.abort('the other left');
  await expect(second).rejects.toBe('the other left');
  expect(ended?.reason).toMatchObject({ code: 'credential_abandoned' });
  expect(await cache.get('k', async () => 'anew')).toBe('anew');
});

test('a reading that does not come in time is a failure', async () => {
  const { cache } = openCache({ timeoutMs: 1 });
  await expect(cache.get('k', () => new Promise(() => {}))).rejects.toMatchObject({ code: 'credential_timeout' });
});

test('who has left already reads nothing', async () => {
  const { cache } = openCache();
  const read = () => Promise.reject(new Error('it was read'));
  await expect(cache.get('k', read, AbortSignal.abort('gone'))).rejects.toBe('gone');
});
