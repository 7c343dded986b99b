import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOW, runOver, shipped, type TestFile } from './over-files.ts';

type Bag = Record<string, unknown>;

const runbook = shipped('disk_health');
const run = (files: string | Uint8Array | readonly TestFile[], input = {}, now = NOW) =>
  runOver(
    runbook,
    typeof files === 'string' || files instanceof Uint8Array ? [{ name: 'h1.json', content: files }] : files,
    input,
    now,
  );

const seconds = (instant: string) => Date.parse(instant) / 1000;
const ran = (exit_status = 0, over: Bag = {}) => ({
  version: [7, 4],
  argv: ['smartctl', '-j', '-a'],
  exit_status,
  ...over,
});
const attribute = (id: number, raw: number, over: Bag = {}) => ({
  id,
  value: 100,
  thresh: 10,
  when_failed: '',
  raw: { value: raw, string: String(raw) },
  ...over,
});

/** A SATA disk that is well, with parts of it replaced. */
const sata = (over: Bag = {}, attributes: readonly Bag[] = []): Bag => ({
  smartctl: ran(),
  device: { name: '/dev/sda', type: 'sat', protocol: 'ATA' },
  model_name: 'Platter 4000',
  serial_number: 'P4-0001',
  local_time: { time_t: seconds('2026-11-30T11:00:00Z') },
  smart_status: { passed: true },
  temperature: { current: 34 },
  power_on_time: { hours: 12_000 },
  ata_smart_attributes: {
    table: [5, 197, 198].map((id) => attributes.find((one) => one.id === id) ?? attribute(id, 0)),
  },
  ...over,
});

const nvme = (log: Bag = {}, over: Bag = {}): Bag => ({
  smartctl: ran(),
  device: { name: '/dev/nvme0', type: 'nvme', protocol: 'NVMe' },
  model_name: 'Flash 1000',
  serial_number: 'F1-0001',
  smart_status: { passed: true, nvme: { value: 0 } },
  nvme_smart_health_information_log: {
    critical_warning: 0,
    temperature: 41,
    available_spare: 100,
    available_spare_threshold: 10,
    percentage_used: 4,
    media_errors: 0,
    ...log,
  },
  ...over,
});

const sas = (over: Bag = {}): Bag => ({
  smartctl: ran(),
  device: { name: '/dev/sdc', type: 'scsi', protocol: 'SCSI' },
  model_name: 'Spindle 600',
  serial_number: 'S6-0001',
  smart_status: { passed: true },
  temperature: { current: 30, drive_trip: 60 },
  scsi_grown_defect_list: 0,
  scsi_error_counter_log: { read: { total_uncorrected_errors: 0 }, write: { total_uncorrected_errors: 0 } },
  ...over,
});

