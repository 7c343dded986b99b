/** What waits to be judged is sealed: only the right key opens it, only where it was put, and only undamaged. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SecretBox, SecretBoxError } from '../src/index.ts';

const box = new SecretBox(randomBytes(32));

function refusal(open: () => unknown): SecretBoxError {
  try {
    open();
  } catch (error) {
    expect(error).toBeInstanceOf(SecretBoxError);
    return error as SecretBoxError;
  }
  throw new Error('the box opened');
}

test('what was sealed comes back byte for byte', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), fc.string(), (bytes, place) => {
      expect(Buffer.compare(box.open(box.seal(bytes, place), place), bytes)).toBe(0);
    }),
  );
});

test('no change of any one byte goes unnoticed', () => {
  const sealed = box.seal(Buffer.from('a pod and its words'), 'chunk-1');
  for (let index = 0; index < sealed.length; index++) {
    const damaged = Buffer.from(sealed);
    damaged[index] = (damaged[index] as number) ^ 1;
    expect(refusal(() => box.open(damaged, 'chunk-1')).code).toBe('secret_box_unreadable');
  }
});

test('what was cut off or is empty is no box', () => {
  const sealed = box.seal(Buffer.from('a pod and its words'), 'chunk-1');
  for (const length of [0, 1, 28, 29, sealed.length - 1])
    refusal(() => box.open(sealed.subarray(0, length), 'chunk-1'));
});

test('it opens only at the place it was sealed for', () => {
  const sealed = box.seal(Buffer.from('a pod'), 'chunk-1');
  expect(box.open(sealed, 'chunk-1').toString()).toBe('a pod');
  refusal(() => box.open(sealed, 'chunk-2'));
});

test('another key does not open it, and the refusal names the setting and nothing of the content', () => {
  const sealed = box.seal(Buffer.from('geheim'), 'chunk-1');
  const { message } = refusal(() => new SecretBox(randomBytes(32)).open(sealed, 'chunk-1'));
  expect(message).toMatch(/MUSTER_SECRET_KEY/);
  expect(message).not.toMatch(/geheim/);
});

test('equal contents are sealed differently, and the content is nowhere in the box', () => {
  const plain = Buffer.from('the same words in both');
  const [one, two] = [box.seal(plain, 'p'), box.seal(plain, 'p')];
  expect(one.equals(two)).toBe(false);
  expect(one.includes(plain)).toBe(false);
});
