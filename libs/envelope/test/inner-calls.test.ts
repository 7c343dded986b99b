import { describe, expect, test } from 'vitest';
import {
  absent,
  type CredentialNeed,
  coverage,
  defineTool,
  dispatchTools,
  probeDispatch,
  RunbookAbsenceSignal,
  type RunbookEnvelope,
  recordingDispatch,
  runbookAsTool,
  sealCredential,
  type Tool,
  type ToolContext,
  type ToolDispatch,
} from '../src/index.ts';
import { answer, CALL, does, thrownBy, toolsThat, writes } from './procedures.ts';

const nothing = absent({ what: 'rows', checked: ['the store'], tryInstead: 'another store' });

describe('a recorded dispatch', () => {
  test('gives the result exactly as the tool returned it, and writes the call down', async () => {
    const result = { any: ['thing'] };
    const { tools, records } = recordingDispatch(toolsThat({ source: result }), 'check');
    expect(await tools.call('source', {})).toBe(result);
    expect(records).toEqual([{ tool: 'source', outcome: 'ok', result }]);
  });

  test('passes arguments and options on, and asks the delivered dispatch what there is', async () => {
    const seen: unknown[] = [];
    const delivered: ToolDispatch = { has: (name) => name === 'source', call: async (...all) => seen.push(all) };
    const { tools } = recordingDispatch(delivered, 'check');
    const signal = new AbortController().signal;
    await tools.call('source', { a: 1 }, { signal });
    expect(seen).toEqual([['source', { a: 1 }, { signal }]]);
    expect([tools.has('source'), tools.has('other')]).toEqual([true, false]);
  });

  test('an absence ends the run and is recorded', async () => {
    const { tools, records } = recordingDispatch(toolsThat({ source: nothing }), 'check');
    const thrown = await tools.call('source').catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(RunbookAbsenceSignal);
    expect((thrown as RunbookAbsenceSignal).absence).toBe(nothing);
    expect(records).toEqual([{ tool: 'source', outcome: 'absent', result: nothing }]);
  });

  test('an absence that the call allows comes back as it is, and is recorded as one', async () => {
    const { tools, records } = recordingDispatch(toolsThat({ source: nothing }), 'check');
    expect(await tools.call('source', {}, { allowAbsent: true })).toBe(nothing);
    expect(records).toEqual([{ tool: 'source', outcome: 'absent', result: nothing }]);
  });

  test('an absence inside a wrapped error counts as an absence', async () => {
    const failing = () => {
      throw new Error('wrapped', { cause: new RunbookAbsenceSignal(nothing, 'deeper') });
    };
    const { tools, records } = recordingDispatch(toolsThat({ source: failing }), 'check');
    expect(await tools.call('source', {}, { allowAbsent: true })).toBe(nothing);
    await expect(tools.call('source')).rejects.toThrow('wrapped');
    expect(records.map(({ outcome }) => outcome)).toEqual(['absent', 'absent']);
  });

  test('an error is recorded without what it said, and thrown as it is', async () => {
    const error = new Error('secret');
    const { tools, records } = recordingDispatch(
      toolsThat({
        source: () => {
          throw error;
        },
      }),
      'check',
    );
    await expect(tools.call('source')).rejects.toBe(error);
    expect(records).toEqual([{ tool: 'source', outcome: 'error' }]);
  });

  test('without delivered tools every call refuses by name', async () => {
    const { tools, records } = recordingDispatch(undefined, 'check');
    expect(tools.has('source')).toBe(false);
    await expect(tools.call('source')).rejects.toThrow(
      /'check' called the tool 'source', but no dispatch was delivered/,
    );
    expect(records).toEqual([{ tool: 'source', outcome: 'error' }]);
  });

  test('the probe has no tools, and a call of it refuses and says why', () => {
    const probe = probeDispatch('check');
    expect(probe.has('source')).toBe(false);
    expect(() => probe.call('source')).toThrow(/'check' called the tool 'source' while it was being defined/);
  });
});

