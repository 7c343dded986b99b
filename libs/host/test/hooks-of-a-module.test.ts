/** Hooks of a module of runbooks: what can be known to be wrong with one is told at the start, in one line. */
import { defineRunbook, type ResolveCredential, sealCredential } from '@muster/envelope';
import { defineHook, type HookDeclaration } from '@muster/hooks';
import { flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findHooksFault, isHook } from '../src/check-hooks.ts';
import { ConfigError, checkHookSecrets, readHookSecrets } from '../src/index.ts';

const runbook = defineRunbook({
  name: 'disk_look',
  version: '2.0.0',
  description: 'Looks at a disk.',
  resultKind: 'verdict/disk-look',
  rules: { name: 'disk-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({
    host: z.string(),
    port: z.number().int().optional(),
    mode: z.enum(['quick', 'whole']).optional(),
    tags: z.array(z.string()).optional(),
    place: z.strictObject({ room: z.string() }).optional(),
    more: z.record(z.string(), z.string()).optional(),
  }),
  procedure: () => flowChart('Start', () => undefined, 'start').build(),
});
const runbooks = new Map([[runbook.name, runbook]]);

const hookOf = (over: Partial<HookDeclaration> = {}) =>
  defineHook({
    name: 'disks',
    format: 'alertmanager',
    runbook: 'disk_look',
    scheme: 'bearer',
    secrets: [{ credential: 'alertmanager' }],
    input: { host: { from: 'labels.host' } },
    ...over,
  });
const faultOf = (over: Partial<HookDeclaration>) => findHooksFault([hookOf(over)], runbooks);

describe('a hook that fits its runbook is taken', () => {
  test.each<[string, HookDeclaration['input']]>([
    ['only what is needed', {}],
    ['a number of a label', { port: { from: 'labels.port', as: 'number' } }],
    ['a pick that may be anything', { port: { from: 'facts.port' } }],
    ['a word that the schema lists', { mode: 'quick' }],
    ['a list of picks', { tags: ['a', { from: 'labels.team' }] }],
    ['an object', { place: { room: { from: 'labels.room', default: 'none' } } }],
    ['names that the schema leaves open', { more: { team: { from: 'labels.team', required: false } } }],
  ])('%s', (_what, input) => {
    expect(faultOf({ input: { host: { from: 'labels.host' }, ...input } })).toBeUndefined();
  });

  test('in the version that is here', () => {
    expect(faultOf({ version: '2.0.0' })).toBeUndefined();
  });
});

describe('a hook that could only ever be skipped is refused', () => {
  const host = { from: 'labels.host' };
  test.each<[Partial<HookDeclaration>, string]>([
    [{ runbook: 'tape_look' }, "starts the runbook 'tape_look', which is not there"],
    [{ version: '1.0.0' }, "stays with version 1.0.0 of 'disk_look', which is here in version 2.0.0"],
    [
      { secrets: [{ credential: 'a/b' }] },
      "has the secret 'a/b', which has no place, and its name cannot stand for one",
    ],
    [{ input: {} }, "does not fit 'disk_look': it needs input.host"],
    [{ input: { host: { ...host, required: false } } }, 'it needs input.host, which this hook may leave out'],
    [{ input: { host, hots: 'x' } }, 'it has no field input.hots'],
    [{ input: { host: 7 } }, 'input.host must be string, and is integer'],
    [
      { input: { host, port: { from: 'labels.port' } } },
      'input.port must be integer, and the hook picks a string there',
    ],
    [{ input: { host, port: 1.5 } }, 'input.port must be integer, and is number'],
    [{ input: { host, mode: 'slow' } }, 'input.mode must be one of quick, whole'],
    [
      { input: { host, mode: { from: 'labels.mode', default: 'slow' } } },
      'input.mode.default must be one of quick, whole',
    ],
    [{ input: { host, tags: 'a' } }, 'input.tags must be array, and is string'],
    [{ input: { host, tags: [1] } }, 'input.tags.0 must be string, and is integer'],
    [{ input: { host, place: {} } }, 'it needs input.place.room'],
    [{ input: { host, more: { team: 1 } } }, 'input.more.team must be string, and is integer'],
    [{ input: { host, place: { literal: 'x' } } }, 'input.place must be object, and is string'],
  ])('%j', (over, said) => {
    const fault = faultOf(over);
    expect(fault).toMatch(/^the hook 'disks' /);
    expect(fault).toContain(said);
  });

  test('and so is a second one of its name', () => {
    expect(findHooksFault([hookOf(), hookOf({ tenant: 'other' })], runbooks)).toBe("two hooks are named 'disks'");
  });

  test('and what nobody defined', () => {
    expect([hookOf(), { name: 'disks' }, null, { ...hookOf() }].map((one) => isHook(one as never))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('the secrets of a hook', () => {
  const secrets = ['new', 'old', 'gone', 'locked'].map((credential) => ({ credential }));
  const values: Record<string, string> = { new: 'n-secret', old: 'o-secret', blank: ' ' };
  const resolve: ResolveCredential = (need) => {
    if (need.credential === 'locked') throw new Error('o-secret is somewhere else');
    const value = values[need.credential];
    return value === undefined ? undefined : sealCredential(need.credential, value);
  };

  test('are all that can be had, whatever the others come to', async () => {
    expect(await readHookSecrets(hookOf({ secrets }), resolve)).toEqual(['n-secret', 'o-secret']);
    await expect(checkHookSecrets([hookOf({ secrets })], resolve)).resolves.toBeUndefined();
  });

  test.each([
    ['gone', 'none of them can be had'],
    ['locked', 'none of them can be had'],
    ['blank', 'it is empty'],
  ])('that cannot check anything are told at the start by name: %s', async (credential, why) => {
    const error = await checkHookSecrets([hookOf({ secrets: [{ credential }] })], resolve).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).toBe(
      `MUSTER_RUNBOOKS: the hook 'disks' has no secret that can check (${credential}): ${why}`,
    );
  });
});
