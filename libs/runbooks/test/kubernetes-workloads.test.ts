import { askBeforeAssess, planFleet } from '@muster/envelope';
import { describe, expect, test } from 'vitest';
import {
  ago,
  chunks,
  container,
  DAY,
  end,
  listing,
  MINUTE,
  NOW,
  pod,
  ready,
  run,
  runbook,
  running,
  waits,
} from './listing.ts';

const failing = { status: running([waits('CrashLoopBackOff', { restartCount: 12, lastState: end(1, 'Error') })]) };

describe('a run over several files', () => {
  test('one bad file hides none of the others', async () => {
    const { verdicts } = await run([
      { name: 'broken.json', content: listing([pod('x')]).slice(0, -40) },
      { name: 'north.json', content: listing([pod('a')]) },
      { name: 'empty.json', content: '' },
      { name: 'south.json', content: listing([pod('b', failing)]) },
    ]);
    expect(verdicts).toEqual({
      'broken.json': 'declined',
      'shop/a': 'healthy',
      'empty.json': 'declined',
      'shop/b': 'crash_loop',
    });
  });

  test('a file that is not there is a declined row, and its place stays unsaid', async () => {
    const args = {
      files: [
        { ref: '9', name: 'lost.json' },
        { ref: '0', name: 'here.json' },
      ],
    };
    const { verdicts, answer } = await run([{ name: 'here.json', content: listing([pod('a')]) }], args);
    expect(verdicts).toEqual({ 'lost.json': 'declined', 'shop/a': 'healthy' });
    expect(JSON.stringify(answer)).not.toContain('/secret/place');
  });

  test('targets go in front, so that two clusters may have the same pods', async () => {
    const content = listing([pod('a')]);
    const { verdicts, subjects } = await run([
      { name: 'pods.json', content, target: 'north' },
      { name: 'pods.json', content, target: 'south' },
      { name: 'pods.json', content: 'oops', target: 'south' },
    ]);
    expect(Object.keys(verdicts)).toEqual(['north/shop/a', 'south/shop/a', 'south/pods.json (2)']);
    expect(subjects.map((subject) => subject.target)).toEqual(['north', 'south', 'south']);
  });

  test('a target of the run is that of every file without one', async () => {
    const { verdicts } = await run(listing([pod('a')]), { target: 'north' });
    expect(verdicts).toEqual({ 'north/shop/a': 'healthy' });
  });

  test('a damaged file keeps the pods before the damage when the run asks for it, and still says so', async () => {
    const content = listing([pod('a', failing), pod('b')]).slice(0, -40);
    const { verdicts, coverage } = await run(content, { damaged: 'keep' });
    expect(verdicts).toEqual({ 'shop/a': 'crash_loop', 'shop/b': 'healthy', 'pods.txt': 'declined' });
    expect(JSON.stringify(coverage.not_checked)).toContain('whatever comes after the damage');
  });
});

describe('what was expected, and how old evidence may be', () => {
  const content = listing([pod('a'), pod('b', failing)]);

  test('what was expected and is not told of is not checked, by its name', async () => {
    const { subjects, verdicts } = await run([{ name: 'pods.json', content }], { expected: ['shop/a', 'shop/gone'] });
    expect(verdicts).toEqual({ 'shop/a': 'healthy', 'shop/b': 'crash_loop', 'shop/gone': 'not_checked' });
    expect(subjects.at(-1)).toMatchObject({ reasonCode: 'expected_missing', outcome: 'not_checked' });
  });

  test('an owner is as good a name as a pod', async () => {
    const owned = listing([
      pod('a', { metadata: { ownerReferences: [{ kind: 'Job', name: 'nightly', controller: true }] } }),
    ]);
    const { verdicts } = await run([{ name: 'pods.json', content: owned }], { expected: ['shop/Job/nightly'] });
    expect(verdicts).toEqual({ 'shop/a': 'healthy' });
  });

  test.each([
    ['younger', ago(5 * MINUTE), 'healthy', undefined],
    ['older', ago(2 * DAY), 'not_checked', 'evidence_too_old'],
    ['of no told age', undefined, 'not_checked', 'evidence_undated'],
    ['from the future', ago(-DAY), 'not_checked', 'evidence_undated'],
  ])('evidence that is %s is judged, or not, as its age allows', async (_, taken_at, end, code) => {
    const { subjects } = await run([{ name: 'pods.json', content }], { max_evidence_age: 3600, taken_at });
    expect(subjects[0]).toMatchObject(end === 'healthy' ? { verdict: end } : { outcome: end, reasonCode: code });
    expect(subjects[0]?.columns.observed_at).toBe(taken_at === undefined ? null : new Date(taken_at).toISOString());
  });
});

