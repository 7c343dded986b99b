import { generateKeyPairSync, sign } from 'node:crypto';
import { sign as githubSign, verify as githubVerify } from '@octokit/webhooks-methods';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, test } from 'vitest';
import {
  HookSecretError,
  SIGNATURE_SCHEMES,
  type SignatureRequest,
  secretFault,
  signStandard,
  verifySignature,
} from '../src/index.ts';
import { BODY, hex, NOW, SECRET, SECRET_OF, SIGNED, STANDARD_SECRET, signed, standardHeadersFor } from './signed.ts';

const codeOf = (result: ReturnType<typeof verifySignature>) => (result.ok ? 'ok' : result.code);
const standard = (over: Partial<SignatureRequest>) =>
  verifySignature('standard_webhooks', signed('standard_webhooks', over));
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);

describe.each(SIGNATURE_SCHEMES)('the scheme %s', (scheme) => {
  it('accepts what its sender signed', () => {
    expect(verifySignature(scheme, signed(scheme))).toMatchObject({ ok: true });
  });

  it('accepts any of several secrets, and none that is not among them', () => {
    const good = SECRET_OF[scheme];
    expect(codeOf(verifySignature(scheme, signed(scheme, { secrets: ['an-older-one', good] })))).toBe('ok');
    expect(codeOf(verifySignature(scheme, signed(scheme, { secrets: [good, 'a-newer-one'] })))).toBe('ok');
    expect(codeOf(verifySignature(scheme, signed(scheme, { secrets: ['an-older-one'] })))).toBe('signature_invalid');
  });

  it('reads header names in any case, and Node’s flat list of them', () => {
    const headers = SIGNED[scheme](BODY);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    expect(codeOf(verifySignature(scheme, signed(scheme, { headers: upper })))).toBe('ok');
    expect(codeOf(verifySignature(scheme, signed(scheme, { headers: Object.entries(headers).flat() })))).toBe('ok');
  });

  it('refuses a header that came twice, even with the right value both times', () => {
    const flat = Object.entries(SIGNED[scheme](BODY)).flat();
    for (let at = 0; at < flat.length; at += 2) {
      const headers = [...flat, flat[at]!.toLowerCase(), flat[at + 1]!];
      expect(codeOf(verifySignature(scheme, signed(scheme, { headers })))).toBe('signature_malformed');
    }
    const twice = Object.fromEntries(
      Object.entries(SIGNED[scheme](BODY)).map(([name, value]) => [name, [value, value]]),
    );
    expect(codeOf(verifySignature(scheme, signed(scheme, { headers: twice })))).toBe('signature_malformed');
  });

  it('tells a missing signature from a wrong one', () => {
    expect(codeOf(verifySignature(scheme, signed(scheme, { headers: {} })))).toBe('signature_missing');
  });

  it('never checks with a blank secret', () => {
    expect(() => verifySignature(scheme, signed(scheme, { secrets: ['', ' \n'] }))).toThrow(HookSecretError);
    expect(() => verifySignature(scheme, signed(scheme, { secrets: [] }))).toThrow(/there is none/);
    expect(codeOf(verifySignature(scheme, signed(scheme, { secrets: ['', SECRET_OF[scheme]] })))).toBe('ok');
  });

  it('tells neither a secret nor a signature', () => {
    const results = [
      verifySignature(scheme, signed(scheme, { secrets: ['an-older-one'] })),
      verifySignature(scheme, signed(scheme, { headers: {} })),
    ];
    const told = JSON.stringify(results);
    for (const value of [...Object.values(SIGNED[scheme](BODY)), 'an-older-one', SECRET_OF[scheme]]) {
      expect(told).not.toContain(value);
    }
  });

  test('a change of one bit of the signature is refused', () => {
    const name = Object.keys(SIGNED[scheme](BODY)).at(-1)!;
    const value = Buffer.from(SIGNED[scheme](BODY)[name]!);
    // The word Bearer may be written in any case; what follows it may not.
    const from = scheme === 'bearer' ? 'Bearer '.length : 0;
    const place = fc.record({
      byte: fc.integer({ min: from, max: value.length - 1 }),
      bit: fc.integer({ min: 0, max: 6 }),
    });
    fc.assert(
      fc.property(place, ({ byte, bit }) => {
        const changed = Buffer.from(value);
        changed[byte]! ^= 1 << bit;
        const headers = { ...SIGNED[scheme](BODY), [name]: changed.toString('latin1') };
        return !verifySignature(scheme, signed(scheme, { headers })).ok;
      }),
      { numRuns: 300 },
    );
  });

  test('no headers make it throw', () => {
    const anyHeaders = fc.dictionary(
      fc.constantFrom(
        'webhook-id',
        'Webhook-Signature',
        'webhook-timestamp',
        'x-hub-signature-256',
        'authorization',
        '__proto__',
      ),
      fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 2 })),
    );
    fc.assert(
      fc.property(anyHeaders, fc.uint8Array(), (headers, rawBody) => {
        return !verifySignature(scheme, signed(scheme, { headers, rawBody })).ok;
      }),
    );
  });
});

