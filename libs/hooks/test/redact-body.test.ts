import { describe, expect, it } from 'vitest';
import { type HookFormat, REDACTED, redactBody, redactHeaders } from '../src/index.ts';

const show = (body: unknown, format: HookFormat = 'standard') =>
  redactBody(format, { headers: {}, rawBody: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) });

describe('a stored delivery as it is shown', () => {
  it('tells no header’s value but those that are known to be harmless', () => {
    const headers = {
      Authorization: 'Bearer abc',
      Cookie: 'sid=1',
      'X-Hub-Signature-256': 'sha256=1',
      'webhook-signature': 'v1,x',
      'X-Anything-New': 'who knows',
      'X-GitHub-Event': 'push',
      'User-Agent': 'hookshot',
    };
    expect(redactHeaders(headers)).toEqual({
      authorization: REDACTED,
      cookie: REDACTED,
      'x-hub-signature-256': REDACTED,
      'webhook-signature': REDACTED,
      'x-anything-new': REDACTED,
      'x-github-event': 'push',
      'user-agent': 'hookshot',
    });
  });

  it('keeps both values of a header that came twice, so that it is read again as doubled', () => {
    expect(redactHeaders(['Webhook-Id', 'a', 'webhook-id', 'b', 'Cookie', 'c', 'Cookie', 'd'])).toEqual({
      'webhook-id': ['a', 'b'],
      cookie: REDACTED,
    });
  });

  it('tells no secret by its key, at any depth, in pairs and in named values', () => {
    const shown = show({
      hook: { config: { secret: 's-1', url: 'https://x' } },
      password: ['s-2', { a: 's-3' }],
      apiKey: 's-4',
      'Set-Cookie': 's-5',
      request: {
        headers: [
          ['Authorization', 's-6'],
          ['Accept', 'text/html'],
        ],
      },
      settings: [
        { name: 'access_token', value: 's-7' },
        { name: 'channel', value: 'general' },
      ],
      secret_type: 'aws_key_id',
      token: null,
    });
    expect(JSON.stringify(shown)).not.toMatch(/s-\d/);
    expect(shown.body).toMatchObject({
      hook: { config: { url: 'https://x' } },
      request: {
        headers: [
          ['Authorization', REDACTED],
          ['Accept', 'text/html'],
        ],
      },
      settings: [{ value: REDACTED }, { value: 'general' }],
      secret_type: 'aws_key_id',
      token: null,
    });
  });

  it('tells no secret within a text', () => {
    const texts = [
      'https://me:hunter2xyz@db/x',
      'https://x/y?a=1&access_token=hunter2xyz&b=2',
      'Authorization: Bearer hunter2xyz',
      'leaked ghp_hunter2xyzhunter2xyz in a log',
      'whsec_hunter2xyzhunter2xyz',
    ];
    const shown = JSON.stringify(show({ texts }).body);
    expect(shown).not.toContain('hunter2xyz');
    expect(shown).toContain('a=1');
    expect(shown).toContain('b=2');
  });

  it('shows the JSON within GitHub’s form', () => {
    expect(show(`payload=${encodeURIComponent('{"zen":"x","secret":"s"}')}`, 'github').body).toEqual({
      zen: 'x',
      secret: REDACTED,
    });
  });

  it('shows nothing of what is no JSON, because nothing tells where a secret stands in it', () => {
    expect(show('{"token":"hunter2xyz" oops')).toEqual({
      headers: {},
      body: null,
      hidden: expect.stringContaining('no JSON'),
      bodyBytes: 26,
    });
    expect(JSON.stringify(show('user=a&password=hunter2xyz'))).not.toContain('hunter2xyz');
  });

  it('shows a list and a bare text, too, without what cannot be seen', () => {
    expect(show(['a\u202eb', { token: 1 }]).body).toEqual(['ab', { token: REDACTED }]);
    expect(show('"x"').body).toBe('x');
  });
});
