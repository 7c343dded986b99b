import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOW, runOver, shipped, type TestFile } from './over-files.ts';

const runbook = shipped('host_patch_posture');
const run = (files: string | Uint8Array | readonly TestFile[], input = {}, now = NOW) =>
  runOver(runbook, typeof files === 'string' ? [{ name: 'web1.txt', content: files }] : files, input, now);

const lines = (...parts: string[]) => `${parts.join('\n')}\n`;
const READING = ['Reading package lists... Done', 'Building dependency tree... Done'];
const nothing = '0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.';
const inst = (name: string, origin = 'Debian:13.1/stable') => `Inst ${name} [1.0-1] (1.0-2 ${origin} [amd64])`;

/** What one host's output comes to: verdict, and words that its reason must have. */
const CASES: [what: string, output: string, verdict: string, reason?: string][] = [
  // apt
  ['apt with nothing to do', lines(...READING, nothing), 'up_to_date', 'how old the package index is was not told'],
  ['apt with updates', lines(inst('vim'), inst('curl')), 'updates', '2 updates waiting, none for security'],
  [
    'security updates among others',
    lines(inst('vim'), inst('openssl', 'Debian-Security:13/stable-security')),
    'security_updates',
    '1 security update of 2 updates waiting: openssl',
  ],
  [
    'an update that two archives have',
    lines(inst('zlib1g', 'Debian:13.1/stable, Debian-Security:13/stable-security')),
    'security_updates',
  ],
  ['a line of an update behind which more stands', lines(`${inst('libc6')} []`), 'updates'],
  ['a new package alone', lines('Inst extra (2.0 Debian:13.1/stable [amd64])'), 'updates'],
  [
    'phased updates under the old heading',
    lines(
      'The following upgrades have been deferred due to phasing:',
      '  ubuntu-drivers udev',
      '0 upgraded, 0 newly installed, 0 to remove and 2 not upgraded.',
    ),
    'up_to_date',
    '2 phased do not count',
  ],
  [
    'phased updates under the new heading',
    lines(
      'Not upgrading yet due to phasing:',
      '  udev',
      '',
      'Summary:',
      '  Upgrading: 0, Installing: 0, Removing: 0, Not Upgrading: 1',
    ),
    'up_to_date',
    '1 phased do not count',
  ],
  [
    'packages that are kept back',
    lines(
      'The following packages have been kept back:',
      '  linux-generic',
      '0 upgraded, 0 newly installed, 0 to remove and 1 not upgraded.',
    ),
    'kept_back',
    '1 update kept back',
  ],
  [
    'packages that are not upgraded, and no list says why',
    lines('0 upgraded, 0 newly installed, 0 to remove and 4 not upgraded.'),
    'kept_back',
  ],
  ['a package that is half installed', lines(nothing, '1 not fully installed or removed.'), 'broken_packages'],
  [
    'an interrupted dpkg',
    lines("E: dpkg was interrupted, you must manually run 'dpkg --configure -a'."),
    'broken_packages',
  ],
  [
    'a lock',
    lines('E: Could not get lock /var/lib/apt/lists/lock. It is held by process 5 (apt)'),
    'declined',
    'locked by another',
  ],
  [
    'a lock in another language',
    lines('E: Sperre /var/lib/dpkg/lock konnte nicht bekommen werden'),
    'declined',
    'locked',
  ],
  ['an error', lines('E: Type of line 3 is not known', nothing), 'declined', 'ended in an error'],
  [
    'sentences in another language',
    lines('0 mis à jour, 0 nouvellement installés, 0 à enlever et 0 non mis à jour.'),
    'declined',
    'LC_ALL=C',
  ],
  [
    'sentences in another language beside updates by name',
    lines(
      '1 aktualisiert, 0 neu installiert, 0 zu entfernen und 0 nicht aktualisiert.',
      inst('openssl', 'Ubuntu:24.04/noble-security'),
    ),
    'security_updates',
  ],
  [
    'an index that could not be fetched',
    lines('W: Failed to fetch http://archive/InRelease', nothing),
    'declined',
    'could not be fetched',
  ],
  ['a list of apt without any', 'Listing... Done\n', 'up_to_date'],
  ['a list of apt', lines('Listing...', 'curl/stable-security 8.1 amd64 [upgradable from: 8.0]'), 'security_updates'],
  ['a list of apt in another language', lines('curl/stable 8.1 amd64 [aktualisierbar von: 8.0]'), 'updates'],
  ['apt-check', '7;2\n', 'security_updates', '2 security updates of 7 updates'],
  ['apt-check without any', '0;0\n', 'up_to_date'],
  // at login
  [
    'a later line that says 0 takes nothing back',
    lines(
      '12 updates can be applied immediately.',
      '5 of these updates are standard security updates.',
      '0 updates can be applied immediately.',
    ),
    'security_updates',
    '5 security updates of 12',
  ],
  [
    'security updates that only a subscription gives',
    lines('0 updates can be applied immediately.', '6 additional security updates can be applied with ESM Apps.'),
    'up_to_date',
    '6 security updates only by subscription',
  ],
  [
    'an index that the host calls old',
    lines('0 updates can be applied immediately.', 'The list of available updates is more than a week old.'),
    'declined',
    'out of date',
  ],
  [
    'a restart that is wanted',
    lines('0 packages can be updated.', '*** System restart required ***'),
    'reboot_required',
  ],
  // dpkg
  [
    'an inventory',
    lines(
      'Desired=Unknown/Install/Remove/Purge/Hold',
      '||/ Name Version',
      'ii  bash 5.2 amd64 shell',
      'rc  old 1.0 amd64 left',
    ),
    'declined',
    'it is an inventory',
  ],
  [
    'a package that waits to be configured',
    lines('Desired=Unknown/Install/Remove/Purge/Hold', 'iF  bash 5.2 amd64 shell'),
    'broken_packages',
    'bash',
  ],
  [
    'a package that must be installed again',
    lines('Desired=Unknown/Install/Remove/Purge/Hold', 'iHR bash 5.2 amd64 shell', 'hi  held 1 amd64 x'),
    'broken_packages',
    '1 package held',
  ],
  [
    'an audit',
    lines(
      'The following packages are only half configured, probably due to problems',
      'configuring them the first time.',
      ' mysql-server  the database',
    ),
    'broken_packages',
  ],
  // dnf, yum
  ['dnf with nothing', lines('Last metadata expiration check: 0:10:00 ago on Mon Nov 30 11:50:00 2026.'), 'up_to_date'],
  [
    'dnf with an old index',
    lines('Last metadata expiration check: 12 days, 3:00:00 ago on Wed Nov 18 09:00:00 2026.'),
    'declined',
    '12d 3h old',
  ],
  [
    'dnf with updates',
    lines('Last metadata expiration check: 0:10:00 ago on Mon.', '', 'bash.x86_64   5.2.26-4.el9   baseos'),
    'updates',
    'which are for security is not told',
  ],
  [
    'a name that yum breaks the line after',
    lines('a-package-with-a-name-longer-than-the-column.noarch', '                 1:2.3-4.el7      updates'),
    'updates',
    '1 update',
  ],
  [
    'obsoleting packages alone',
    lines('Obsoleting Packages', 'new.x86_64   2.0-1   base', '    old.x86_64   1.0-1   @base'),
    'up_to_date',
    '1 obsoleting do not count',
  ],
  [
    'obsoleting packages after updates',
    lines(
      'bash.x86_64   5.2-1   base',
      'Obsoleting Packages',
      'new.x86_64   2.0-1   base',
      '    old.x86_64   1.0-1   @base',
    ),
    'updates',
    '1 update waiting',
  ],
  [
    'advisories',
    lines(
      'RHSA-2026:0001 Important/Sec. kernel-5.14.0-1.el9.x86_64',
      'RHBA-2026:0002 bugfix tzdata-2026a-1.el9.noarch',
    ),
    'security_updates',
    '1 security update of 2',
  ],
  [
    'lines of a kernel that does not run yet',
    lines(
      'Security: kernel-core-6.2-1.x86_64 is an installed security update',
      'Security: kernel-core-6.1-1.x86_64 is the currently running version',
    ),
    'reboot_required',
  ],
  [
    'a reboot that needs-restarting asks for',
    lines(
      'Core libraries or services have been updated since boot-up:',
      '  * glibc',
      '',
      'Reboot is required to fully utilize these updates.',
    ),
    'reboot_required',
  ],
  [
    'no reboot that needs-restarting asks for',
    lines('No core libraries or services have been updated since boot-up.', 'Reboot should not be necessary.'),
    'no_restart_needed',
  ],
  // zypper
  [
    'zypper with nothing',
    lines('Loading repository data...', 'Reading installed packages...', 'No updates found.'),
    'up_to_date',
  ],
  [
    'zypper with updates',
    lines(
      'S | Repository | Name | Current Version | Available Version | Arch',
      '--+---+---+---+---+---',
      'v | Main | vim | 1 | 2 | x86_64',
    ),
    'updates',
  ],
  [
    'patches of zypper',
    lines(
      'Repository | Name | Category | Severity | Interactive | Status | Summary',
      '---+---+---+---+---+---+---',
      'Upd | SUSE-1 | security | important | --- | needed | Fix',
      'Upd | SUSE-2 | recommended | low | --- | applied | Other',
    ),
    'security_updates',
    '1 security update waiting',
  ],
  [
    'zypper under a lock',
    lines('System management is locked by the application with pid 5 (zypper).'),
    'declined',
    'locked',
  ],
  // needrestart and kernels
  ['needrestart with nothing', lines('NEEDRESTART-VER: 3.6', 'NEEDRESTART-KSTA: 1'), 'no_restart_needed'],
  [
    'needrestart with services',
    lines('NEEDRESTART-VER: 3.6', 'NEEDRESTART-KSTA: 1', 'NEEDRESTART-SVC: cron.service'),
    'restart_services',
    '1 service',
  ],
  ['needrestart with a new kernel', lines('NEEDRESTART-VER: 3.6', 'NEEDRESTART-KSTA: 3'), 'reboot_required'],
  ['needrestart that cannot tell', lines('NEEDRESTART-VER: 3.6', 'NEEDRESTART-KSTA: 0'), 'declined', 'cannot be told'],
  [
    'kernels out of their order',
    lines(
      'running: 5.14.0-70.el9.x86_64',
      'kernel-5.14.0-70.el9.x86_64  Sun 01 Mar 2026 10:00:00 AM UTC',
      'kernel-5.14.0-90.el9.x86_64  Sun 01 Nov 2026 10:00:00 AM UTC',
    ),
    'reboot_required',
  ],
  [
    'the kernel of another flavour',
    lines(
      'running: 5.15.0-9.el8uek.x86_64',
      'kernel-4.18.0-99.el8.x86_64  Sun 01 Nov 2026 10:00:00 AM UTC',
      'kernel-uek-5.15.0-9.el8uek.x86_64  Sun 01 Mar 2026 10:00:00 AM UTC',
    ),
    'no_restart_needed',
  ],
  [
    'a kernel that its package names differently',
    lines('running: 5.3.18-59.5-default', 'kernel-default-5.3.18-59.5.2.x86_64  Sun 01 Nov 2026 10:00:00 AM UTC'),
    'no_restart_needed',
  ],
  // distributions
  ['a distribution out of support', lines('ID=ubuntu', 'VERSION_ID="18.04"', nothing), 'end_of_life', 'ubuntu 18.04'],
  ['a distribution in support', lines('ID=debian', 'VERSION_ID="13"', nothing), 'up_to_date'],
  [
    'a distribution by the name that people read',
    lines('CentOS Linux release 7.9.2009 (Core)', nothing),
    'end_of_life',
    'centos 7',
  ],
  // metrics
  [
    'metrics',
    lines(
      'apt_upgrades_pending{origin="Debian:bookworm-security"} 2',
      'node_reboot_required 0',
      'apt_package_cache_timestamp_seconds 1.7643e+09',
    ),
    'security_updates',
  ],
];