describe('a verdict brings its grounds', () => {
  test('the evidence names key, operator, threshold and value', async () => {
    const status = running([container({ ready: false })], { conditions: [ready(false, ago(2 * 3600))] });
    const { subjects } = await run(listing([pod('a', { status })]));
    const deciding = subjects[0]?.evidence?.rules.find((rule) => rule.matched);
    expect(deciding?.label).toBe('not ready for more than 10m');
    expect(deciding?.conditions).toContainEqual({
      key: 'not_ready_seconds',
      op: 'gt',
      threshold: 600,
      actual: '7200',
      matched: true,
    });
  });

  test('the reason says which container, why, and how often', async () => {
    const { subjects } = await run(listing([pod('a', failing)]));
    expect(subjects[0]?.reason).toBe('app crashes again and again: exit code 1 (Error), 12 restarts');
  });

  test('an age in doubt is said, also of a pod that is fine', async () => {
    const { subjects } = await run(listing([pod('a', { metadata: { creationTimestamp: '2026-11-30T11:00:00' } })]));
    expect(subjects[0]?.columns.age).toBeNull();
    expect(subjects[0]?.reason).toBe(
      'it runs and is ready; its age cannot be told: creationTimestamp has no time zone',
    );
  });

  test('every row has the same columns', async () => {
    const { subjects } = await run([
      { name: 'a', content: listing([pod('a', failing), pod('b', { status: null })]) },
      { name: 'b', content: 'oops' },
    ]);
    const columns = [
      'namespace',
      'pod',
      'owner',
      'phase',
      'container',
      'restarts',
      'age',
      'node',
      'observed_at',
      'target',
    ];
    for (const subject of subjects) expect(Object.keys(subject.columns)).toEqual(columns);
    expect(subjects[0]?.columns).toMatchObject({ namespace: 'shop', container: 'app', restarts: 12, age: '1d' });
  });

  test('rules of a run with its own thresholds judge and speak by them', async () => {
    const young = pod('a', { metadata: { creationTimestamp: ago(5 * MINUTE) }, status: { phase: 'Pending' } });
    const { subjects } = await run(listing([young]), { pending_seconds: 120 });
    expect(subjects[0]).toMatchObject({ verdict: 'stuck_pending' });
    expect(subjects[0]?.evidence?.rules.at(-1)?.label).toBe('still pending after 2m');
  });
});

describe('a pod is the same thing from sweep to sweep', () => {
  const owned = (kind: string, name: string, labels = {}) =>
    pod('a', { metadata: { labels, ownerReferences: [{ kind, name, controller: true }] } });

  test.each([
    ['a deployment', owned('ReplicaSet', 'web-5d9', { 'pod-template-hash': '5d9' }), 'shop/Deployment/web'],
    ['a replica set of its own', owned('ReplicaSet', 'web-5d9'), 'shop/ReplicaSet/web-5d9'],
    ['a cron job', owned('Job', 'close-29861280'), 'shop/CronJob/close'],
    ['a job with a date in its name', owned('Job', 'load-20261130'), 'shop/Job/load-20261130'],
    ['a daemon on its node', owned('DaemonSet', 'logs'), 'shop/DaemonSet/logs@node-1'],
    ['a stateful pod', owned('StatefulSet', 'db'), 'shop/a'],
    ['a static pod', owned('Node', 'node-1'), 'shop/a'],
    ['a pod of its own', pod('a'), 'shop/a'],
  ])('%s', async (_, object, identity) => {
    const { subjects } = await run(listing([object]));
    expect(subjects[0]?.identity).toBe(identity);
  });
});

