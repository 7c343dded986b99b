/** The OpenAPI 3.1 document, made from the schemas that requests are checked with. */
import swagger from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Api } from './api.ts';
import { json, refusals } from './wire/responses.ts';

interface OpenApiDocument {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, unknown> };
}

/** Registers the document's collector; call it before the routes. */
export function describeApi(api: Api): void {
  api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Muster',
        version: '1',
        description: 'Runs standing procedures over fleets and answers with evidence.',
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'runs', description: 'Starting and reading runs.' },
        { name: 'agents', description: 'The Model Context Protocol.' },
        { name: 'hooks', description: 'Webhooks, and what came of their deliveries.' },
        { name: 'interruptions', description: 'What runs ask, and answering it.' },
        { name: 'runbooks', description: 'What can be run.' },
        { name: 'uploads', description: 'Input files.' },
        { name: 'artifacts', description: 'Walks, recordings and what else a run leaves behind.' },
        { name: 'schedules', description: 'Runs that come by themselves, and the ledger of their slots.' },
        { name: 'keys', description: 'API keys.' },
        { name: 'quota', description: 'What the tenant may have at most.' },
        { name: 'audit', description: 'Who decided what.' },
        { name: 'operation', description: 'Health, readiness and this document.' },
      ],
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `mk_...`.' } },
      },
      security: [{ key: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: (input) => finishDocument(jsonSchemaTransformObject(input) as unknown as OpenApiDocument) as never,
  });
}

/** GET /openapi.json */
export function getOpenApi(api: Api): void {
  api.get(
    '/openapi.json',
    {
      config: { access: 'open' },
      schema: {
        operationId: 'getOpenApi',
        tags: ['operation'],
        summary: 'This document.',
        querystring: z.strictObject({}),
        response: { 200: json('OpenAPI 3.1.', z.record(z.string(), z.unknown())), ...refusals },
      },
    },
    async () => api.swagger() as unknown as Record<string, unknown>,
  );
}

function finishDocument(document: OpenApiDocument): OpenApiDocument {
  const upload = document.paths['/v1/uploads']?.post;
  if (upload !== undefined) {
    // The one body without a schema: it is streamed and not read.
    upload.requestBody = { required: true, content: { 'application/octet-stream': {} } };
  }
  const delivery = document.paths['/v1/hooks/{name}']?.post;
  if (delivery !== undefined) {
    // Each sender has its own; which one a hook takes is in its declaration.
    delivery.requestBody = { required: true, content: { 'application/json': {} } };
  }
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/v1/hooks/{name}']) {
    for (const operation of Object.values(document.paths[path] ?? {})) operation.security = [];
  }
  return { ...document, components: { ...document.components, schemas: usedSchemas(document) } };
}

/** Schemas that something refers to: each is listed in two variants, and what runbooks register is none of ours. */
function usedSchemas(document: OpenApiDocument): Record<string, unknown> {
  const all = document.components.schemas;
  const used = new Set<string>();
  const open: unknown[] = [document.paths];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [, name] of JSON.stringify(next).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue;
      used.add(name);
      open.push(all[name]);
    }
  }
  return Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
}
