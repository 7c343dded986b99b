import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

test('the document is valid OpenAPI 3.1 and every reference in it resolves', async () => {
  const { body } = await fixture.ask('/openapi.json', { key: undefined });
  expect(body.openapi).toMatch(/^3\.1\./);
  const validator = new Validator();
  const result = await validator.validate(structuredClone(body));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  const schemas = Object.keys(body.components.schemas);
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
  expect([...new Set(references)].sort()).toEqual(schemas.map((name) => `#/components/schemas/${name}`).sort());
});

test('every route is in it, with an id of its own, refusals, and the key that it needs', async () => {
  const { body } = await fixture.ask('/openapi.json');
  const ids: string[] = [];
  for (const { method, url, access } of fixture.table.routes) {
    // HEAD stands beside each GET and is not described again.
    if (method === 'HEAD') continue;
    const operation = body.paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
    expect(operation, `${method} ${url}`).toBeDefined();
    ids.push(operation.operationId);
    expect(operation.responses.default.content['application/problem+json']).toBeDefined();
    expect(operation.security ?? body.security).toEqual(
      access === 'open' || access === 'signature' ? [] : [{ key: [] }],
    );
  }
  expect(new Set(ids).size).toBe(ids.length);
});

test('request objects are closed', async () => {
  const { body } = await fixture.ask('/openapi.json');
  const request = body.paths['/v1/runs'].post.requestBody.content['application/json'].schema;
  const name = request.$ref.split('/').at(-1);
  expect(body.components.schemas[name]).toMatchObject({ type: 'object', additionalProperties: false });
  expect(body.paths['/v1/uploads'].post.requestBody.content).toEqual({ 'application/octet-stream': {} });
});