const CASES: [what: string, document: Bag, verdict: string, reason?: string][] = [
  ['a SATA disk that is well', sata(), 'healthy', 'it says that it is well'],
  ['an NVMe disk that is well', nvme(), 'healthy'],
  ['a SAS disk that is well', sas(), 'healthy'],
  // The exit status.
  ['bit 0: the command line', sata({ smartctl: ran(1) }), 'declined', 'bit 0'],
  ['bit 1: not opened', { smartctl: ran(2), device: { name: '/dev/sda', type: 'ata' } }, 'declined', 'bit 1'],
  ['bit 2: a command that failed', sata({ smartctl: ran(4) }), 'healthy'],
  [
    'bit 3: failing, while it says that it passed',
    sata({ smartctl: ran(8) }),
    'failing',
    'and the disk says that it passed',
  ],
  ['bit 4: an attribute below its threshold', sata({ smartctl: ran(16) }), 'prefail', 'bit 4'],
  ['bits 5 and 6: history', sata({ smartctl: ran(96) }), 'healthy', 'its error log has entries'],
  ['bit 7: errors of self-tests', sata({ smartctl: ran(128) }), 'self_test_failed', 'bit 7'],
  [
    'failing, and an exit status of 0',
    sata({ smart_status: { passed: false } }),
    'failing',
    'and smartctl’s exit status does not',
  ],
  // SATA.
  ['one pending sector', sata({}, [attribute(197, 1)]), 'pending_sectors', '1 sectors'],
  ['one uncorrectable sector', sata({}, [attribute(198, 1)]), 'uncorrectable_sectors'],
  ['a few reallocated sectors', sata({}, [attribute(5, 3)]), 'healthy', '3 reallocated'],
  ['many reallocated sectors', sata({}, [attribute(5, 51)]), 'reallocated_sectors'],
  [
    'a raw value that is several numbers',
    sata({}, [attribute(5, 0, { raw: { value: 2 ** 33, string: '2 (0 1)' } })]),
    'healthy',
    '2 reallocated',
  ],
  [
    'a raw value that its text does not have',
    sata({}, [attribute(197, 0, { raw: { value: 9, string: '0' } })]),
    'pending_sectors',
  ],
  ['an attribute that fails now', sata({}, [attribute(5, 0, { when_failed: 'now' })]), 'prefail', '1 attribute is'],
  ['an attribute that failed in the past', sata({}, [attribute(5, 0, { when_failed: 'past' })]), 'healthy'],
  [
    'the newest self-test failed',
    sata({
      ata_smart_self_test_log: { standard: { table: [{ status: { passed: false } }, { status: { passed: true } }] } },
    }),
    'self_test_failed',
  ],
  [
    'an older self-test failed',
    sata({
      ata_smart_self_test_log: { standard: { table: [{ status: { passed: true } }, { status: { passed: false } }] } },
    }),
    'healthy',
  ],
  [
    'a self-test that goes on',
    sata({
      ata_smart_self_test_log: {
        standard: { table: [{ status: { remaining_percent: 50 } }, { status: { passed: true } }] },
      },
    }),
    'healthy',
  ],
  ['too hot', sata({ temperature: { current: 70 } }), 'hot', '70 °C, and 65 °C is the most'],
  ['too hot for its own limit', sas({ temperature: { current: 62, drive_trip: 60 } }), 'hot', '60 °C is the most'],
  ['a temperature that is none', sata({ temperature: { current: 255 } }), 'healthy'],
  ['attributes, and no word of its health', sata({ smart_status: undefined }), 'declined', 'whether it is well is not'],
  // NVMe, bit by bit.
  ['spare below its threshold', nvme({ critical_warning: 1, available_spare: 5 }), 'spare_low', '5 % spare'],
  ['a warning of its temperature', nvme({ critical_warning: 2 }), 'hot'],
  ['degraded', nvme({ critical_warning: 4 }), 'degraded'],
  ['read-only', nvme({ critical_warning: 8 }, { smart_status: { passed: false } }), 'read_only'],
  ['its backup failed', nvme({ critical_warning: 16 }), 'backup_failed'],
  ['its persistent memory', nvme({ critical_warning: 32 }), 'degraded'],
  ['spare below its threshold, and no warning', nvme({ available_spare: 9 }), 'spare_low'],
  ['worn', nvme({ percentage_used: 100 }), 'worn', '100 %'],
  ['worn beyond counting', nvme({ percentage_used: 255 }), 'worn', '255 % or more'],
  ['well used', nvme({ percentage_used: 85 }), 'healthy', '85 % of its endurance'],
  ['media errors', nvme({ media_errors: 1 }), 'media_errors'],
  ['media errors in quotes', nvme({ media_errors: '7' }), 'media_errors', '7 errors'],
  ['more than a number holds', nvme({ media_errors: '340282366920938463463374607431768211455' }), 'media_errors'],
  ['a count that is none', nvme({ media_errors: 'many' }), 'declined', 'media_errors is no number'],
  ['its log without a word of its own', nvme({}, { smart_status: undefined }), 'healthy', 'it warns of nothing'],
  // SAS.
  ['a few grown defects', sas({ scsi_grown_defect_list: 7 }), 'healthy', '7 grown defects'],
  ['many grown defects', sas({ scsi_grown_defect_list: 260 }), 'grown_defects'],
  [
    'errors that were not corrected',
    sas({ scsi_error_counter_log: { write: { total_uncorrected_errors: 3 } } }),
    'media_errors',
  ],
  // What is no answer.
  [
    'standby',
    {
      smartctl: ran(2, { messages: [{ string: 'Device is in STANDBY mode, exit(2)' }] }),
      device: { name: '/dev/sda' },
    },
    'declined',
    'standby',
  ],
  [
    'there, and it does not answer',
    {
      smartctl: ran(2, { messages: [{ string: 'Read NVMe Identify Controller failed: Input/output error' }] }),
      device: { name: '/dev/nvme1' },
    },
    'not_responding',
  ],
  [
    'SMART that is turned off',
    sata({ smart_support: { available: true, enabled: false }, smart_status: undefined }),
    'declined',
    'turned off',
  ],
  [
    'a logical volume',
    {
      smartctl: ran(4),
      device: { name: '/dev/sdb', type: 'scsi' },
      scsi_version: 'SPC-3',
      temperature: { current: 0 },
    },
    'declined',
    'no SMART',
  ],
  [
    'a description alone',
    { smartctl: ran(), device: { name: '/dev/sda' }, model_name: 'Platter', user_capacity: { bytes: 1 } },
    'declined',
    'run smartctl with -a',
  ],
  ['a name alone', { smartctl: ran(), device: { name: '/dev/sda' } }, 'declined', 'nothing but the name'],
  ['a time in the future', sata({ local_time: { time_t: seconds('2027-06-01T00:00:00Z') } }), 'declined', 'future'],
  ['a time at the epoch', sata({ local_time: { time_t: 0 } }), 'declined', 'epoch'],
];

