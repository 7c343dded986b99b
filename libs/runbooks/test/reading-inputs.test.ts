import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ago, container, listing, pod, run, running } from './listing.ts';

const two = listing([pod('a'), pod('b')]);
const third = listing([pod('c')]);
const ndjson = (...objects: unknown[]) => `${objects.map((object) => JSON.stringify(object)).join('\n')}\n`;
const yaml = (value: unknown) => stringify(value, { indentSeq: false });
const yamlList = yaml(JSON.parse(two));
const refused =
  'Error from server (Forbidden): pods is forbidden: User "quentin" cannot list pods in the namespace "vault"';
const leaving = (name: string) => pod(name, { metadata: { deletionTimestamp: ago(10) } });

const AB = { 'shop/a': 'healthy', 'shop/b': 'healthy' };
const ABC = { ...AB, 'shop/c': 'healthy' };

const READ: readonly (readonly [what: string, content: string | Uint8Array, verdicts: Record<string, string>])[] = [
  ['a single pod', JSON.stringify(pod('a')), { 'shop/a': 'healthy' }],
  ['a List with its kind behind its items', two, AB],
  [
    'a PodList whose items have no kind',
    JSON.stringify({ kind: 'PodList', items: [{ ...pod('a'), kind: undefined }] }),
    { 'shop/a': 'healthy' },
  ],
  ['a list under no name', JSON.stringify([pod('a'), pod('b')]), AB],
  ['lists in a list', JSON.stringify([JSON.parse(two), JSON.parse(third)]), ABC],
  ['a pod a line', ndjson(pod('a'), pod('b')), AB],
  ['two outputs in one file', two + third, ABC],
  ['two outputs without a line end between them', two.trim() + third.trim(), ABC],
  ['lines that end in CR LF', two.replaceAll('\n', '\r\n'), AB],
  ['a byte order mark in front of each output', `\ufeff${two}\ufeff${third}`, ABC],
  ['UTF-16LE with a mark', Buffer.from(`\ufeff${two}`, 'utf16le'), AB],
  ['UTF-16BE with a mark', Buffer.from(`\ufeff${two}`, 'utf16le').swap16(), AB],
  ['UTF-16LE without a mark', Buffer.from(two, 'utf16le'), AB],
  ['gzip', gzipSync(two), AB],
  [
    'warnings, echoes and log lines around it',
    `$ kubectl get pods -A -o json\nWarning: old\n[INFO] go\n${two}\ncommand terminated\n`,
    AB,
  ],
  ['structured log lines in front of it', `{"level":"info"}\n${two}`, AB],
  [
    'objects of other kinds beside pods',
    listing([pod('a'), { kind: 'Service', metadata: { name: 's' } }]),
    { 'shop/a': 'healthy' },
  ],
  ['a refusal behind pods', `${two}${refused}\n`, AB],
  [
    'a watch',
    ndjson(
      { type: 'ADDED', object: pod('a') },
      { type: 'MODIFIED', object: leaving('a') },
      { type: 'ADDED', object: pod('b') },
      { type: 'DELETED', object: pod('b') },
    ),
    { 'shop/a': 'terminating' },
  ],
  ['a YAML list', yamlList, AB],
  ['a YAML list with indented items', stringify(JSON.parse(two)), AB],
  ['a YAML list with CR LF', yamlList.replaceAll('\n', '\r\n'), AB],
  ['two YAML lists without a mark between them', yamlList + yaml(JSON.parse(third)), ABC],
  ['YAML documents', [pod('a'), pod('b'), pod('c')].map(yaml).join('---\n'), ABC],
  ['JSON as YAML documents', `---\n${JSON.stringify(pod('a'))}\n---\n${JSON.stringify(pod('b'))}\n`, AB],
  ['noise around YAML', `$ kubectl get pod a -o yaml\n${yaml(pod('a'))}Warning: old\n`, { 'shop/a': 'healthy' }],
  [
    'marks of a list and of documents inside block text',
    yaml(pod('a', { metadata: { annotations: { note: '- kind: Pod\n---\napiVersion: v9\n' } } })),
    { 'shop/a': 'healthy' },
  ],
  [
    'an empty namespace as the default one',
    listing([pod('a', { metadata: { namespace: undefined } })]),
    { 'default/a': 'healthy' },
  ],

  [
    'an item that is no JSON beside one that is',
    two.replace('"restartCount": 0', '"restartCount": NaN'),
    { 'shop/b': 'healthy', 'pods.txt item 1': 'declined' },
  ],
  [
    'a comma too many',
    `{"kind":"List","items":[${JSON.stringify(pod('a'))},]}`,
    { 'shop/a': 'healthy', 'pods.txt item 2': 'declined' },
  ],
  [
    'items that are no objects',
    listing([pod('a'), null, 7]),
    { 'shop/a': 'healthy', 'pods.txt item 2': 'declined', 'pods.txt item 3': 'declined' },
  ],
  [
    'a pod without a name beside one that has',
    listing([pod('a'), { kind: 'Pod' }]),
    { 'shop/a': 'healthy', 'pods.txt item 2': 'declined' },
  ],
  [
    'a YAML document that is none between two',
    [yaml(pod('a')), 'kind: [Pod\n', yaml(pod('b'))].join('---\n'),
    { ...AB, 'pods.txt document 2': 'declined' },
  ],
  [
    'a YAML item that is none',
    yamlList.replace('    name: b', '    name: "b'),
    { 'shop/a': 'healthy', 'pods.txt item 2': 'declined' },
  ],
  [
    'bytes that are no UTF-8, in one of two pods',
    Buffer.from(listing([pod('a'), pod('b', { metadata: { annotations: { note: 'caf\xe9' } } })]), 'latin1'),
    { 'shop/a': 'healthy', 'shop/b': 'declined' },
  ],
  ['YAML behind JSON', two + yaml(pod('c')), { ...AB, 'pods.txt between documents': 'declined' }],
];

