import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as pem from './certificates.ts';
import { NOW, runOver, shipped, type TestFile } from './over-files.ts';

const runbook = shipped('certificate_expiry');
const run = (files: string | Uint8Array | readonly TestFile[], input = {}, now = NOW) =>
  runOver(
    runbook,
    typeof files === 'string' || files instanceof Uint8Array ? [{ name: 'web.pem', content: files }] : files,
    input,
    now,
  );

const derOf = (text: string) => Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');
const secret = (name: string, data: Record<string, string>) => ({
  kind: 'Secret',
  type: 'kubernetes.io/tls',
  metadata: { namespace: 'shop', name },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
});

/** The leaf has 90 days, from 1 November 2026 to 30 January 2027. */
const DATES: [what: string, now: string, verdict: string, reason?: string][] = [
  ['before its time', '2026-10-31T23:00:00Z', 'not_yet_valid', '2026-11-01T00:00:00.000Z'],
  ['three minutes before its time: clocks differ', '2026-10-31T23:57:00Z', 'valid'],
  ['in its time', '2026-11-30T12:00:00Z', 'valid', 'over in 60d'],
  ['more than a third before its end', '2026-12-30T23:59:59Z', 'valid'],
  ['a third before its end', '2026-12-31T00:00:00Z', 'expires_soon', 'over in 30d'],
  ['an hour before its end', '2027-01-29T23:00:00Z', 'expires_soon', 'over in 1h'],
  ['in its last second', '2027-01-30T00:00:00Z', 'expires_soon'],
  ['a second after its end', '2027-01-30T00:00:01Z', 'expired', 'over 1s ago'],
];

describe('a certificate by its dates', () => {
  test.each(DATES)('%s', async (_, now, verdict, reason) => {
    const { subjects } = await run(pem.LEAF, {}, now);
    expect(subjects.map(({ key, verdict }) => [key, verdict])).toEqual([['web/shop.test', verdict]]);
    if (reason !== undefined) expect(subjects[0]?.reason).toContain(reason);
  });

  test.each([
    ['of six days, with five left', '2026-11-30T12:00:00Z', 'valid'],
    ['of six days, at its half', '2026-12-02T12:00:00Z', 'expires_soon'],
  ])('%s', async (_, now, verdict) => {
    expect(Object.values((await run(pem.SIX_DAYS, {}, now)).verdicts)).toEqual([verdict]);
  });

  test.each([
    ['of a year, a month before its end', '2027-08-02T00:00:00Z', 'expires_soon'],
    ['of a year, more than a month before its end', '2027-08-01T00:00:00Z', 'valid'],
  ])('%s', async (_, now, verdict) => {
    expect(Object.values((await run(pem.MAIL, {}, now)).verdicts)).toEqual([verdict]);
  });

  test('without an end', async () => {
    const { subjects } = await run(pem.ENDLESS);
    expect(subjects[0]).toMatchObject({ verdict: 'valid', reason: 'it has no end' });
  });

  test('that ends before it begins is declined', async () => {
    const { subjects } = await run(pem.REVERSED);
    expect(subjects[0]).toMatchObject({ verdict: 'declined', reason: 'it ends before it begins' });
  });

  test('by the limits of the run', async () => {
    const verdict = async (input: object) => Object.values((await run(pem.LEAF, input)).verdicts)[0];
    expect(await verdict({ warn_share_percent: 80, warn_at_most_days: 70 })).toBe('expires_soon');
    expect(await verdict({ warn_share_percent: 80 })).toBe('valid');
    expect(await verdict({ warn_at_least_days: 61 })).toBe('expires_soon');
  });
});