describe('a disk is judged by what smartctl prints', () => {
  test.each(CASES)('%s', async (_, document, verdict, reason) => {
    const { subjects } = await run(JSON.stringify(document));
    expect(subjects.map((subject) => subject.verdict)).toEqual([verdict]);
    if (reason !== undefined) expect(subjects[0]?.reason).toContain(reason);
  });
});

describe('many disks', () => {
  const text = (...documents: Bag[]) => documents.map((document) => JSON.stringify(document)).join('\n');

  test('in one file, of which one cannot be read and one is a scan', async () => {
    const content = `${text(sata(), { some: 'thing' }, { smartctl: ran(), devices: [{ name: '/dev/sda' }] }, nvme())}`;
    const { verdicts } = await run(content);
    expect(verdicts).toEqual({
      'h1/sda/P4-0001': 'healthy',
      'h1/nvme0/F1-0001': 'healthy',
      'h1.json document 2': 'declined',
      'h1.json document 3': 'declined',
    });
  });

  test('members behind a controller are told apart, and hosts by their name', async () => {
    const member = (number: number) =>
      sata({ device: { name: '/dev/sda', type: `sat+megaraid,${number}` }, serial_number: `M-${number}` });
    const { verdicts } = await run(
      text({ ...member(0), host: 'db1' }, { ...member(1), host: 'db1' }, { host: 'db2', smart: member(0) }),
    );
    expect(Object.keys(verdicts)).toEqual([
      'db1/sda[megaraid,0]/M-0',
      'db1/sda[megaraid,1]/M-1',
      'db2/sda[megaraid,0]/M-0',
    ]);
  });

  test('of one serial number under two names are one disk: the newest document decides, and both names are said', async () => {
    const older = sata({ device: { name: '/dev/sdb' }, local_time: { time_t: seconds('2026-11-29T00:00:00Z') } }, [
      attribute(197, 4),
    ]);
    const { subjects } = await run(text(older, sata()));
    expect(subjects.map(({ key, verdict }) => [key, verdict])).toEqual([['h1/sda/P4-0001', 'healthy']]);
    expect(subjects[0]?.reason).toContain('seen as sdb too');
  });

  test('without a serial number, or with one that stands for none, are never taken for one another', async () => {
    const nameless = (name: string, serial_number: string) => sata({ device: { name }, serial_number });
    const { subjects } = await run(
      text(nameless('/dev/sda', '00000000'), nameless('/dev/sdb', '00000000'), nameless('/dev/sdc', 'Unknown')),
    );
    expect(subjects.map(({ key }) => key)).toEqual(['h1/sda', 'h1/sdb', 'h1/sdc']);
  });

  test('a scan that found none is no row, and is said', async () => {
    const { subjects, coverage } = await run(
      text({ smartctl: { argv: ['smartctl', '--scan', '-j'], exit_status: 0 } }),
    );
    expect(subjects).toEqual([]);
    expect(JSON.stringify(coverage.not_checked)).toContain('a scan found none');
  });
});

