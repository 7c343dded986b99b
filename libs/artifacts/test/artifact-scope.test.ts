import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scopePrefix } from '../src/artifact-scope.ts';
import type { ArtifactScope } from '../src/index.ts';

/** Parts from few, nasty characters, so that near misses are common, and long ones, which are hashed. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'A', '-', '_', '/', '.', '2', 'f', 't', 'é', '\u0301', '\0'), maxLength: 4 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 149, maxLength: 152 }),
);
const scope: fc.Arbitrary<ArtifactScope> = fc.record(
  { tenant: part, principal: part, conversationId: part.filter((value) => value !== '') },
  { requiredKeys: ['conversationId'] },
);
const isSame = (a: ArtifactScope, b: ArtifactScope) =>
  a.tenant === b.tenant && a.principal === b.principal && a.conversationId === b.conversationId;

test('two scopes share a prefix only when they are the same, also where case does not count', () => {
  fc.assert(
    fc.property(scope, scope, (a, b) => {
      expect(scopePrefix(a).toLowerCase() === scopePrefix(b).toLowerCase()).toBe(isSame(a, b));
    }),
    { numRuns: 3_000 },
  );
});

test('no prefix lies under another', () => {
  fc.assert(
    fc.property(scope, scope, (a, b) => {
      if (!isSame(a, b)) expect(scopePrefix(a).startsWith(scopePrefix(b))).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});

test('a prefix is three short segments of harmless characters', () => {
  fc.assert(
    fc.property(scope, (value) => {
      expect(scopePrefix(value)).toMatch(/^t[a-z0-9_-]{0,150}\/p[a-z0-9_-]{0,150}\/c[a-z0-9_-]{1,150}\/$/);
    }),
  );
});

test('the layout on disk and in buckets stays what it was', () => {
  expect(scopePrefix({ tenant: 'Acme', conversationId: 'run-1' })).toBe('t-_41cme/p/c-run-1/');
  expect(scopePrefix({ principal: '', conversationId: 'é' })).toBe('t/p-/c-_c3_a9/');
});
