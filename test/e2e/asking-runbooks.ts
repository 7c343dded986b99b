/**
 * Runbooks that ask a person, loaded by their processes through MUSTER_RUNBOOKS.
 *
 * Their tools write each call of a run into a file of its own in MUSTER_TEST_SIGNALS. MUSTER_TEST_HOLD (`act`, or `assess`) names a place that
 * writes a file of that name there and waits to be stopped. MUSTER_TEST_NOTE is what the first leg reads and hides.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { absent, coverage, defineRunbook, defineTool } from '@muster/envelope';
import { decide, flowChart, interrupt } from 'footprintjs';
import { z } from 'zod';

const rules = { name: 'restart-rules', version: '1' };
const LIST = [{ when: { load: { gt: 90 } }, then: 'restart', label: 'its load is over 90' }] as const;
const OTHERWISE = { branch: 'leave', label: 'its load is not over 90' };
const verdicts = { decider: 'Judge', standings: { restart: 'problem', leave: 'ok' } } as const;
const base = {
  version: '1.0.0',
  rules,
  verdicts,
  redact: { keys: ['token'] as string[] },
  input: z.strictObject({ cluster: z.string() }),
  answers: { role: 'runner', self: true, withinMs: 60_000 },
} as const;

interface Restart extends Record<string, unknown> {
  hosts: string[];
  token: string;
  load: number;
  approved: boolean;
  verdicts: object[];
}

/** Reads hosts and a token, judges, asks, and restarts with the token. */
const restartHosts = defineRunbook({
  ...base,
  name: 'restart_hosts',
  description: 'Restarts hosts when somebody says so.',
  resultKind: 'verdict/restart',
  composedOf: ['read_hosts', 'restart'],
  resume: z.strictObject({ approved: z.boolean() }),
  procedure: (tools) =>
    flowChart<Restart>(
      'Read',
      async (scope) => {
        const { result } = (await tools.call('read_hosts', scope.$getArgs())) as {
          result: { hosts: string[]; token: string };
        };
        scope.hosts = result.hosts;
        scope.token = result.token;
        scope.load = 95;
      },
      'read',
    )
      .addDeciderFunction('Judge', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'judge')
      .addFunctionBranch('restart', 'restart', () => undefined)
      .addFunctionBranch('leave', 'leave', () => undefined)
      .end()
      .addFunction(
        'Ask',
        (scope) => {
          const { hosts, token } = scope;
          const question = { question: `Restart ${hosts.length} hosts?`, hosts: [...hosts], token };
          scope.approved = interrupt<{ approved: boolean }>(scope as never, question as never).approved;
        },
        'ask',
      )
      .addFunction(
        'Act',
        async (scope) => {
          await holdAt('act', scope.$getEnv().signal);
          const { cluster } = scope.$getArgs<{ cluster: string }>();
          const { hosts, token, approved } = scope;
          if (approved) await tools.call('restart', { cluster, token });
          scope.verdicts = hosts.map((subject) => ({ subject, verdict: 'restart', reason: `in ${cluster}` }));
        },
        'act',
      )
      .build(),
});

/** A fleet of the same hosts that asks before it looks at any. */
const askedFleet = defineRunbook<{ readonly name: string; readonly token: string }>({
  ...base,
  name: 'asked_fleet',
  description: 'Looks at hosts when somebody says so.',
  resultKind: 'verdict/host',
  composedOf: ['read_hosts', 'look'],
  limits: { chunkSize: 1 },
  fleet: {
    plan: (tools, subjects) =>
      flowChart(
        'Plan',
        async (scope) => {
          const { result } = (await tools.call('read_hosts', {})) as { result: { hosts: string[]; token: string } };
          await subjects.add(result.hosts.map((name) => ({ name, token: result.token })));
          void scope;
        },
        'plan',
      ).build(),
    approve: ({ subjects }) => ({ question: `Look at ${subjects} hosts?` }),
    key: (host) => host.name,
    assess: (tools) =>
      flowChart<{ load: number }>(
        'Look',
        async (scope) => {
          await holdAt('assess', scope.$getEnv().signal);
          await tools.call('look', {});
          scope.load = 95;
        },
        'look',
      )
        .addDeciderFunction('Judge', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'judge')
        .addFunctionBranch('restart', 'restart', () => undefined)
        .addFunctionBranch('leave', 'leave', () => undefined)
        .end()
        .build(),
    row: (state) => ({ load: state.load }),
  },
});

async function holdAt(place: string, signal: AbortSignal | undefined): Promise<void> {
  const { MUSTER_TEST_HOLD: held, MUSTER_TEST_SIGNALS: folder } = process.env;
  if (held !== place || folder === undefined) return;
  writeFileSync(join(folder, place), '');
  await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}

function note(runId: string | undefined, call: string): void {
  appendFileSync(join(process.env.MUSTER_TEST_SIGNALS as string, `calls of ${runId}`), `${call}\n`);
}

export const tools = [
  defineTool({
    name: 'read_hosts',
    description: 'Reads the hosts and the token for them.',
    execute: (_args, { runId }) => {
      note(runId, 'read_hosts');
      const found = { hosts: ['a', 'b', 'c'], token: process.env.MUSTER_TEST_NOTE ?? 'none' };
      return coverage(found, { checked: ['the inventory'], cannotCover: [{ what: 'lent hosts', why: 'not ours' }] });
    },
  }),
  defineTool({
    name: 'restart',
    description: 'Restarts the hosts.',
    execute: (args, { runId }) => {
      const { cluster, token } = args as { cluster: string; token: string };
      const isSame = token === process.env.MUSTER_TEST_NOTE;
      note(runId, `restart ${cluster} with ${isSame ? 'the token' : 'another token'}`);
      if (!isSame) return absent({ what: 'a token', checked: ['the checkpoint'] });
      return coverage({}, { checked: ['the restart'], notChecked: [{ what: 'if they came up', why: 'nobody waits' }] });
    },
  }),
  defineTool({
    name: 'look',
    description: 'Looks at a host.',
    execute: (_args, { runId }) => {
      note(runId, 'look');
      return {};
    },
  }),
];

export const runbooks = [restartHosts, askedFleet];
