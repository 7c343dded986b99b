import { expect, test } from 'vitest';
import { waitFor } from '../src/index.ts';

test('it gives back the first answer that fits', async () => {
  let asked = 0;
  const seen = await waitFor(
    async () => ++asked,
    (count) => count === 3,
  );
  expect(seen).toBe(3);
});

test('a look that throws is asked again', async () => {
  let asked = 0;
  const seen = await waitFor(() => {
    asked += 1;
    if (asked < 2) throw new Error('not yet');
    return 'there';
  });
  expect(seen).toBe('there');
});

test('at the deadline it says what it waited for and what it saw last', async () => {
  const options = { what: 'the sealed run', timeoutMs: 1 };
  const never = () => false;
  await expect(waitFor(() => ({ status: 'running', total: 2n }), never, options)).rejects.toThrow(
    'the sealed run did not come within 1 ms; last seen: {"status":"running","total":"2n"}',
  );
  const failing = () => Promise.reject(new Error('no such table'));
  await expect(waitFor(failing, never, options)).rejects.toThrow('last seen: an error: no such table');
});
