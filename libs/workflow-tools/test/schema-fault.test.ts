/** Which schemas of definitions the contract takes. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { SCHEMA_BYTES, schemaFault } from '../src/index.ts';

const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false });

test.each<[string, object]>([
  ['an object without a word about its fields', { type: 'object' }],
  ['an object that takes others', { type: 'object', properties: {}, additionalProperties: true }],
  ['an object whose other fields may be anything', { type: 'object', additionalProperties: {} }],
  ['fields beside the named ones', { type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
  ['a root that is no object', { type: 'string' }],
  ['a list', []],
  ['an open object in a list', closed({ a: { type: 'array', items: { type: 'object' } } })],
  ['one in a tuple', closed({ a: { type: 'array', prefixItems: [{ type: 'object', properties: {} }] } })],
  ['one among others', closed({ a: { anyOf: [{ type: 'string' }, { type: 'object' }] } })],
  ['one that may also be null', closed({ a: { type: ['object', 'null'] } })],
  ['one that does not say that it is one', closed({ a: { properties: { b: {} } } })],
  ['one as the value of a map', closed({ a: { type: 'object', additionalProperties: { type: 'object' } } })],
  ['one that is referred to', { ...closed({ a: { $ref: '#/$defs/b' } }), $defs: { b: { type: 'object' } } }],
  ['a reference to elsewhere', closed({ a: { $ref: 'https://example.test/a.json' } })],
  ['a dynamic one', closed({ a: { $dynamicRef: 'other.json#a' } })],
  ['an address of its own', { ...closed({}), $id: 'https://example.test/a.json' }],
  ['too many levels', nested(40)],
  ['a value that JSON does not have', closed({ a: { default: 1n } })],
  ['more bytes than there may be', closed({ a: { description: 'é'.repeat(SCHEMA_BYTES / 2) } })],
])('%s is refused', (_what, schema) => {
  expect(schemaFault(schema)).toEqual(expect.any(String));
});

test.each<[string, object]>([
  ['no fields', closed({})],
  ['closed objects in closed objects', nested(10)],
  ['a map from names to numbers', closed({ a: { type: 'object', additionalProperties: { type: 'number' } } })],
  ['fields with the names of keywords', closed({ $ref: { type: 'string' }, properties: { type: 'string' }, $id: {} })],
  ['data that looks like a schema', closed({ a: { default: { type: 'object' }, enum: [{ $ref: 'x' }] } })],
  ['a reference to a part of it', { ...closed({ a: { $ref: '#/$defs/b' } }), $defs: { b: closed({}) } }],
])('%s: taken', (_what, schema) => {
  expect(schemaFault(schema)).toBeUndefined();
});

test('what zod closes is taken, and the same with one object left open is refused', () => {
  const leaf = fc.constantFrom(z.string(), z.number().int(), z.enum(['a', 'b']), z.boolean());
  const { tree } = fc.letrec<{ tree: z.ZodType; object: z.ZodType }>((tie) => ({
    object: fc
      .dictionary(fc.constantFrom('a', 'b', 'type', 'properties'), tie('tree'))
      .map((shape) => z.strictObject(shape)),
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      tie('object'),
      tie('tree').map((inner) => z.array(inner)),
      tie('tree').map((inner) => inner.optional()),
      fc.tuple(tie('tree'), tie('tree')).map((pair) => z.union(pair)),
    ),
  }));
  fc.assert(
    fc.property(tree, (part) => {
      const schemaOf = (more: z.ZodType) => z.toJSONSchema(z.strictObject({ part, more }), { io: 'input' });
      expect(schemaFault(schemaOf(z.strictObject({})))).toBeUndefined();
      expect(schemaFault(schemaOf(z.looseObject({})))).toEqual(expect.any(String));
    }),
  );
});

function nested(levels: number): object {
  return levels === 0 ? { type: 'string' } : closed({ a: nested(levels - 1) });
}
