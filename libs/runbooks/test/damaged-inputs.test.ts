import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { container, listing, pod, run, running, waits } from './listing.ts';

const failing = pod('failing', { status: running([waits('CrashLoopBackOff')]) });
const sources = [
  listing([pod('fine'), failing]),
  JSON.stringify(pod('fine')),
  stringify(JSON.parse(listing([pod('fine'), failing])), { indentSeq: false }),
].map((text) => Buffer.from(text));

const settings = { seed: 20_261_130, numRuns: 300 };
const BYTES = [...'{}[]",:\n-0\\ '].map((character) => character.charCodeAt(0));

/** Every subject ends as a verdict or declined, and each has a reason. */
function expectAnswered(subjects: Awaited<ReturnType<typeof run>>['subjects']) {
  for (const subject of subjects) {
    expect(['verdict', 'declined']).toContain(subject.outcome);
    expect(subject.reason).toMatch(/\S/);
  }
}

test('a file cut anywhere is never all ok', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (at) => {
      const json = sources[0] as Buffer;
      const { subjects } = await run(json.subarray(0, at % (json.length - 2)));
      expect(subjects.map(({ standing }) => standing)).toEqual(['declined']);
    }),
    settings,
  );
});

test('bytes changed anywhere end in an answer, in time and memory', async () => {
  const change = fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(...BYTES), fc.nat(255)));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...sources),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (source, changes) => {
        const bytes = Uint8Array.from(source);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        expectAnswered((await run(bytes)).subjects);
      },
    ),
    settings,
  );
});

test('any JSON in any judged field ends in an answer, and a pod without a phase is never ok', async () => {
  const any = fc.jsonValue({ maxDepth: 2 });
  const status = fc.record(
    {
      conditions: any,
      containerStatuses: fc.oneof(
        any,
        fc.array(fc.record({ name: any, ready: any, restartCount: any, state: any, lastState: any })),
      ),
      reason: any,
      startTime: any,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      status,
      fc.record({ spec: any, metadata: any, phase: any }),
      async (told, { spec, metadata, phase }) => {
        const objects = [
          { kind: 'Pod', metadata: { name: 'a' }, spec, status: told },
          { kind: 'Pod', metadata: { name: 'b' }, status: { phase, containerStatuses: [container()], ...told } },
          { kind: 'Pod', metadata, spec, status: { phase: 'Running', ...told } },
        ];
        const { subjects } = await run(listing(objects));
        expectAnswered(subjects);
        expect(subjects).toHaveLength(3);
        expect(subjects.find(({ key }) => key === 'default/a')?.standing).not.toBe('ok');
      },
    ),
    settings,
  );
});