describe('an absence of an inner tool', () => {
  const procedure = (options?: { allowAbsent: boolean }) => (tools: ToolDispatch) =>
    does(async (scope) => {
      scope.report = { seen: await tools.call('source', {}, options) };
    });

  test('is the answer, verbatim', async () => {
    const envelope: unknown = await answer({ procedure: procedure() }, { tools: toolsThat({ source: nothing }) });
    expect(envelope).toBe(nothing);
  });

  test('is the answer with the coverage that its tool put around it', async () => {
    const both = coverage(nothing, { notChecked: ['the archive'] });
    const envelope: unknown = await answer({ procedure: procedure() }, { tools: toolsThat({ source: both }) });
    expect(envelope).toBe(both);
  });

  test('is the answer when a stage wrapped it in errors of its own', async () => {
    const wrapping = (tools: ToolDispatch) =>
      does(async () => {
        await tools.call('source').catch((cause: unknown) => {
          throw new Error('cannot read the source', { cause });
        });
      });
    const envelope: unknown = await answer({ procedure: wrapping }, { tools: toolsThat({ source: nothing }) });
    expect(envelope).toBe(nothing);
  });

  test('that is allowed reaches the stage, and what it declares folds into the ledger', async () => {
    const envelope = await answer(
      { procedure: procedure({ allowAbsent: true }) },
      { tools: toolsThat({ source: nothing }) },
    );
    expect(envelope.result.seen).toMatchObject({ af_absent: true });
    expect(envelope.af_coverage.checked?.[0]).toEqual({ what: 'the store' });
  });
});

describe('the dispatch over registered tools', () => {
  const echo = defineTool({ name: 'echo', description: 'Gives its context.', execute: (_, context) => context });
  const call = async (tool: Tool, outer: object = {}, options = {}) =>
    (await dispatchTools([tool], { toolCallId: 'c1', ...outer }).call(tool.name, {}, options)) as ToolContext;

  test('inner calls run without artifacts and tools, under call ids of their own', async () => {
    const tools = dispatchTools([echo], { toolCallId: 'c1', runId: 'r1' });
    const contexts = [await tools.call('echo'), await tools.call('echo')] as ToolContext[];
    expect(contexts.map(({ toolCallId }) => toolCallId)).toEqual(['c1#inner-1', 'c1#inner-2']);
    for (const context of contexts) {
      expect(context.hasArtifacts).toBe(false);
      expect(Object.keys(context)).toEqual(['toolCallId', 'runId', 'hasArtifacts']);
    }
  });

  test("the call's own signal goes before the run's", async () => {
    const outer = new AbortController().signal;
    const own = new AbortController().signal;
    expect((await call(echo, { signal: outer })).signal).toBe(outer);
    expect((await call(echo, { signal: outer }, { signal: own })).signal).toBe(own);
  });

  test('the target of a call reaches its tool', async () => {
    expect((await call(echo, {}, { target: 'cluster-a' })).target).toBe('cluster-a');
    expect(Object.keys(await call(echo))).not.toContain('target');
  });

  test('what a tool without credentials throws is thrown as it is', async () => {
    const error = new Error('down');
    const failing = defineTool({ name: 'failing', description: 'd', execute: () => Promise.reject(error) });
    await expect(call(failing)).rejects.toBe(error);
  });

  test('arguments are passed as they are, and are an empty object when there are none', async () => {
    const given = defineTool<unknown>({ name: 'given', description: 'd', execute: (args) => args });
    const tools = dispatchTools([given as Tool], { toolCallId: 'c1' });
    expect(await tools.call('given')).toEqual({});
    expect(await tools.call('given', 'text')).toBe('text');
  });

  test('a tool that is not registered is refused by name', async () => {
    const tools = dispatchTools([echo], { toolCallId: 'c1' });
    expect([tools.has('echo'), tools.has('other')]).toEqual([true, false]);
    await expect(tools.call('other')).rejects.toMatchObject({ code: 'tool_unknown', tool: 'other' });
    await expect(tools.call('other')).rejects.toThrow("the tool 'other' is not registered");
  });

  test.each<[string, Partial<Tool>, string, RegExp]>([
    ['that checks in with a person', { checkIn: 'always' }, 'tool_needs_human', /'asking' asks a person/],
    ['whose check-in is a predicate', { checkIn: () => false }, 'tool_needs_human', /asks a person/],
    [
      'whose credential needs consent',
      { needs: { credential: 'mail', mode: 'user' } },
      'tool_needs_human',
      /'mail' with a person's consent/,
    ],
    ['that wants artifacts', { wants: { rows: 'dataset/rows' } }, 'tool_wants_artifacts', /wants artifacts/],
  ])('a tool %s refuses by name', async (_, declared, code, message) => {
    let ran = false;
    const asking = defineTool({
      name: 'asking',
      description: 'd',
      execute: () => {
        ran = true;
      },
      ...declared,
    } as Tool);
    const failed = await call(asking, { resolveCredential: () => sealCredential('mail', 'x') }).catch((error) => error);
    expect(failed).toMatchObject({ code, tool: 'asking' });
    expect(failed.message).toMatch(message);
    expect(ran).toBe(false);
  });

  test('an inner runbook answers without tickets of its own', async () => {
    const inner = runbookAsTool({ name: 'inner', description: 'd', procedure: writes({ a: 1 }) });
    const envelope = (await dispatchTools([inner], CALL).call('inner')) as RunbookEnvelope;
    expect(envelope.result.walk.ref).toBeUndefined();
    expect(envelope.result.af_provenance).toEqual({ tool: 'inner', toolCallId: 'c1#inner-1' });
  });
});

