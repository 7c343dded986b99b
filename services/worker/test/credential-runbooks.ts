/**
 * Runbooks whose tools need credentials: a module, because workers load runbooks by path.
 *
 * Each tool proves by a fingerprint that it held the right value, and one of them lets it out in the ways that happen:
 * in what it throws, with a cause, and printed.
 */
import { createHash } from 'node:crypto';
import {
  type AssessArgs,
  defineRunbook,
  defineTool,
  type RunArgs,
  type Runbook,
  type ToolContext,
  type ToolDispatch,
} from '@muster/envelope';
import { type DecideRule, decide, flowChart } from 'footprintjs';
import { z } from 'zod';

interface Host {
  readonly name: string;
  readonly site: string;
}

interface HostState extends Record<string, unknown> {
  proof: string;
  shown: string;
}

/** Sites of the hosts: `gone` has no credential, and the last one is no name for a file. */
export const SITES = ['north', 'south', 'gone', '../north'];

/** What a tool tells instead of a value. */
export function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 8);
}

const LIST: DecideRule<Record<string, unknown>>[] = [
  { when: { proof: { eq: '' } }, then: 'silent', label: 'no proof' },
];
const OTHERWISE = { branch: 'answered', label: 'it gave a proof' };
const common = {
  version: '1.0.0',
  description: 'Asks hosts that want a credential.',
  resultKind: 'verdict/guarded',
  rules: { name: 'guarded', version: '1', list: LIST, otherwise: OTHERWISE },
  verdicts: { decider: 'Answer', standings: { answered: 'ok', silent: 'problem' } },
  walk: { recording: true },
} as const;
const input = z.strictObject({ sites: z.array(z.string()).default(SITES) });

async function listHosts(tools: ToolDispatch, lister: string, { sites }: { sites?: readonly string[] }) {
  return (await tools.call(lister, { sites })) as Host[];
}

function fleet(name: string, lister: string): Runbook {
  return defineRunbook<Host>({
    ...common,
    name,
    input,
    limits: { chunkSize: 3 },
    composedOf: [lister, 'ask_host'],
    fleet: {
      plan: (tools, subjects) =>
        flowChart<Record<string, unknown>>(
          'List hosts',
          async (scope) => {
            await subjects.add(await listHosts(tools, lister, scope.$getArgs<RunArgs>().input));
          },
          'list-hosts',
        ).build(),
      key: (host) => host.name,
      target: (host) => host.site,
      assess: (tools) =>
        flowChart<HostState>(
          'Ask',
          async (scope) => {
            const { subject } = scope.$getArgs<AssessArgs<Host>>();
            const { proof, shown } = (await tools.call('ask_host', subject)) as HostState;
            scope.proof = proof;
            scope.shown = shown;
          },
          'ask',
        )
          .addDeciderFunction('Answer', (scope) => decide(scope, LIST, OTHERWISE), 'answer')
          .addFunctionBranch('silent', 'silent', () => undefined)
          .addFunctionBranch('answered', 'answered', () => undefined)
          .end()
          .build(),
      row: ({ proof, shown }) => ({ proof, shown }),
    },
  });
}

const guardedList = defineRunbook({
  ...common,
  name: 'guarded_list',
  input,
  composedOf: ['list_hosts', 'ask_host'],
  procedure: (tools) =>
    flowChart<HostState & { verdicts: object[] }>(
      'Ask all',
      async (scope) => {
        const hosts = await listHosts(tools, 'list_hosts', scope.$getArgs());
        const rows: object[] = [];
        for (const host of hosts) {
          const answer = (await tools.call('ask_host', host, { target: host.site })) as HostState;
          rows.push({ subject: host.name, verdict: 'answered', reason: 'it gave a proof', ...answer });
        }
        scope.proof = 'given';
        scope.verdicts = rows;
      },
      'ask-all',
    )
      .addDeciderFunction('Answer', (scope) => decide(scope as never, LIST as never, OTHERWISE), 'answer')
      .addFunctionBranch('silent', 'silent', () => undefined)
      .addFunctionBranch('answered', 'answered', () => undefined)
      .end()
      .build(),
});

export const runbooks = [fleet('guarded_hosts', 'list_hosts'), fleet('locked_plan', 'list_locked_hosts'), guardedList];

/** Two hosts a site; the second one's tool lets go of everything it holds. */
function hostsOf({ sites = SITES }: { sites?: readonly string[] }): Host[] {
  return sites.flatMap((site, index) => ['a', 'b'].map((letter) => ({ name: `host-${index}${letter}`, site })));
}

function askHost(host: Host, { credentials }: ToolContext): HostState {
  const [token = '', signature = ''] = ['host-token', 'signature'].map((name) => credentials?.[name]?.reveal());
  if (host.name === 'host-1b') {
    const thrown = new Error(`401 for ${token}`, { cause: new Error(signature) });
    throw Object.assign(thrown, { request: { headers: { authorization: token } }, code: token });
  }
  return {
    proof: `${fingerprint(token)} ${fingerprint(signature)}`,
    shown: JSON.stringify({ ...credentials, text: String(credentials?.signature) }),
  };
}

export const tools = [
  defineTool({
    name: 'list_hosts',
    description: 'Lists hosts.',
    needs: { credential: 'inventory' },
    execute: (args, { credential }) => {
      if (credential?.reveal() === undefined) throw new Error('no credential');
      return hostsOf(args);
    },
  }),
  defineTool({
    name: 'list_locked_hosts',
    description: 'Lists hosts by a key that nobody has.',
    needs: { credential: 'master-key', from: { env: 'MUSTER_CREDENTIAL_MASTER_KEY' } },
    execute: hostsOf,
  }),
  defineTool({
    name: 'ask_host',
    description: 'Asks a host.',
    needs: [
      { credential: 'host-token', from: { file: 'hosts/{target}' }, perTarget: true },
      { credential: 'signature', from: { command: ['printenv', 'MUSTER_CREDENTIAL_SIGNATURE'] } },
    ],
    execute: (args, context) => askHost(args as unknown as Host, context),
  }),
];
