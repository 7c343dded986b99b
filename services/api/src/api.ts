import type { Logger } from '@muster/host';
import type {
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Access, Caller } from './caller.ts';

/** The HTTP application, with zod schemas as types. */
export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  Logger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use the route. Every route says it. */
    access?: Access;
  }
  interface FastifyRequest {
    /** Null on open routes. */
    caller: Caller | null;
    /** The run that the request is about, for the log. */
    runId: string | null;
  }
}
