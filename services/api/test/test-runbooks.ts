import { defineRunbook } from '@muster/envelope';
import type { LoadedCatalog } from '@muster/host';
import { flowChart } from 'footprintjs';
import { z } from 'zod';

const chart = () => flowChart('Start', () => undefined, 'start').build();

/** A fleet whose input names files and an optional note. */
export const fleetCheck = defineRunbook<{ host: string }>({
  name: 'fleet_check',
  version: '1.2.0',
  description: 'Checks every host of a list.',
  resultKind: 'verdict/fleet-check',
  rules: { name: 'fleet-rules', version: '3' },
  verdicts: { decider: 'State', standings: { fine: 'ok', broken: 'problem' } },
  input: z.strictObject({
    files: z.array(z.strictObject({ ref: z.string() })).optional(),
    note: z.string().max(100).optional(),
    limit: z.int().min(1).max(10).optional(),
  }),
  fleet: { plan: chart, key: (subject) => subject.host, assess: chart, row: () => ({}) },
});

/** A procedure that takes anything. */
export const anything = defineRunbook({
  name: 'anything',
  version: '1.0.0',
  description: 'Takes any object.',
  resultKind: 'verdict/anything',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.record(z.string(), z.unknown()),
  procedure: chart,
});

/** A procedure that asks what to do, in words of its own. */
export const asking = defineRunbook({
  name: 'asking',
  version: '1.0.0',
  description: 'Asks before it goes on.',
  resultKind: 'verdict/asking',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok' } },
  input: z.strictObject({}),
  resume: z.strictObject({ choice: z.enum(['left', 'right']), weight: z.number().max(10).optional() }),
  procedure: chart,
});

/** A fleet that asks before it is assessed. */
export const approvedFleet = defineRunbook<{ host: string }>({
  name: 'approved_fleet',
  version: '1.0.0',
  description: 'Asks before it checks a fleet.',
  resultKind: 'verdict/approved-fleet',
  rules: { name: 'no-rules', version: '1' },
  verdicts: { decider: 'State', standings: { fine: 'ok', broken: 'problem' } },
  input: z.strictObject({}),
  fleet: {
    plan: chart,
    key: (subject) => subject.host,
    assess: chart,
    row: () => ({}),
    approve: ({ subjects }) => ({ question: `Assess ${subjects} hosts?` }),
  },
});

const definitions = [fleetCheck, anything, asking, approvedFleet].map((runbook) => ({
  runbook,
  digest: `digest-of-${runbook.name}`,
}));

export const testCatalog: LoadedCatalog = {
  catalog: { runbooks: new Map(definitions.map(({ runbook }) => [runbook.name, runbook])), tools: new Map() },
  byName: new Map(definitions.map((definition) => [definition.runbook.name, definition])),
  byDigest: new Map(definitions.map((definition) => [definition.digest, definition])),
};
