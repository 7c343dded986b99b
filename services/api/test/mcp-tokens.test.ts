/** What agents pay: no answer of a tool is 4,000 tokens, by real tokenizers, its text and its structured content counted. */
import { randomUUID } from 'node:crypto';
import { createWorkflowTools, type WorkflowExtras, type WorkflowTool } from '@muster/workflow-tools';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { ANSWER_WEIGHT } from '../src/mcp/session-tools.ts';
import { answerResult } from '../src/mcp/tool-result.ts';

const MOST_TOKENS = 4000;

/** Texts that cost more than they look: what a fleet's names, digests and reasons may be made of. */
const TEXTS: Readonly<Record<string, (number: number) => string>> = {
  words: (number) => `the container was killed for its memory, ${number} restarts since it was started`,
  ids: () => randomUUID(),
  digests: () => `sha-256:${randomUUID().replaceAll('-', '')}${randomUUID().replaceAll('-', '')}`,
  base64: () => Buffer.from(randomUUID() + randomUUID()).toString('base64'),
  numbers: (number) => `${Math.sin(number)}`,
  chinese: () => '容器因内存不足而被终止并且反复重启节点没有响应',
  emoji: () => '🧯🪫🛰️🧨🫨🦤🪬🧌🫧🛢️',
  symbols: () => '~!@#$%^&*()_+{}|:"<>?`-=[];\',./\\',
};

const RUN = {
  run_id: randomUUID(),
  definition_name: 'fleet_check',
  definition_version: '1.0.0',
  run_status: 'completed' as const,
  status_summary: '900 subjects',
  checkpoint_revision: 5,
  activity_cursor: 5,
  created_at: '2026-11-30T12:00:00.000Z',
  updated_at: '2026-11-30T12:00:00.000Z',
};

function toolsOver(text: (number: number) => string, bytes: Uint8Array): readonly WorkflowTool[] {
  const list = <T>(count: number, make: (number: number) => T) =>
    Array.from({ length: count }, (_, number) => make(number));
  const artifacts = list(128, (number) => ({
    id: `art_${number}`,
    kind: text(number),
    digest: TEXTS.digests!(number),
    size: 1,
  }));
  const run = { ...RUN, status_summary: text(0), artifacts };
  const entry = (number: number) => ({ what: text(number), why: text(number + 1) });
  const row = (number: number) => ({
    subject: text(number),
    verdict: 'out',
    standing: 'problem',
    reason: text(number),
    columns: { a: text(number), b: text(number) },
  });
  const envelope = {
    af_coverage: {
      checked: list(200, entry),
      not_checked: list(200, entry),
      cannot_cover: list(20, entry),
      note: 'n',
      sentence: text(0),
    },
    result: {
      rule_version: '1',
      headline: text(1),
      verdicts: list(50, row),
      rows_shown: 50,
      rows_total: 900,
      rows_complete: false,
      table: list(50, text).join('\n'),
      verdict_meanings: { out: text(2) },
      subjects: { total: 900 },
      walk: { ref: 'art_1', note: text(3) },
    },
  };
  const extras: WorkflowExtras = {
    wait: async () => ({ run: { ...run, counts: { total: 900, settled: 900 } }, envelope }),
    rows: async (_run, { limit }) => ({ run_status: 'completed', rows: list(limit, row), next_after: 'x' }),
    artifact: async (ref, { offset, length }) => ({
      ref,
      kind: 'k',
      media_type: 'application/json',
      size: bytes.length,
      offset,
      bytes: bytes.subarray(offset, offset + length),
    }),
  };
  const definition = (number: number) => ({
    name: `check_${number}`,
    version: '1',
    description: text(number),
    resume_supported: false,
    input_schema: {
      type: 'object',
      properties: { a: { type: 'string', description: text(number) } },
      additionalProperties: false,
    },
  });
  return createWorkflowTools({
    sessionId: randomUUID(),
    catalog: {
      list: () => list(60, definition),
      resolve: async () => definition(0),
      validateInput: async () => {},
      validateResume: async () => {},
    },
    inputs: { put: async () => {} },
    registry: {
      create: async () => run,
      get: async () => run,
      list: async (_session, { limit }) => ({ runs: list(limit, () => run), next_after: RUN.run_id }),
    },
    supervisor: {
      start: async () => run,
      history: async (_run, { limit }) => ({
        entries: list(limit, (number) => ({
          revision: number + 1,
          event_id: randomUUID(),
          kind: 'vertex_completed',
          run_status: 'running',
          vertex_label: text(number),
          message: text(number).repeat(8),
          occurred_at: RUN.created_at,
        })),
        next_revision: limit,
      }),
      resume: async () => run,
      cancel: async () => ({ run_status: 'cancelled', idempotent: false }),
    },
    extras,
    limits: { answerWeight: ANSWER_WEIGHT },
  });
}

const { run_id } = RUN;
const CALLS: readonly (readonly [string, object])[] = [
  ['workflow_definition_list', {}],
  ['workflow_run_start', { definition_name: 'check_0', definition_version: '1', input: {} }],
  ['workflow_run_get', { run_id }],
  ['workflow_run_get', { run_id, wait_ms: 0, include: ['envelope'] }],
  ['workflow_run_list', { limit: 100 }],
  ['workflow_run_history', { run_id, limit: 100 }],
  ['verdict_rows', { run_id, limit: 100 }],
  ['artifact_get', { ref: 'art_1', length: 4000 }],
];

describe.each(Object.entries(TEXTS))('of %s', (_what, text) => {
  const written = Buffer.from(JSON.stringify(Array.from({ length: 400 }, (_, number) => text(number))));
  const binary = Buffer.concat(Array.from({ length: 300 }, () => Buffer.from(randomUUID().replaceAll('-', ''), 'hex')));

  test.each(CALLS)('%s %j', async (name, args) => {
    for (const bytes of [written, binary]) {
      const tool = toolsOver(text, bytes).find((one) => one.name === name)!;
      const answer = await tool.invoke(JSON.stringify(args));
      const whole = JSON.stringify(answerResult(answer));
      expect(Math.max(encodeO200k(whole).length, encodeCl100k(whole).length)).toBeLessThan(MOST_TOKENS);
    }
  });
});
