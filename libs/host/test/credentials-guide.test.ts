/** docs/guides/credentials.md lists every code that a credential can fail with. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CREDENTIAL_FAULTS } from '../src/credential-error.ts';

test('the guide lists the codes, in their order', () => {
  const guide = readFileSync(new URL('../../../docs/guides/credentials.md', import.meta.url), 'utf8');
  const listed = [...guide.matchAll(/^\| `(credential_\w+)`/gm)].map(([, code]) => code);
  expect(listed).toEqual(CREDENTIAL_FAULTS);
});
