import { expect, test } from 'vitest';
import { type ArtifactEvent, bindArtifacts, inMemoryArtifacts, newArtifactRef } from '../src/index.ts';

const SCOPE = { tenant: 'acme', conversationId: 'run-1' };
const PLAIN = { kind: 'test/plain', mediaType: 'text/plain' };

test('a bound store stamps its own origin and drops the one a caller claims', async () => {
  const store = inMemoryArtifacts();
  const claim = { ...PLAIN, data: 'x', origin: { runId: 'somebody-else' } };
  const bound = bindArtifacts(store, SCOPE, { origin: { runId: 'run-1', toolCallId: 'call-1' } });
  expect((await bound.put(claim)).origin).toEqual({ runId: 'run-1', toolCallId: 'call-1' });
  expect((await bindArtifacts(store, SCOPE).put(claim)).origin).toBeUndefined();
});

test('a bound store reaches its scope and no other, also when the scope object is changed later', async () => {
  const store = inMemoryArtifacts();
  const scope = { ...SCOPE };
  const bound = bindArtifacts(store, scope);
  const { ref } = await bound.put({ ...PLAIN, data: 'mine' });
  const foreign = await store.put({ ...SCOPE, tenant: 'other' }, { ...PLAIN, data: 'theirs' });
  scope.tenant = 'other';
  expect(await bound.get(foreign.meta.ref)).toBeNull();
  expect((await bound.get(ref))?.data).toBe('mine');
  expect((await bound.list()).artifacts.map((meta) => meta.ref)).toEqual([ref]);
  await bound.delete(foreign.meta.ref);
  expect(await store.head({ ...SCOPE, tenant: 'other' }, foreign.meta.ref)).not.toBeNull();
});

test('an observer hears of every call and its outcome, and never of a payload', async () => {
  const events: ArtifactEvent[] = [];
  const bound = bindArtifacts(inMemoryArtifacts({ maxBytes: 10 }), SCOPE, { onEvent: (event) => events.push(event) });
  const { ref } = await bound.put({ ...PLAIN, data: 'secret' });
  const missing = newArtifactRef();
  await bound.head(ref);
  await bound.get(missing);
  await bound.list();
  await bound.delete(ref);
  await expect(bound.put({ ...PLAIN, data: 'secret secret' })).rejects.toThrow('too large');
  expect(events).toEqual([
    { verb: 'put', outcome: 'ok', ref, kind: 'test/plain', bytes: 6 },
    { verb: 'head', outcome: 'ok', ref, kind: 'test/plain', bytes: 6 },
    { verb: 'get', outcome: 'absent', ref: missing },
    { verb: 'list', outcome: 'ok' },
    { verb: 'delete', outcome: 'ok', ref },
    { verb: 'put', outcome: 'error', code: 'artifact_too_large' },
  ]);
});

test('an observer that throws changes nothing', async () => {
  const onEvent = () => {
    throw new Error('broken observer');
  };
  const bound = bindArtifacts(inMemoryArtifacts(), SCOPE, { onEvent });
  const { ref } = await bound.put({ ...PLAIN, data: 'x' });
  expect((await bound.get(ref))?.data).toBe('x');
});
