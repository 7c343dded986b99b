import { join } from 'node:path';
import { identifyProcess } from '@muster/embedded';
import { expect, test } from 'vitest';
import { spawnService, waitFor } from '../src/index.ts';

const chatty = join(import.meta.dirname, 'programs', 'chatty.ts');
const isPid = (message: unknown) => typeof (message as { pid?: number }).pid === 'number';

test('a spawned service gets its arguments and environment, and nothing of the test runner', async () => {
  const service = spawnService(chatty, { args: ['to'], env: { MUSTER_GREETING: 'you' } });
  expect(await service.ready(/^greeting/)).toBe('greeting to you alone');
  await service.kill('SIGKILL');
});

test('ready sees what came before it was asked, by line and by message', async () => {
  const service = spawnService(chatty);
  expect(await service.ready(isPid)).toEqual({ pid: service.pid });
  service.send({ hello: 1 });
  service.write('words\n');
  await Promise.all([service.ready(/^heard \{"hello":1\}$/), service.ready(/^read words$/)]);
  expect(await service.ready(isPid)).toEqual({ pid: service.pid });
  await service.kill('SIGKILL');
});

test('the end is told with code and signal', async () => {
  const [polite, killed] = [spawnService(chatty), spawnService(chatty)];
  await Promise.all([polite.ready(isPid), killed.ready(isPid)]);
  expect(await polite.kill()).toEqual({ code: 7, signal: null });
  expect(await killed.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
});

test('ready fails with the last lines when the process ends without saying the word', async () => {
  const service = spawnService(chatty, { args: ['early'] });
  await service.ready(isPid);
  const waiting = service.ready(/never said/);
  await Promise.all([expect(waiting).rejects.toThrow(/ended \(code 7.*greeting early/s), service.kill()]);
});

test('a watched child does not outlive a parent that was killed', async () => {
  const parent = spawnService(join(import.meta.dirname, 'programs', 'parent.ts'));
  const { child } = (await parent.ready((message) => message !== null)) as { child: number };
  expect(identifyProcess(child)).toBeDefined();
  await parent.kill('SIGKILL');
  await waitFor(
    () => identifyProcess(child) ?? null,
    (seen) => seen === null,
    { what: 'the end of the child' },
  );
});