describe('a host is judged by what its tools print', () => {
  test.each(CASES)('%s', async (_, output, verdict, reason) => {
    const { subjects } = await run(output);
    expect(subjects.map((subject) => [subject.key, subject.verdict])).toEqual([['web1', verdict]]);
    if (reason !== undefined) expect(subjects[0]?.reason).toContain(reason);
  });
});

describe('records of collectors', () => {
  const record = (parts: object) => JSON.stringify({ host: 'db1', collected_at: NOW, ...parts });

  test.each<[string, object, string]>([
    ['a fresh index and no update', { lists_mtime: '2026-11-30T06:00:00Z', upgradable: [] }, 'up_to_date'],
    ['an index of half a year', { lists_mtime: '2026-06-01T00:00:00Z', upgradable: [] }, 'declined'],
    ['no word about the index', { upgradable: [] }, 'declined'],
    ['an index from the future', { lists_mtime: '2027-06-01T00:00:00Z', upgradable: [] }, 'declined'],
    ['an index without a zone', { lists_mtime: '2026-11-30T06:00:00', upgradable: [] }, 'declined'],
    ['an index at the epoch', { lists_mtime: '1970-01-01T00:00:00Z', upgradable: [] }, 'declined'],
    ['updates, whatever the index', { upgradable: [{ name: 'vim' }] }, 'updates'],
    ['security updates by a count', { updates: 4, security: 2 }, 'security_updates'],
    ['a reboot', { reboot_required: true, updates: 0, index_age_seconds: 60 }, 'reboot_required'],
    ['a transcript', { stdout: nothing }, 'up_to_date'],
    ['a count that is none', { updates: 'many' }, 'declined'],
    ['nothing that is known', { cpu: 4 }, 'declined'],
  ])('%s', async (_, parts, verdict) => {
    const { subjects } = await run([{ name: 'db1.json', content: record(parts) }]);
    expect(subjects.map((subject) => subject.verdict)).toEqual([verdict]);
  });

  test('one line a host, and a broken one hides none of the others', async () => {
    const content = [
      record({ host: 'a', updates: 1 }),
      '{"host":"b","updates":',
      record({ host: 'c', updates: 0, index_age_seconds: 5 }),
    ];
    const { verdicts } = await run([
      { name: 'all.ndjson', content: [content[0], '{"host": 5}', content[2]].join('\n') },
    ]);
    expect(verdicts).toEqual({ 'all.ndjson item 2': 'declined', a: 'updates', c: 'up_to_date' });
  });

  test('states of packages as jc lists them', async () => {
    const { verdicts } = await run([
      {
        name: 'web1.json',
        content: JSON.stringify([
          { codes: 'ii', name: 'bash' },
          { codes: 'iU', name: 'vim' },
        ]),
      },
    ]);
    expect(verdicts).toEqual({ web1: 'broken_packages' });
  });
});