describe('declared needs', () => {
  const SECRET = 's3cr3t-value';
  const needing = (needs: CredentialNeed | CredentialNeed[], execute: Tool['execute'] = (_, context) => context) =>
    defineTool({ name: 'needing', description: 'd', needs, execute });
  const kube: CredentialNeed = { credential: 'kube', from: { env: 'KUBE_TOKEN' } };
  const resolving = (tool: Tool, resolveCredential?: unknown, options = {}) =>
    dispatchTools([tool], {
      toolCallId: 'c1',
      ...(resolveCredential !== undefined && { resolveCredential }),
    } as never).call('needing', {}, options);

  test('are resolved before the tool runs, for its target, and reach it alone', async () => {
    const asked: unknown[] = [];
    const tool = needing({ ...kube, perTarget: true }, (_, context) => context.credential?.reveal());
    const revealed = await resolving(
      tool,
      (...request: unknown[]) => {
        asked.push(request);
        return sealCredential('kube', SECRET);
      },
      { target: 'cluster-a' },
    );
    expect(revealed).toBe(SECRET);
    expect(asked).toEqual([
      [
        { ...kube, perTarget: true },
        { tool: 'needing', target: 'cluster-a', signal: undefined },
      ],
    ]);
  });

  test('of several credentials each is found by its name, and none stands alone', async () => {
    const context = (await resolving(needing([kube, { credential: 'mail' }]), (need: CredentialNeed) =>
      sealCredential(need.credential, SECRET),
    )) as ToolContext;
    expect(Object.keys(context.credentials ?? {})).toEqual(['kube', 'mail']);
    expect(context.credential).toBeUndefined();
  });

  test.each<[string, CredentialNeed, unknown, object, RegExp]>([
    [
      'when the run resolves none',
      kube,
      undefined,
      {},
      /'kube' \(environment variable KUBE_TOKEN\), but this run resolves/,
    ],
    ['when it is not there', kube, () => undefined, {}, /which is not there/],
    ['when it is not there for a target', kube, () => undefined, { target: 'a' }, /not there for the target 'a'/],
    [
      'when resolving fails',
      kube,
      () => {
        throw Object.assign(new Error(SECRET), { code: 'ENOENT' });
      },
      {},
      /could not be resolved: Error \(ENOENT\)$/,
    ],
    [
      'without a target it differs by',
      { ...kube, perTarget: true },
      () => sealCredential('kube', SECRET),
      {},
      /no target/,
    ],
    ['from a file', { credential: 'k', from: { file: '/run/secret' } }, () => undefined, {}, /'k' \(a file\)/],
    [
      'from a command',
      { credential: 'k', from: { command: ['vault', SECRET] } },
      () => undefined,
      {},
      /'k' \(a command\)/,
    ],
    ['of which only the name is known', { credential: 'k' }, () => undefined, {}, /the credential 'k', which/],
  ])('fail closed %s, with the name of what is missing', async (_, need, resolve, options, message) => {
    let ran = false;
    const tool = needing(need, () => {
      ran = true;
    });
    const failed = await resolving(tool, resolve, options).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'ToolRefusedError', code: 'tool_needs_unresolved', tool: 'needing' });
    expect((failed as Error).message).toMatch(message);
    expect((failed as Error).message).not.toContain(SECRET);
    expect(ran).toBe(false);
  });

  test('never get into the error of the tool that held them', async () => {
    const tool = needing(kube, (_, context) => {
      throw Object.assign(new Error(`401 for ${context.credential?.reveal()}`), { code: 'E401' });
    });
    const failed = (await resolving(tool, () => sealCredential('kube', SECRET)).catch((error) => error)) as Error;
    expect(failed).toMatchObject({ name: 'ToolFailedError', code: 'tool_failed' });
    expect(failed.message).toBe("the tool 'needing' failed: Error (E401)");
    expect(failed.cause).toBeUndefined();
    expect(failed.stack).not.toContain(SECRET);
  });

  test('never get into it by its code or name either', async () => {
    const token = 'Tok3nWithoutMarks';
    const tool = needing(kube, (_, context) => {
      throw Object.assign(new Error('refused'), { code: context.credential?.reveal() });
    });
    const failed = (await resolving(tool, () => sealCredential('kube', token)).catch((error) => error)) as Error;
    expect(failed.message).toBe("the tool 'needing' failed: Error");
  });

  test('leave absences and aborts as they are', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    controller.abort(reason);
    const aborted = needing(kube, (_, context) => context.signal?.throwIfAborted());
    const resolve = () => sealCredential('kube', SECRET);
    await expect(resolving(aborted, resolve, { signal: controller.signal })).rejects.toBe(reason);
    const telling = needing(kube, (_, context) => {
      throw new Error(`stopped with ${context.credential?.reveal()}`);
    });
    await expect(resolving(telling, resolve, { signal: controller.signal })).rejects.toThrow(
      /^the tool 'needing' failed: Error$/,
    );
    const signal = new RunbookAbsenceSignal(nothing, 'deeper');
    const absentTool = needing(kube, () => {
      throw signal;
    });
    await expect(resolving(absentTool, resolve)).rejects.toBe(signal);
  });

  test('a sealed credential shows its name alone, however it is printed', async () => {
    const { inspect } = await import('node:util');
    const credential = sealCredential('kube', SECRET);
    const printed = [JSON.stringify({ credential }), String(credential), inspect(credential), `${credential}`];
    for (const text of printed) expect(text).toContain('[credential kube]');
    expect(JSON.stringify({ ...credential })).toBe('{"name":"kube"}');
    expect(printed.join()).not.toContain(SECRET);
    expect(credential.reveal()).toBe(SECRET);
    expect(thrownBy(() => Object.assign(credential, { reveal: () => 'other' }))).toBeInstanceOf(TypeError);
  });
});
