/**
 * The store contract as named cases, for every adapter: ours run it, and one of your own should.
 *
 * A case needs no test framework: it throws when the store breaks the rule that its name states.
 *
 *     for (const { name, run } of artifactStoreContract) test(name, () => run(makeMyHarness));
 */
import { bytesCases } from './bytes-cases.ts';
import type { ContractCase } from './contract-case.ts';
import { listingCases } from './listing-cases.ts';
import { putCases } from './put-cases.ts';
import { scopeCases } from './scope-cases.ts';
import { streamCases } from './stream-cases.ts';

export type { ContractCase, ContractHarness, HarnessOptions, MakeHarness } from './contract-case.ts';

/** Every case of the contract. */
export const artifactStoreContract: readonly ContractCase[] = Object.freeze([
  ...bytesCases,
  ...putCases,
  ...scopeCases,
  ...streamCases,
  ...listingCases,
]);