describe('many hosts', () => {
  test('in one output of Ansible, where one was not reached', async () => {
    const content = lines(
      'web1 | CHANGED | rc=0 >>',
      nothing,
      'web2 | UNREACHABLE! => {',
      '}',
      'web3 | CHANGED | rc=0 >>',
      inst('vim'),
    );
    const { verdicts } = await run([{ name: 'fleet.txt', content: content.replace('=> {\n}', '=>') }]);
    expect(verdicts).toEqual({ 'fleet.txt web2': 'declined', web1: 'up_to_date', web3: 'updates' });
  });

  test('several outputs of one host are one row, in which the worst counts', async () => {
    const { subjects } = await run([
      { name: 'apt.txt', content: lines(nothing), target: 'web1' },
      { name: 'needrestart.txt', content: lines('NEEDRESTART-VER: 3.6', 'NEEDRESTART-KSTA: 3'), target: 'web1' },
    ]);
    expect(subjects).toHaveLength(1);
    expect(subjects[0]).toMatchObject({ key: 'web1', verdict: 'reboot_required', columns: { updates: 0 } });
  });

  test('a file that is not there, or empty, hides none of the others', async () => {
    const { verdicts } = await run([
      { name: 'a.txt', content: '' },
      { name: 'b.txt', content: nothing },
    ]);
    expect(verdicts).toEqual({ 'a.txt': 'declined', b: 'up_to_date' });
  });

  test('what was expected and did not come, and what is too old, is not checked by name', async () => {
    const { subjects } = await run([{ name: 'a.txt', content: nothing, taken_at: '2026-11-01T00:00:00Z' }], {
      expected: ['a', 'b'],
      max_evidence_age: 86_400,
    });
    expect(subjects.map(({ key, reasonCode }) => [key, reasonCode])).toEqual([
      ['a', 'evidence_too_old'],
      ['b', 'expected_missing'],
    ]);
  });
});