describe('every way a cluster is written down gives its pods', () => {
  test.each(READ)('%s', async (_, content, verdicts) => {
    expect((await run(content)).verdicts).toEqual(verdicts);
  });

  test.each(READ)('%s, whatever the chunks', async (_, content, verdicts) => {
    for (const chunkSize of [1, 7]) {
      expect((await run([{ name: 'pods.txt', content, chunkSize }])).verdicts).toEqual(verdicts);
    }
  });
});

const UNREAD: readonly (readonly [what: string, content: string | Uint8Array, code: string])[] = [
  ['nothing', '', 'empty'],
  ['blank lines', '\n \n', 'empty'],
  ['YAML marks alone', '---\n---\n', 'empty'],
  ['the words that nothing was found', 'No resources found in shop namespace.\n', 'no_resources'],
  ['a table', 'NAMESPACE   NAME   READY   STATUS\nshop        a      1/1     Running\n', 'not_json'],
  ['a description', 'Name:         a\nNamespace:    shop\nStatus:       Running\n', 'not_json'],
  ['names alone', 'pod/a\npod/b\n', 'not_json'],
  ['a login page', '<!doctype html><title>Sign in</title>', 'not_json'],
  ['words', 'all is well', 'not_json'],
  ['a number', '42', 'not_json'],
  ['single quotes', "{'kind': 'Pod', 'metadata': {'name': 'a'}}", 'not_json'],
  ['a bare NaN', JSON.stringify(pod('a')).replace('"restartCount":0', '"restartCount":NaN'), 'not_json'],
  ['brackets that do not match', two.replace('}', ']'), 'not_json'],
  ['an output without its beginning', two.slice(200), 'not_json'],
  ['endless brackets', `{"kind":"Pod","x":${'['.repeat(2000)}`, 'not_json'],
  ['a list cut in a string', two.slice(0, -90), 'truncated'],
  ['a list cut behind a pod', two.slice(0, -60), 'truncated'],
  ['a pod a line, cut', ndjson(pod('a'), pod('b')).slice(0, -30), 'truncated'],
  ['cut gzip', gzipSync(two).subarray(0, -30), 'truncated'],
  ['a YAML list without its end', yamlList.slice(0, yamlList.indexOf('kind: List')), 'truncated'],
  [
    'a YAML pod cut before its phase',
    yaml({ ...pod('a'), status: { conditions: [], phase: 'Running' } }).slice(0, -10),
    'truncated',
  ],
  ['half a UTF-16 character', Buffer.from(`\ufeff${two}`, 'utf16le').subarray(0, -1), 'encoding'],
  ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x7b, 0, 0, 0]), 'encoding'],
  ['zip', Buffer.from('PK\u0003\u0004 and more'), 'compressed'],
  [
    'an alias bomb',
    `a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nkind: Pod\nmetadata: {name: *c}\n`,
    'not_yaml',
  ],
  ['a piece of YAML that is too large', `kind: Pod\nmetadata: {name: a}\nx:\n${'- 1\n'.repeat(300_000)}`, 'too_large'],
  ['a piece of JSON that is too large', `{"kind":"Pod","metadata":{"name":"${'x'.repeat(9_000_000)}"}}`, 'too_large'],
  ['deployments', listing([{ kind: 'Deployment', metadata: { name: 'a' }, spec: {} }]), 'wrong_kind'],
  ['a table of the API', JSON.stringify({ kind: 'Table', rows: [{ cells: ['a'] }] }), 'wrong_kind'],
  ['a list without items', '{"kind":"List","apiVersion":"v1"}', 'wrong_kind'],
  ['another service', '{"message":"Unauthorized"}', 'wrong_kind'],
  ['items that are no list', '{"kind":"List","items":{"a":1}}', 'not_an_object'],
  [
    'a refusal of the API',
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden' }),
    'refused',
  ],
  ['a refusal in words', refused, 'refused'],
  ['a cluster that is away', 'Unable to connect to the server: dial tcp 192.0.2.1:443: i/o timeout\n', 'refused'],
  ['a pod without a name', '{"kind":"Pod","status":{"phase":"Running"}}', 'unnamed'],
  ['a name with a prototype', '{"kind":"Pod","__proto__":{"metadata":{"name":"a"}}}', 'unnamed'],
];

