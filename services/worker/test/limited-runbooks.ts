/** Runbooks whose tools ask a target over the network and have limits: a module, because workers load runbooks by path. */
import { type AssessArgs, defineRunbook, defineTool, type RunArgs, type Runbook } from '@muster/envelope';
import { flowChart } from 'footprintjs';
import { z } from 'zod';

interface Host {
  readonly name: string;
  readonly site: string;
  readonly url: string;
}

interface Input {
  readonly url: string;
  readonly sites: readonly string[];
  readonly hosts: number;
}

/** What the tool `ask_limited` declares. */
export const LIMITS = { concurrency: 5, perTarget: { concurrency: 3 } } as const;

function hosts(name: string, tool: string): Runbook {
  return defineRunbook<Host>({
    name,
    version: '1.0.0',
    description: 'Asks hosts that can bear only so much.',
    resultKind: 'verdict/hosts',
    rules: { name: 'hosts', version: '1' },
    verdicts: { decider: 'Answer', standings: { answered: 'ok' } },
    input: z.strictObject({ url: z.string(), sites: z.array(z.string()), hosts: z.number() }),
    limits: { chunkSize: 15, concurrency: 12 },
    composedOf: [tool],
    fleet: {
      plan: (_tools, subjects) =>
        flowChart<Record<string, unknown>>(
          'List',
          async (scope) => {
            const { url, sites, hosts } = scope.$getArgs<RunArgs>().input as unknown as Input;
            const site = (index: number) => sites[index % sites.length] as string;
            await subjects.add(
              Array.from({ length: hosts }, (_, index) => ({ name: `host-${index}`, site: site(index), url })),
            );
          },
          'list',
        ).build(),
      key: (host) => host.name,
      target: (host) => host.site,
      assess: (tools) =>
        flowChart<Record<string, unknown>>(
          'Ask',
          async (scope) => {
            scope.answer = await tools.call(tool, scope.$getArgs<AssessArgs<Host>>().subject);
          },
          'ask',
        )
          .addDeciderFunction('Answer', () => 'answered', 'answer')
          .addFunctionBranch('answered', 'answered', () => undefined)
          .end()
          .build(),
      row: ({ answer }) => ({ answer }),
    },
  });
}

export const runbooks = [hosts('limited_hosts', 'ask_limited'), hosts('unlimited_hosts', 'ask_unlimited')];

async function ask(args: unknown): Promise<string> {
  const { url, site, name } = args as Host;
  const response = await fetch(`${url}/${site}/${name}`);
  if (response.ok) return await response.text();
  throw Object.assign(new Error('the host refused'), { status: response.status, headers: response.headers });
}

export const tools = [
  defineTool({
    name: 'ask_limited',
    description: 'Asks a host, as often as it can bear.',
    limits: LIMITS,
    execute: ask,
  }),
  defineTool({ name: 'ask_unlimited', description: 'Asks a host until it says that it is busy.', execute: ask }),
];