test('what a run sets is what its rules compare with', async () => {
  const three = lines(inst('a1'), inst('b1'), inst('c1'));
  expect((await run(three, { other_updates_allowed: 3 })).verdicts).toEqual({ web1: 'up_to_date' });
  expect((await run(lines(nothing), { require_index_age: true })).verdicts).toEqual({ web1: 'declined' });
});

test("the page's example is what the rules give", async () => {
  const page = await readFile(new URL('../../../docs/runbooks/host_patch_posture.md', import.meta.url), 'utf8');
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { subjects } = await run(
    lines(
      inst('vim'),
      inst('openssl', 'Debian-Security:13/stable-security'),
      'NEEDRESTART-VER: 3.6',
      'NEEDRESTART-KSTA: 3',
    ),
  );
  const { key, verdict, standing, reason, columns } = subjects[0]!;
  expect({ subject: key, verdict, standing, reason, ...columns }).toEqual(example);
});

test('what nobody told is named as not checked', async () => {
  const { coverage } = await run(lines(nothing));
  expect(JSON.stringify(coverage.not_checked)).toContain('the age of the package index of 1 of 1 hosts');
});

test('bytes changed anywhere end in an answer, and text that is not understood is never ok', async () => {
  const bytes = CASES.map(([, output]) => Buffer.from(output));
  const change = fc.tuple(fc.nat(), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...bytes), fc.array(change, { maxLength: 4 }), async (source, changes) => {
      const content = Uint8Array.from(source);
      for (const [at, byte] of changes) content[at % content.length] = byte;
      const { subjects } = await run([{ name: 'web1.txt', content }]);
      for (const subject of subjects) expect(subject.reason).toMatch(/\S/);
    }),
    { seed: 20_261_130, numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 400 }), async (content) => {
      const { subjects } = await run([{ name: 'web1.txt', content }]);
      expect(subjects.map(({ standing }) => standing)).not.toContain('ok');
    }),
    { seed: 20_261_130, numRuns: 300 },
  );
});
