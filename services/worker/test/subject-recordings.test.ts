/** Recordings of single subjects: whose, where, bounded each by itself (see the head of `subject-recording.ts`). */
import { createHash } from 'node:crypto';
import { readArtifactRange } from '@muster/artifacts';
import type { FleetRunbook, RunbookRecordingOptions } from '@muster/envelope';
import { scopeOf } from '@muster/host';
import type { RunRecord, SubjectRecord } from '@muster/results';
import { expect, test } from 'vitest';
import { benchTools, machineCheck } from './bench-runbooks.ts';
import { type Bench, openBench } from './worker-bench.ts';

/** Twelve machines: every third is overloaded, the last one's probe fails. */
async function swept(recording: RunbookRecordingOptions): Promise<{ bench: Bench; run: RunRecord }> {
  const probe = (machine: string) => {
    const index = Number(machine.slice(-3));
    if (index === 11) throw new Error('the probe failed');
    return index % 3 === 0 ? 95 : 10;
  };
  const runbook = { ...machineCheck, walk: { recording } } as FleetRunbook;
  const bench = await openBench({ tools: benchTools({ probe }), runbooks: [runbook] });
  const run = await bench.accept('machine_check');
  await bench.work();
  await bench.ended(run);
  return { bench, run };
}

async function readRecording(bench: Bench, run: RunRecord, row: SubjectRecord) {
  const range = { start: row.recordingOffset!, end: row.recordingOffset! + row.recordingLength! };
  const { data } = (await readArtifactRange(bench.store, scopeOf(run), row.recordingRef!, range))!;
  expect(createHash('sha256').update(data).digest('hex')).toBe(row.recordingSha256);
  return JSON.parse(Buffer.from(data).toString());
}

test('all: each subject’s recording is one checked ranged read, and it is that subject’s', async () => {
  const { bench, run } = await swept({ subjects: 'all' });
  for (const row of await bench.rows(run)) {
    const recording = await readRecording(bench, run, row);
    expect(Object.keys(recording)).toEqual(['snapshot', 'events', 'structure']);
    expect(JSON.stringify(recording.snapshot)).toContain(
      row.ordinal === 11 ? 'failed' : `"load":${row.ordinal % 3 === 0 ? 95 : 10}`,
    );
    expect(recording.structure.id).toBe('probe');
  }
});

test('problems: those that did not end ok have one, the others have none and no reason', async () => {
  const { bench, run } = await swept({ subjects: 'problems' });
  for (const row of await bench.rows(run)) {
    expect(row.recordingRef !== null).toBe(row.standing !== 'ok');
    expect(row.recordingNote).toBeNull();
  }
});

test('none is the default, and then no artifact of that kind is put', async () => {
  const { bench, run } = await swept({});
  expect((await bench.rows(run)).filter((row) => row.recordingRef !== null || row.recordingNote !== null)).toEqual([]);
  expect(await bench.count('artifacts', `kind = 'recording/subject-segment'`)).toBe(0);
});

test('one over its limit is refused by itself, with the size, the limit and the option that raises it', async () => {
  const whole = await swept({ subjects: 'all' });
  const sizes = (await whole.bench.rows(whole.run)).map((row) => row.recordingLength! - 1);
  const largest = Math.max(...sizes);
  const { bench, run } = await swept({ subjects: 'all', subjectMaxBytes: largest - 1 });
  const rows = await bench.rows(run);
  const refused = rows.filter((row) => row.recordingNote !== null);
  expect(refused.map((row) => row.ordinal)).toEqual(sizes.flatMap((size, index) => (size === largest ? [index] : [])));
  expect(refused[0]?.recordingNote).toBe(
    `The recording was not filed: it measures ${largest} bytes, over the limit of ${largest - 1}; walk.recording.subjectMaxBytes raises the limit.`,
  );
  for (const row of rows.filter((other) => other.recordingNote === null)) await readRecording(bench, run, row);
});
