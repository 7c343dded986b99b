import { Readable } from 'node:stream';
import type { ReadableStream as NodeWebStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { parseRange } from '../byte-range.ts';
import { Problem } from '../problems.ts';
import { lookUpArtifact, openArtifact, type ReadableArtifact } from '../use-cases/open-artifact.ts';
import { nothing, refusals } from '../wire/responses.ts';

const bytes = z.unknown().meta({ description: 'The bytes as they were stored.' });
const content = { '*/*': { schema: bytes } };

const common = {
  tags: ['artifacts'],
  params: z.strictObject({ ref: z.string() }),
  querystring: z.strictObject({}),
  headers: z.looseObject({
    range: z.string().optional().describe('One range, `bytes=0-99`.'),
    'if-range': z.string().optional(),
    'if-none-match': z.string().optional(),
  }),
};

/** GET and HEAD /v1/artifacts/:ref: streamed, with one range. Artifacts never change, so the tag is for ever. */
export function getArtifact(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/artifacts/:ref',
    {
      config: { access: 'reader' },
      exposeHeadRoute: false,
      schema: {
        ...common,
        operationId: 'getArtifact',
        summary: 'The bytes of an artifact. Uploaded inputs are not served.',
        response: {
          200: { description: 'The whole.', content },
          206: { description: 'The range that was asked for.', content },
          304: nothing.describe('The caller has it.'),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const artifact = await lookUpArtifact(deps, callerOf(request), request.params.ref);
      return sendArtifact(deps, artifact, request, reply);
    },
  );
  api.head(
    '/v1/artifacts/:ref',
    {
      config: { access: 'reader' },
      schema: common,
    },
    async (request, reply) => {
      const artifact = await lookUpArtifact(deps, callerOf(request), request.params.ref);
      describe(artifact, reply);
      if (isKnown(artifact, request)) return reply.code(304).send(undefined);
      return reply.header('content-length', artifact.bytes).send(undefined);
    },
  );
}

async function sendArtifact(deps: ApiDeps, artifact: ReadableArtifact, request: FastifyRequest, reply: FastifyReply) {
  describe(artifact, reply);
  if (isKnown(artifact, request)) return reply.code(304).send(undefined);
  const range = wantedRange(artifact, request);
  if (range === 'unsatisfiable') {
    const headers = { 'content-range': `bytes */${artifact.bytes}` };
    throw new Problem('range_not_satisfiable', `the artifact has ${artifact.bytes} bytes`, {}, { headers });
  }
  const body = await openArtifact(deps, artifact, range);
  const { start, end } = range ?? { start: 0, end: artifact.bytes };
  if (range !== undefined) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${artifact.bytes}`);
  reply.header('content-length', end - start).type(artifact.mediaType);
  return reply.send(Readable.fromWeb(body as NodeWebStream<Uint8Array>));
}

function describe(artifact: ReadableArtifact, reply: FastifyReply): void {
  reply.headers({
    'accept-ranges': 'bytes',
    // The ref and the purpose are ours; a name from outside never gets into a header.
    'content-disposition': `attachment; filename="${artifact.purpose.replace(/[^a-z0-9]+/gi, '-')}-${artifact.ref}"`,
    'content-type': artifact.mediaType,
    etag: entityTag(artifact),
    'cache-control': 'private, max-age=86400, immutable',
  });
}

function entityTag(artifact: ReadableArtifact): string {
  return `"${artifact.digest ?? artifact.ref}"`;
}

function isKnown(artifact: ReadableArtifact, request: FastifyRequest): boolean {
  const tags = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags !== undefined && (tags.includes('*') || tags.includes(entityTag(artifact)));
}

function wantedRange(artifact: ReadableArtifact, request: FastifyRequest) {
  const condition = request.headers['if-range'];
  if (condition !== undefined && condition !== entityTag(artifact)) return undefined;
  return parseRange(request.headers.range, artifact.bytes);
}