test('a secret anywhere in a pod is in no subject, row, walk or answer', async () => {
  const secret = 'canary-7f3a-secret';
  const leaky = pod('a', {
    metadata: { annotations: { token: secret }, labels: { token: secret }, managedFields: [secret], uid: secret },
    spec: {
      containers: [
        { name: 'app', image: secret, args: [secret], command: [secret], env: [{ name: 'K', value: secret }] },
      ],
      volumes: [{ name: 'v', secret: { secretName: secret } }],
    },
    status: running(
      [
        container({
          ready: false,
          image: secret,
          state: { waiting: { reason: 'CrashLoopBackOff', message: secret } },
          lastState: { terminated: { exitCode: 1, reason: `Error ${secret}`, message: secret, finishedAt: ago(DAY) } },
        }),
      ],
      { message: secret, conditions: [{ ...ready(false), message: secret, reason: `Odd ${secret}` }] },
    ),
  });
  const page: unknown[] = [];
  const tools = {
    has: () => true,
    call: async () => ({ name: 'x', open: () => chunks({ content: listing([leaky]) }) }),
  };
  const args = { input: { files: [{ ref: '0', name: 'x' }] }, now: NOW };
  await planFleet(runbook, args, { tools, toolCallId: 'call-1', runId: 'run-1' }, async (subjects) => {
    page.push(...subjects);
  });
  expect(page).toHaveLength(1);
  expect(JSON.stringify(page)).not.toContain(secret);
  const { answer, subjects } = await run(listing([leaky]));
  expect(subjects[0]?.verdict).toBe('crash_loop');
  expect(JSON.stringify([answer, subjects])).not.toContain(secret);
});

describe('the input of a run is a closed object', () => {
  const file = { ref: 'r', name: 'n' };
  test.each([
    ['no files', { files: [] }],
    ['an unknown field', { files: [file], filez: 1 }],
    ['an unknown field of a file', { files: [{ ...file, path: '/etc' }] }],
    ['a threshold that is no number', { files: [file], pending_seconds: 'soon' }],
    ['a target with a slash', { files: [file], target: 'a/b' }],
  ])('%s is refused', (_, input) => {
    expect(runbook.input.safeParse(input).success).toBe(false);
  });
});

describe('a run that wants to be approved', () => {
  const content = listing([pod('a'), pod('b')]);
  const files = [{ name: 'pods.json', content }];

  test('asks with what was counted, and not unless it was told to', () => {
    const ask = (counts: { subjects: number; targets?: number }, input: object = { ask_first: true }) =>
      askBeforeAssess(runbook, counts, { ...input });
    expect(ask({ subjects: 120, targets: 2 })).toEqual({
      question: 'Assess 120 workloads of 2 targets?',
      details: { subjects: 120, targets: 2 },
    });
    expect(ask({ subjects: 1, targets: 0 })).toEqual({ question: 'Assess 1 workload?', details: { subjects: 1 } });
    expect(ask({ subjects: 1 }, {})).toBeUndefined();
    expect(ask({ subjects: 1 }, { ask_first: false })).toBeUndefined();
  });

  test('is judged as any other', async () => {
    const plain = await run(files);
    const asking = await run(files, { ask_first: true });
    expect(asking.verdicts).toEqual(plain.verdicts);
    expect(JSON.stringify(asking.answer)).toBe(JSON.stringify(plain.answer));
  });
});