describe.each(['standard_webhooks', 'github', 'pagerduty_v3', 'sentry'] as const)('the signed body of %s', (scheme) => {
  test('a change of one bit is refused', () => {
    const place = fc.record({
      byte: fc.integer({ min: 0, max: BODY.length - 1 }),
      bit: fc.integer({ min: 0, max: 7 }),
    });
    fc.assert(
      fc.property(place, ({ byte, bit }) => {
        const rawBody = Buffer.from(BODY);
        rawBody[byte]! ^= 1 << bit;
        return codeOf(verifySignature(scheme, signed(scheme, { rawBody }))) === 'signature_invalid';
      }),
      { numRuns: 300 },
    );
  });

  it('is its bytes, not its JSON', () => {
    const rawBody = Buffer.concat([BODY, Buffer.from('\n')]);
    expect(codeOf(verifySignature(scheme, signed(scheme, { rawBody })))).toBe('signature_invalid');
  });
});

describe('Standard Webhooks', () => {
  it('gives the signed id and time', () => {
    expect(standard({})).toEqual({ ok: true, deliveryId: 'msg_1', signedAt: '2026-03-01T09:00:00.000Z' });
  });

  it('takes a time within the window on both sides, and none outside', () => {
    expect(codeOf(standard({ now: minutes(5) }))).toBe('ok');
    expect(codeOf(standard({ now: minutes(-5) }))).toBe('ok');
    expect(codeOf(standard({ now: minutes(5.02) }))).toBe('timestamp_outside_window');
    expect(codeOf(standard({ now: minutes(-5.02) }))).toBe('timestamp_outside_window');
    expect(codeOf(standard({ now: minutes(2), toleranceMs: 60_000 }))).toBe('timestamp_outside_window');
  });

  it('refuses an id or a time that was changed', () => {
    const headers = standardHeadersFor('msg_1', NOW, BODY);
    expect(codeOf(standard({ headers: { ...headers, 'webhook-id': 'msg_2' } }))).toBe('signature_invalid');
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(codeOf(standard({ headers: { ...headers, 'webhook-timestamp': later } }))).toBe('signature_invalid');
  });

  it('refuses times that are no whole seconds, and says when one is missing', () => {
    const headers = standardHeadersFor('msg_1', NOW, BODY);
    for (const odd of ['soon', '1.5', '-1', '0x10', '1e9', '9'.repeat(13)]) {
      expect(codeOf(standard({ headers: { ...headers, 'webhook-timestamp': odd } }))).toBe('signature_malformed');
    }
    const { 'webhook-timestamp': _gone, ...without } = headers;
    expect(codeOf(standard({ headers: without }))).toBe('timestamp_missing');
  });

  it('refuses an id with a full stop, by which the parts of a signed text could be moved', () => {
    const rawBody = Buffer.from('1772355600.{"type":"x"}');
    const whole = standardHeadersFor('msg_1', NOW, rawBody);
    const moved = { ...whole, 'webhook-id': `msg_1.${whole['webhook-timestamp']}`, 'webhook-timestamp': '1772355600' };
    expect(codeOf(standard({ headers: whole, rawBody }))).toBe('ok');
    expect(codeOf(standard({ headers: moved, rawBody: Buffer.from('{"type":"x"}') }))).toBe('signature_malformed');
  });

  it('takes any one of several signatures and passes over versions it does not know', () => {
    const headers = standardHeadersFor('msg_1', NOW, BODY);
    const other = standardHeadersFor('msg_1', NOW, BODY, 'another key')['webhook-signature'];
    const withList = (list: string) => codeOf(standard({ headers: { ...headers, 'webhook-signature': list } }));
    expect(withList(`${other} v9,abc ${headers['webhook-signature']}`)).toBe('ok');
    expect(withList(`${other} v9,abc`)).toBe('signature_invalid');
    expect(withList('v9,abc')).toBe('signature_malformed');
    expect(withList(Array(17).fill(headers['webhook-signature']).join(' '))).toBe('signature_malformed');
  });

  it('takes a secret with whsec_, pasted with a version before it, as bare Base64, or as a text of one’s own', () => {
    expect(codeOf(standard({ secrets: [`v1,${STANDARD_SECRET}`] }))).toBe('ok');
    expect(codeOf(standard({ secrets: [STANDARD_SECRET.slice('whsec_'.length)] }))).toBe('ok');
    const headers = standardHeadersFor('msg_1', NOW, BODY, 'plain words as a key');
    expect(codeOf(standard({ headers, secrets: ['plain words as a key'] }))).toBe('ok');
  });

  it('checks ed25519 signatures with a whpk_ key', () => {
    const pair = generateKeyPairSync('ed25519');
    const raw = Buffer.from(pair.publicKey.export({ format: 'jwk' }).x!, 'base64url');
    const headers = standardHeadersFor('msg_1', NOW, BODY);
    const text = Buffer.concat([Buffer.from(`msg_1.${headers['webhook-timestamp']}.`), BODY]);
    const signature = `v1a,${sign(null, text, pair.privateKey).toString('base64')}`;
    const request = {
      headers: { ...headers, 'webhook-signature': signature },
      secrets: [`whpk_${raw.toString('base64')}`],
    };
    expect(codeOf(standard(request))).toBe('ok');
    expect(codeOf(standard({ ...request, rawBody: Buffer.from('{}') }))).toBe('signature_invalid');
    expect(codeOf(standard({ ...request, headers }))).toBe('signature_invalid');
  });

  it('agrees with the reference library in both directions', () => {
    const library = new Webhook(STANDARD_SECRET);
    const now = new Date();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[A-Za-z0-9_]{1,40}$/), (text, id) => {
        const body = JSON.stringify({ text });
        const theirs = {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': library.sign(id, now, body),
        };
        expect(standard({ headers: theirs, rawBody: Buffer.from(body), now })).toMatchObject({
          ok: true,
          deliveryId: id,
        });
        const ours = signStandard({
          id,
          sentAt: now,
          body,
          secrets: ['whsec_b3RoZXIga2V5IGluIHJvdGF0aW9u', STANDARD_SECRET],
        });
        expect(library.verify(body, ours)).toEqual({ text });
      }),
      { numRuns: 50 },
    );
  });

  it('does not sign with what cannot sign', () => {
    const message = { id: 'msg_1', sentAt: NOW, body: BODY };
    expect(() => signStandard({ ...message, secrets: [] })).toThrow(HookSecretError);
    expect(() => signStandard({ ...message, secrets: [''] })).toThrow(/secret 1 of 1 cannot sign: it is empty/);
    expect(() => signStandard({ ...message, id: 'a.b', secrets: [STANDARD_SECRET] })).toThrow(RangeError);
  });
});