describe('what it is served with', () => {
  const over = async (...parts: string[]) => (await run(parts.join(''))).subjects;

  test('its chain, in order or not, is no subject of its own', async () => {
    expect(await over(pem.LEAF, pem.ISSUER, pem.ROOT)).toMatchObject([
      { verdict: 'valid', columns: { chain: 'there' } },
    ]);
    const [shuffled] = await over(pem.ROOT, pem.ISSUER, pem.LEAF);
    expect(shuffled).toMatchObject({ key: 'web/shop.test', verdict: 'valid' });
    expect(shuffled?.reason).toContain('out of order');
  });

  test('an issuer whose time is over is a problem, however good the leaf is', async () => {
    const [leaf] = await over(pem.LEAF, pem.ISSUER_OVER);
    expect(leaf).toMatchObject({ verdict: 'chain_expired', reason: expect.stringContaining('Harbour Issuer') });
  });

  test('issuers that did not issue it are a problem', async () => {
    const [leaf] = await over(pem.LEAF, pem.OTHER_ISSUER);
    expect(leaf).toMatchObject({
      verdict: 'chain_broken',
      reason: expect.stringContaining('Harbour Issuer is missing'),
    });
    expect(await over(pem.LEAF, pem.ROOT)).toMatchObject([{ verdict: 'chain_broken' }]);
  });

  test('of two of the same names the first decides, and the other is said', async () => {
    const [old] = await over(pem.LEAF_BEFORE, pem.LEAF, pem.ISSUER);
    expect(old).toMatchObject({ verdict: 'expired', reason: expect.stringContaining('a renewed one is there') });
    const [renewed] = await over(pem.LEAF, pem.LEAF_BEFORE, pem.ISSUER);
    expect(renewed).toMatchObject({ verdict: 'valid', reason: expect.stringContaining('an older one') });
  });

  test('one certificate twice is one', async () => {
    expect(await over(pem.LEAF, pem.LEAF)).toHaveLength(1);
  });

  test('several leaves are several subjects', async () => {
    expect((await over(pem.LEAF, pem.MAIL, pem.SIX_DAYS, pem.ISSUER)).map(({ key }) => key)).toEqual([
      'web/shop.test',
      'web/mail.test',
      'web/six.test',
    ]);
  });

  test('in a store of issuers each is judged', async () => {
    const subjects = await over(pem.ROOT, pem.ISSUER_OVER, pem.ISSUER);
    expect(subjects.map(({ verdict }) => verdict)).toEqual(['valid', 'expired', 'valid']);
    expect(new Set(subjects.map(({ key }) => key)).size).toBe(3);
  });
});

