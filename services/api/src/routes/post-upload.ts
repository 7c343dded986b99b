import type { IncomingMessage } from 'node:http';
import { ensureSession } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { drainOrDrop } from '../drain-or-drop.ts';
import { Problem } from '../problems.ts';
import { keepUpload } from '../use-cases/keep-upload.ts';
import { flag, line, sessionHeaders } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

const MAX_NAME_BYTES = 255;
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/;
const DEFAULT_MEDIA_TYPE = 'application/octet-stream';

const fileName = line(MAX_NAME_BYTES).refine(
  (name) => Buffer.byteLength(name) <= MAX_NAME_BYTES && !/[/\\]/.test(name),
  `a file name of at most ${MAX_NAME_BYTES} bytes without / and \\`,
);

/** POST /v1/uploads: the body's bytes as they come become an artifact. */
export function postUpload(api: Api, deps: ApiDeps): void {
  // Encapsulated, because here no body is parsed: it is streamed to the store.
  api.register(async (scope: Api) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.post(
      '/v1/uploads',
      {
        config: { access: 'runner' },
        schema: {
          operationId: 'postUpload',
          tags: ['uploads'],
          summary: 'Upload an input file; its ref goes into the input of a run.',
          description:
            'The body is the file, of any media type but a form. It is deleted when the runs that used it are over, unless `keep=true`, and after a day when none did.',
          consumes: ['application/octet-stream'],
          querystring: z.strictObject({ name: fileName, keep: flag.optional() }),
          headers: sessionHeaders,
          response: {
            201: json(
              'Kept.',
              z
                .object({
                  ref: z.string(),
                  name: z.string(),
                  bytes: z.number().int(),
                  digest: z.string(),
                  expires_at: z.string().optional().describe('When it goes if no run uses it.'),
                })
                .meta({ id: 'Upload' }),
            ),
            ...refusals,
          },
        },
      },
      async (request, reply) => {
        const caller = callerOf(request);
        const { raw } = request;
        try {
          const mediaType = readMediaType(raw.headers['content-type']);
          const name = request.headers['muster-session'] ?? 'default';
          const session = await ensureSession(deps.db, { tenant: caller.tenant, keyId: caller.keyId, name });
          const upload = await keepUpload(deps, caller, {
            sessionId: session.id,
            name: request.query.name,
            mediaType,
            keep: request.query.keep === 'true',
            bytes: declaredLength(raw),
            // A refusal in mid-stream must not close the connection that its answer goes out on.
            source: raw.iterator({ destroyOnReturn: false }),
          });
          return reply.code(201).send(upload);
        } catch (error) {
          drainOrDrop(raw);
          throw error;
        }
      },
    );
  });
}

function readMediaType(header: string | undefined): string {
  const essence = header?.split(';')[0]?.trim().toLowerCase() ?? DEFAULT_MEDIA_TYPE;
  if (essence.startsWith('multipart/')) {
    throw new Problem('unsupported_media_type', 'send the bytes of the file as the body, not a form');
  }
  return MEDIA_TYPE.test(essence) ? essence : DEFAULT_MEDIA_TYPE;
}

function declaredLength(raw: IncomingMessage): number | undefined {
  const header = raw.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}
