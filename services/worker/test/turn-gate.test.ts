/** A turn that is alone has the process to itself, and comes to its turn although others keep coming. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TurnGate } from '../src/turn-gate.ts';
import { signal } from './worker-bench.ts';

test('whatever comes in whatever order: nothing works beside a turn that is alone, and everything gets its turn', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3 })), { maxLength: 40 }),
      async (turns) => {
        const gate = new TurnGate();
        const inside = { shared: 0, alone: 0 };
        let done = 0;
        const work = (kind: 'shared' | 'alone', steps: number) => async () => {
          inside[kind]++;
          for (let step = 0; step <= steps; step++) {
            expect(inside.alone).toBeLessThanOrEqual(1);
            expect(inside.alone === 1 && inside.shared > 0).toBe(false);
            await null;
          }
          inside[kind]--;
          done++;
        };
        await Promise.all(
          turns.map(([alone, steps]) =>
            alone ? gate.alone(work('alone', steps)) : gate.shared(work('shared', steps)),
          ),
        );
        expect(done).toBe(turns.length);
      },
    ),
  );
});

test('one that waits to be alone goes before those that come after it', async () => {
  const gate = new TurnGate();
  const order: string[] = [];
  const held = signal();
  const first = gate.shared(() => held.given);
  const alone = gate.alone(async () => void order.push('alone'));
  const later = gate.shared(async () => void order.push('later'));
  held.give();
  await Promise.all([first, alone, later]);
  expect(order).toEqual(['alone', 'later']);
});

test('a turn that throws lets the others go on', async () => {
  const gate = new TurnGate();
  await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(gate.shared(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.alone(async () => 1)).toBe(1);
});
