/** Why a message could not be delivered, as a JSON-RPC error with our stable code in its data. */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CommandError, UsageError } from '../exit-codes.ts';

/** JSON-RPC leaves the numbers from here on to servers. */
const SERVER_ERROR = -32_000;
const SHOWN_LENGTH = 512;

/** A refusal that can be sent as it is. */
export class RelayError extends Error {
  override readonly name = 'RelayError';
  readonly code: number;
  readonly data: { readonly code: string; readonly retryable: boolean };

  constructor(message: string, data: RelayError['data'], code = SERVER_ERROR) {
    super(message);
    this.data = data;
    this.code = code;
  }
}

/** @param address of the API, when the request had got as far as that */
export function relayError(error: unknown, address?: string): RelayError {
  if (error instanceof RelayError) return error;
  if (error instanceof StreamableHTTPError) return fromAnswer(error);
  if (error instanceof UsageError || error instanceof CommandError) {
    return new RelayError(error.message, { code: 'api_away', retryable: error instanceof CommandError });
  }
  const { cause } = (error ?? {}) as { cause?: { code?: string } };
  const why = cause?.code === undefined ? 'the connection broke off before the answer was here' : cause.code;
  const where = address === undefined ? 'the API' : `the API at ${address}`;
  return new RelayError(`${where} cannot be reached (${why})`, { code: 'api_away', retryable: true });
}

/** What the API, or something before it, has refused: a problem document or a JSON-RPC error. */
function fromAnswer(error: StreamableHTTPError): RelayError {
  const status = error.code ?? 0;
  const retryable = status === 429 || status >= 502;
  const body = bodyOf(error);
  const said = body.detail ?? body.error?.message;
  if (typeof said !== 'string') {
    // The SDK's word for an answer of another kind is a number that is no status.
    const text = `what answers is no Muster API with MCP${status > 0 ? ` (HTTP ${status})` : ''}`;
    return new RelayError(text, { code: 'no_muster_api', retryable });
  }
  const number = typeof body.error?.code === 'number' ? body.error.code : SERVER_ERROR;
  const code = typeof body.code === 'string' ? body.code : 'refused';
  return new RelayError(said.slice(0, SHOWN_LENGTH), { code, retryable }, number);
}

function bodyOf({ message }: StreamableHTTPError): {
  detail?: unknown;
  code?: unknown;
  error?: { code?: unknown; message?: unknown };
} {
  const start = message.indexOf('{');
  if (start === -1) return {};
  try {
    return JSON.parse(message.slice(start));
  } catch {
    return {};
  }
}
