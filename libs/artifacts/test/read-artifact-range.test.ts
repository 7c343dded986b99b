import { expect, test } from 'vitest';
import { inMemoryArtifacts, newArtifactRef, readArtifactRange } from '../src/index.ts';

test('one range of an artifact is read into memory, cut to its length; a missing artifact is null', async () => {
  const store = inMemoryArtifacts();
  const scope = { conversationId: 'run-1' };
  const { meta } = await store.put(scope, { kind: 'test/plain', mediaType: 'text/plain', data: '0123456789' });
  const read = await readArtifactRange(store, scope, meta.ref, { start: 7, end: 99 });
  expect(read).toEqual({ meta, range: { start: 7, end: 10 }, data: new TextEncoder().encode('789') });
  expect(await readArtifactRange(store, scope, newArtifactRef(), { start: 0, end: 1 })).toBeNull();
});
