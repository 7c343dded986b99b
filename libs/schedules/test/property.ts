/** A property as a test of its own name. */
import * as fc from 'fast-check';
import { test as vitestTest } from 'vitest';

export { fc };

const RUNS = 200;

export function test<A, B, C>(
  name: string,
  a: fc.Arbitrary<A>,
  b: fc.Arbitrary<B>,
  c: fc.Arbitrary<C>,
  holds: (a: A, b: B, c: C) => void,
): void {
  vitestTest(name, () => fc.assert(fc.property(a, b, c, holds), { numRuns: RUNS }));
}