describe('an input that cannot be read as a whole is one declined row under its name', () => {
  test.each(UNREAD)('%s', async (_, content, code) => {
    const { subjects } = await run(content);
    expect(subjects).toHaveLength(1);
    expect(subjects[0]).toMatchObject({ key: 'pods.txt', verdict: 'declined', standing: 'declined' });
    expect(subjects[0]?.reason).toContain(`(${code})`);
  });
});

describe('what is not judged is named in the ledger', () => {
  const ledger = async (content: string) => {
    const { subjects, coverage } = await run(content);
    const entries = [...(coverage.not_checked ?? []), ...(coverage.cannot_cover ?? [])];
    return { rows: subjects.length, text: entries.map(({ what, why }) => `${what}: ${why}`).join('\n') };
  };

  test('a page of a longer list', async () => {
    const page = listing([pod('a')], { metadata: { continue: 'token', remainingItemCount: 300 } });
    expect(await ledger(page)).toMatchObject({ rows: 1, text: expect.stringContaining('300 further pods') });
  });

  test.each([
    ['items: null', '{"apiVersion":"v1","items":null,"kind":"List"}'],
    ['items: []', listing([])],
    ['YAML items: []', 'apiVersion: v1\nitems: []\nkind: List\n'],
    ['YAML items without a value', 'apiVersion: v1\nitems:\nkind: List\n'],
  ])('a list without pods gives no row: %s', async (_, content) => {
    expect(await ledger(content)).toMatchObject({ rows: 0, text: expect.stringContaining('it lists none') });
  });

  test('objects that are no pods, by kind', async () => {
    const service = { kind: 'Service', metadata: { name: 's' }, spec: {} };
    expect((await ledger(listing([pod('a'), service, service]))).text).toContain('2 Service: they are no pods');
  });

  test('a refused namespace, and nothing of the sentence that refused it', async () => {
    const { text } = await ledger(`${two}${refused}\n`);
    expect(text).toContain('pods of namespace vault: the answer was a refusal: Forbidden');
    expect(text).not.toContain('quentin');
  });

  test('lines outside of the documents', async () => {
    expect((await ledger(`password=hunter2\n${two}`)).text).toContain('1 line: they stand outside');
  });

  test('a last YAML line without an end', async () => {
    expect((await ledger(yaml(pod('a')).trimEnd())).text).toContain('whatever may be missing at its end');
  });

  test('events, nodes and owners, always', async () => {
    const { text } = await ledger(two);
    expect(text).toContain('events and logs are not read');
    expect(text).toContain('the state of nodes');
  });
});

describe('the newest copy of a pod decides', () => {
  const copy = (revision: string, uid: string, parts: Parameters<typeof pod>[1] = {}) =>
    pod('a', { ...parts, metadata: { resourceVersion: revision, uid, ...parts.metadata } });
  const failing = {
    status: running([container({ ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } })]),
  };

  test('by its revision, wherever it stands', async () => {
    expect((await run(ndjson(copy('9', 'u'), copy('10', 'u', failing), copy('8', 'u')))).verdicts).toEqual({
      'shop/a': 'crash_loop',
    });
  });

  test('by its creation when it was made anew', async () => {
    const anew = copy('5', 'new', { metadata: { creationTimestamp: ago(60) } });
    expect((await run(ndjson(anew, copy('9', 'old', failing)))).verdicts).toEqual({ 'shop/a': 'healthy' });
  });

  test('by its place when nothing else tells, and the older ones are counted', async () => {
    const { verdicts, coverage } = await run(listing([pod('a', failing), pod('a')]));
    expect(verdicts).toEqual({ 'shop/a': 'healthy' });
    expect(coverage.not_checked).toContainEqual({
      what: 'pods.txt: 1 older copy',
      why: 'the newest copy of a pod is judged',
    });
  });
});