describe('GitHub', () => {
  it('agrees with its own library in both directions', async () => {
    const text = BODY.toString();
    const headers = { 'x-hub-signature-256': await githubSign(SECRET, text) };
    expect(codeOf(verifySignature('github', signed('github', { headers })))).toBe('ok');
    expect(await githubVerify(SECRET, text, SIGNED.github(BODY)['X-Hub-Signature-256']!)).toBe(true);
  });

  it('does not take the old SHA-1 signature, and says so', () => {
    const result = verifySignature(
      'github',
      signed('github', { headers: { 'X-Hub-Signature': `sha1=${'a'.repeat(40)}` } }),
    );
    expect(result).toMatchObject({ ok: false, code: 'signature_missing', detail: expect.stringContaining('SHA-1') });
  });

  it('signs the form, not the JSON within it', () => {
    const rawBody = Buffer.from(`payload=${encodeURIComponent('{"zen":"x"}')}`);
    const headers = { 'x-hub-signature-256': `sha256=${hex(SECRET, rawBody)}` };
    expect(codeOf(verifySignature('github', signed('github', { headers, rawBody })))).toBe('ok');
  });
});

describe('PagerDuty', () => {
  it('sends one signature a secret during rotation: any of them will do, and other versions are passed over', () => {
    const [wrong, right] = [hex('old', BODY), hex(SECRET, BODY)];
    const withValue = (value: string) =>
      codeOf(verifySignature('pagerduty_v3', signed('pagerduty_v3', { headers: { 'x-pagerduty-signature': value } })));
    expect(withValue(`v1=${wrong},v1=${right}`)).toBe('ok');
    expect(withValue(`v1=${right}, v1=${wrong}`)).toBe('ok');
    expect(withValue(`v2=abc,v1=${right}`)).toBe('ok');
    expect(withValue(`v2=${right}`)).toBe('signature_malformed');
    expect(withValue(`v1=${wrong}`)).toBe('signature_invalid');
  });
});

describe('a secret’s look at the start', () => {
  it('says what is wrong, and never the secret', () => {
    expect(secretFault('github', 'fine')).toBeUndefined();
    expect(secretFault('github', '')).toBe('it is empty');
    expect(secretFault('bearer', 'two words')).toContain('no spaces');
    expect(secretFault('standard_webhooks', 'whsec_§')).toContain('no Base64');
    expect(secretFault('standard_webhooks', 'whpk_AAAA')).toContain('32 bytes');
    expect(secretFault('standard_webhooks', 'whsk_abcdef')).not.toContain('abcdef');
  });
});
