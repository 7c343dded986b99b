import type { Config } from '@muster/host/config';
import type { RunbookView } from '../api-client.ts';
import { connect } from '../connect.ts';
import { EXIT } from '../exit-codes.ts';
import { print } from '../output/print.ts';

/** JSON Schema of one input field, as far as a person wants to know it. */
interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** `muster runbooks`: what can be run: of the configured API, else of this installation. */
export async function runbooksCommand(config: Config, options: { readonly json?: boolean }): Promise<number> {
  const runbooks = config.apiUrl === undefined ? await ownRunbooks(config) : await remoteRunbooks(config);
  if (options.json) {
    for (const runbook of runbooks) await print(JSON.stringify(runbook));
  } else {
    await print(runbooks.map(describe).join('\n\n'));
  }
  return EXIT.ok;
}

async function remoteRunbooks(config: Config): Promise<readonly RunbookView[]> {
  return (await (await connect(config)).listRunbooks()).runbooks;
}

async function ownRunbooks(config: Config): Promise<readonly RunbookView[]> {
  const { loadCatalog } = await import('@muster/host/catalog');
  const { inputSchemaOf } = await import('../input-schema.ts');
  const { byName } = await loadCatalog(config);
  return [...byName.values()].map(({ runbook }) => ({
    name: runbook.name,
    version: runbook.version,
    description: runbook.description,
    verdicts: { ...runbook.verdicts.standings },
    input_schema: inputSchemaOf(runbook),
  }));
}

function describe({ name, version, description, verdicts, input_schema }: RunbookView): string {
  const { properties = {}, required = [] } = input_schema as {
    properties?: Record<string, FieldSchema>;
    required?: string[];
  };
  const words = (standing: string) => Object.keys(verdicts).filter((verdict) => verdicts[verdict] === standing);
  const fields = Object.entries(properties);
  const width = Math.max(0, ...fields.map(([field]) => field.length));
  return [
    `${name} ${version}`,
    `  ${description}`,
    ...['problem', 'declined', 'ok'].flatMap((standing) =>
      words(standing).length === 0 ? [] : [`  ${standing}: ${words(standing).join(', ')}`],
    ),
    fields.length === 0 ? '  input: none' : '  input:',
    ...fields.map(([field, schema]) => `    ${field.padEnd(width)}  ${fieldText(field, schema, required)}`),
  ].join('\n');
}

function fieldText(field: string, schema: FieldSchema, required: readonly string[]): string {
  const must = required.includes(field) ? 'required' : 'optional';
  // The command line makes them of the files that are named; their schema is for those who call the API.
  if (field === 'files') return `${must}: the files that are named after the runbook`;
  const kind = schema.enum?.join(' | ') ?? [schema.type ?? 'any'].flat().join(' or ');
  const bounds = [
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER && `to ${schema.maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter((part) => part !== false);
  const facts = [`${must}, ${kind}`, ...(bounds.length > 0 ? [bounds.join(' ')] : [])].join(', ');
  return schema.description === undefined ? facts : `${facts}: ${schema.description}`;
}
