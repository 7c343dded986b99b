/**
 * One attempt to bring a notice to its receiver.
 *
 * Invariants:
 * - the address that is connected to is judged when it is connected to: the name is resolved here, once, and what was judged
 *   is what is used, so a name that means something else a moment later gains nothing;
 * - a redirect is an answer like any other, and not followed;
 * - nothing that the receiver says is kept but its status; what it sends is read to a bound and dropped.
 */
import { lookup as resolve } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { addressFault, type PrivateAddresses } from '@muster/notices';

/** What is posted. */
export interface NoticePost {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly privateAddresses: PrivateAddresses;
}

/** What the receiver said. */
export interface NoticeAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Why there was no answer: a stable word. */
export class NoticePostError extends Error {
  override readonly name = 'NoticePostError';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

const MAX_ANSWER_BYTES = 64 * 1024;

/** Posts once. @throws NoticePostError `address_refused`, `timed_out`, `unreachable`, `url_invalid`, `answer_cut` or a code of the network */
export async function postNotice(post: NoticePost): Promise<NoticeAnswer> {
  const url = urlOf(post);
  const body = Buffer.from(post.body);
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return await new Promise((done, fail) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent: false,
        lookup: guardedLookup(post.privateAddresses),
        signal: AbortSignal.timeout(post.timeoutMs),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Muster',
          ...post.headers,
          'content-length': body.length,
        },
      },
      (response) => {
        drain(response);
        const { statusCode: status = 0, headers } = response;
        // The status is what counts: a receiver that says it and then hangs has said it.
        done({ status, retryAfter: headers['retry-after'] });
      },
    );
    sent.on('error', (error) => fail(new NoticePostError(codeOf(error))));
    sent.end(body);
  });
}

function urlOf({ url: text, privateAddresses }: NoticePost): URL {
  if (!URL.canParse(text)) throw new NoticePostError('url_invalid');
  const url = new URL(text);
  // Nothing is resolved for a name that is an address already.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (/^[\d.]+$|:/.test(host) && addressFault(host, privateAddresses) !== undefined) {
    throw new NoticePostError('address_refused');
  }
  return url;
}

/** Resolves a name to those of its addresses that notices may go to. */
function guardedLookup(policy: PrivateAddresses): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const allowed = addresses.filter(({ address }) => addressFault(address, policy) === undefined);
      const first = allowed[0];
      if (first === undefined) return callback(Object.assign(new Error('refused'), { code: 'ADDRESS_REFUSED' }), '', 0);
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

function drain(response: IncomingMessage): void {
  let bytes = 0;
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
}

function codeOf(error: Error): string {
  const { code, name } = error as { code?: unknown; name: string };
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ABORT_ERR') return 'timed_out';
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code.toLowerCase() : 'unreachable';
}