describe('whatever holds it', () => {
  test.each<[string, string | Uint8Array]>([
    ['text around it', `subject=shop\n${pem.LEAF}\nVerify return code: 0\n`],
    ['a key before it', `${pem.KEY}${pem.LEAF}`],
    ['lines of Windows', pem.LEAF.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\ufeff${pem.LEAF}`],
    ['the old label', pem.LEAF.replaceAll('CERTIFICATE', 'X509 CERTIFICATE')],
    ['UTF-16', Buffer.from(`\ufeff${pem.LEAF}`, 'utf16le')],
    ['gzip', gzipSync(pem.LEAF)],
    ['DER', derOf(pem.LEAF)],
    ['DER behind DER', Buffer.concat([derOf(pem.LEAF), derOf(pem.ISSUER)])],
    ['PKCS#7', pem.CONTAINER],
    ['PKCS#7 in DER', derOf(pem.CONTAINER)],
    [
      'a capture of a connection',
      `CONNECTED(00000003)\n---\nCertificate chain\n 0 s:CN = shop.test\n${pem.LEAF}---\n${pem.ISSUER}---\n`,
    ],
  ])('%s', async (_, content) => {
    expect((await run(content)).verdicts).toEqual({ 'web/shop.test': 'valid' });
  });

  test.each<[string, string | Uint8Array, string]>([
    ['nothing', '', 'nothing in it'],
    ['a request', pem.REQUEST, 'a request'],
    ['a key alone', pem.KEY, 'keys, and no certificate'],
    ['a store with keys', Buffer.from(pem.STORE, 'base64'), 'PKCS#12'],
    ['a connection that failed', 'connect: Connection refused\nconnect:errno=111\n', 'nothing was reached'],
    ['other text', 'hello\n', 'no certificate in it'],
    ['other bytes', Buffer.from([0x30, 0x82, 0x01, 0x00, 1, 2, 3]), 'no certificate'],
    ['a damaged block', pem.LEAF.replace('MII', 'M*I'), 'no Base64'],
    ['a cut block', pem.LEAF.slice(0, 300), 'cut off'],
  ])('%s is declined', async (_, content, reason) => {
    const { subjects } = await run(content);
    expect(subjects.map(({ standing }) => standing)).toEqual(['declined']);
    expect(subjects[0]?.reason).toContain(reason);
  });

  test('one bad block hides none of the others', async () => {
    const { verdicts } = await run(pem.LEAF + pem.MAIL.replace('MII', 'M*I') + pem.SIX_DAYS);
    expect(verdicts).toEqual({ 'web/shop.test': 'valid', 'web/six.test': 'valid', 'web.pem block 2': 'declined' });
  });

  test('a list of secrets: each by its name, a broken one by its own, and no authority of trust', async () => {
    const list = {
      kind: 'List',
      items: [
        secret('front', { 'tls.crt': pem.LEAF + pem.ISSUER, 'tls.key': pem.KEY, 'ca.crt': pem.ROOT }),
        secret('back', { 'tls.crt': 'oops' }),
        { kind: 'Secret', metadata: { name: 'password' }, data: { password: 'eA==' } },
        secret('mail', { 'tls.crt': pem.MAIL }),
      ],
    };
    const { verdicts } = await run([{ name: 'secrets.json', content: JSON.stringify(list), target: 'north' }]);
    expect(verdicts).toEqual({
      'north/shop/front/shop.test': 'valid',
      'north/shop/mail/mail.test': 'valid',
      'north/secrets.json shop/back tls.crt': 'declined',
    });
  });
});

test('nothing of a key comes out of any input that holds one', async () => {
  const inner = pem.KEY.replace(/-----[^-]+-----|\s/g, '').slice(8, 60);
  for (const content of [
    pem.KEY + pem.LEAF,
    pem.KEY,
    JSON.stringify(secret('front', { 'tls.crt': pem.LEAF, 'tls.key': pem.KEY })),
  ]) {
    const { answer, subjects } = await run(content);
    const told = JSON.stringify([answer, subjects]);
    expect(told).not.toContain(inner);
    expect(told).not.toContain(Buffer.from(pem.KEY).toString('base64').slice(20, 80));
  }
});

test('what was expected and did not come, and what is too old, is not checked by name', async () => {
  const files = [{ name: 'web.pem', content: pem.LEAF, taken_at: '2026-11-01T00:00:00Z' }];
  const { subjects } = await run(files, { expected: ['www.shop.test', 'pay.test'], max_evidence_age: 86_400 });
  expect(subjects.map(({ key, reasonCode }) => [key, reasonCode])).toEqual([
    ['web/shop.test', 'evidence_too_old'],
    ['pay.test', 'expected_missing'],
  ]);
});

test("the page's example is what the rules give", async () => {
  const page = await readFile(new URL('../../../docs/runbooks/certificate_expiry.md', import.meta.url), 'utf8');
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { subjects } = await run(pem.LEAF + pem.ISSUER, {}, '2027-01-20T00:00:00Z');
  const { key, verdict, standing, reason, columns } = subjects[0]!;
  expect({ subject: key, verdict, standing, reason, ...columns, serial: example.serial }).toEqual(example);
});

test('bytes changed anywhere end in an answer', async () => {
  const sources = [
    Buffer.from(pem.LEAF + pem.ISSUER),
    derOf(pem.LEAF),
    derOf(pem.CONTAINER),
    Buffer.from(pem.CONTAINER),
  ];
  const change = fc.tuple(fc.nat(), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...sources),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (source, changes) => {
        const content = Uint8Array.from(source);
        for (const [at, byte] of changes) content[at % content.length] = byte;
        const { subjects } = await run(content);
        expect(subjects.length).toBeGreaterThan(0);
        for (const subject of subjects) expect(subject.reason).toMatch(/\S/);
      },
    ),
    { seed: 20_261_130, numRuns: 300 },
  );
});
