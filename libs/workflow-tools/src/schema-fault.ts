/**
 * Whether the JSON Schema of a definition is one that the contract takes: an object at its root, every object in it closed,
 * nothing that lies elsewhere, at most 64 KiB.
 *
 * Invariant: only places where JSON Schema has a schema are looked at. What stands under `default`, `enum`, `const` or
 * `examples` is data, whatever it looks like.
 */

/** What the JSON Schema of a definition may be. */
export const SCHEMA_BYTES = 64 * 1024;
const SCHEMA_DEPTH = 32;

const ONE_SCHEMA = [
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const LIST_OF_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const SCHEMAS_BY_NAME = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'];
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];
/** With one of these a schema speaks of objects, also where it names no type. */
const OF_OBJECTS = ['properties', 'patternProperties', 'required', 'additionalProperties', 'unevaluatedProperties'];

type Part = Readonly<Record<string, unknown>>;

/** Schemas that were looked through: they are the same objects for every bundle. */
const looked = new WeakMap<object, string | undefined>();

/** Why a definition's schema is not one that the contract takes, or undefined. */
export function schemaFault(schema: object): string | undefined {
  if (!isPart(schema)) return 'it is no object';
  if (!looked.has(schema)) looked.set(schema, findSchemaFault(schema));
  return looked.get(schema);
}

function findSchemaFault(schema: Part): string | undefined {
  const bytes = bytesOf(schema);
  if (bytes === undefined) return 'it is no JSON';
  if (bytes > SCHEMA_BYTES) return `it is ${bytes} bytes, and may be ${SCHEMA_BYTES}`;
  if (schema.type !== 'object') return 'it does not describe an object';
  return faultIn(schema, 1);
}

function bytesOf(schema: Part): number | undefined {
  try {
    return new TextEncoder().encode(JSON.stringify(schema)).byteLength;
  } catch {
    // It contains itself, or something that JSON does not have.
    return undefined;
  }
}

function faultIn(part: Part, depth: number): string | undefined {
  if (depth > SCHEMA_DEPTH) return `it has more than ${SCHEMA_DEPTH} levels`;
  if (part.$id !== undefined) return 'a part of it has an address ($id)';
  const isElsewhere = (name: string) => part[name] !== undefined && !String(part[name]).startsWith('#');
  if (REFERENCES.some(isElsewhere)) return 'it refers to a schema that is elsewhere';
  if (isOpen(part)) return 'an object in it takes fields that it does not name';
  for (const inner of partsOf(part)) {
    const fault = faultIn(inner, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A map, whose values have a schema that says something, is closed; whatever else takes unknown fields is not. */
function isOpen(part: Part): boolean {
  const ofObjects = [part.type].flat().includes('object') || OF_OBJECTS.some((keyword) => part[keyword] !== undefined);
  if (!ofObjects) return false;
  const { additionalProperties: others = part.unevaluatedProperties } = part;
  if (others === false) return false;
  return !(isPart(others) && Object.keys(others).length > 0 && part.properties === undefined);
}

function partsOf(part: Part): Part[] {
  const single = ONE_SCHEMA.map((keyword) => part[keyword]);
  const listed = LIST_OF_SCHEMAS.map((keyword) => part[keyword])
    .filter(Array.isArray)
    .flat();
  const named = SCHEMAS_BY_NAME.map((keyword) => part[keyword])
    .filter(isPart)
    .flatMap((parts) => Object.values(parts));
  return [...single, ...listed, ...named].filter(isPart);
}

function isPart(value: unknown): value is Part {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