describe('what is no JSON of smartctl', () => {
  test.each([
    ['text for people', 'smartctl 7.3 2022-02-28\nSMART overall-health self-assessment test result: PASSED\n'],
    ['a refusal', 'sudo: a password is required\n'],
    ['nothing', ''],
    ['a bare nan', '{"smartctl":{},"device":{},"smart_status":{"passed":true},"x":nan}'],
    ['a cut file', JSON.stringify(sata()).slice(0, -30)],
  ])('%s is declined', async (_, content) => {
    const { subjects } = await run(content);
    expect(subjects.map(({ standing }) => standing)).toEqual(['declined']);
  });
});

test('what was expected and did not come, and what is too old, is not checked by name', async () => {
  const old = sata({ local_time: { time_t: seconds('2026-10-01T00:00:00Z') } });
  const { subjects } = await run(JSON.stringify(old), { expected: ['h1/sda', 'F1-0001'], max_evidence_age: 86_400 });
  expect(subjects.map(({ key, reasonCode }) => [key, reasonCode])).toEqual([
    ['h1/sda/P4-0001', 'evidence_too_old'],
    ['F1-0001', 'expected_missing'],
  ]);
  expect(subjects[0]?.columns.observed_at).toBe('2026-10-01T00:00:00.000Z');
});

test('what a run sets is what its rules compare with', async () => {
  const document = JSON.stringify(sata({ temperature: { current: 50 } }, [attribute(197, 2), attribute(5, 60)]));
  const lax = { pending_allowed: 2, reallocated_allowed: 60 };
  expect(Object.values((await run(document, lax)).verdicts)).toEqual(['healthy']);
  expect(Object.values((await run(document, { ...lax, max_temperature: 45 })).verdicts)).toEqual(['hot']);
});

test("the page's example is what the rules give", async () => {
  const page = await readFile(new URL('../../../docs/runbooks/disk_health.md', import.meta.url), 'utf8');
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { subjects } = await run(JSON.stringify(sata({}, [attribute(197, 8), attribute(5, 3)])));
  const { key, verdict, standing, reason, columns } = subjects[0]!;
  expect({ subject: key, verdict, standing, reason, ...columns }).toEqual(example);
});

describe('whatever it is given', () => {
  test('bytes changed anywhere end in an answer', async () => {
    const sources = [sata(), nvme(), sas()].map((document) => Buffer.from(JSON.stringify(document)));
    const change = fc.tuple(fc.nat(), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sources),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (source, changes) => {
          const content = Uint8Array.from(source);
          for (const [at, byte] of changes) content[at % content.length] = byte;
          for (const subject of (await run(content)).subjects) expect(subject.reason).toMatch(/\S/);
        },
      ),
      { seed: 20_261_130, numRuns: 300 },
    );
  });

  test('any JSON in any judged field ends in an answer, and without a word of health it is never ok', async () => {
    const any = fc.jsonValue({ maxDepth: 2 });
    const document = fc.record(
      {
        smartctl: any,
        device: any,
        temperature: any,
        ata_smart_attributes: any,
        scsi_grown_defect_list: any,
        local_time: any,
        smart_status: any,
      },
      { requiredKeys: ['device'] },
    );
    await fc.assert(
      fc.asyncProperty(document, async (given) => {
        const { subjects } = await run(JSON.stringify(given));
        const passed = (given.smart_status as { passed?: unknown } | null)?.passed;
        for (const { standing } of subjects) if (passed !== true) expect(standing).not.toBe('ok');
      }),
      { seed: 20_261_130, numRuns: 300 },
    );
  });
});
