import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedText, storableText } from '../src/index.ts';

test('bounded text never has more bytes than allowed, and none that cannot be seen', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 8, max: 128 }), (text, maxBytes) => {
      const bounded = boundedText(text, maxBytes);
      expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(maxBytes);
      expect(bounded).not.toMatch(/[\p{Cc}\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u);
      expect(bounded.isWellFormed()).toBe(true);
      expect(bounded.replace('…', '')).not.toContain(text.includes('\ufffd') || !text.isWellFormed() ? '\0' : '\ufffd');
    }),
  );
});

test('colours and line breaks are taken out, words stay', () => {
  expect(boundedText(' \u001b[31mred\u001b[0m\r\nnext\u200b line\u202e ', 100)).toBe('red next line');
});

test('storable text differs only where PostgreSQL cannot store', () => {
  expect(storableText('a\0b\ud800c\u0007 ünï')).toBe('a\ufffdb\ufffdc\u0007 ünï');
});
