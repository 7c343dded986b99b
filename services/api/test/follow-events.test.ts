/** A run's history as server-sent events. */
import { claimRun } from '@muster/results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';
import { assess, finish } from './run-stages.ts';

let fixture: Fixture;
let address: string;
beforeAll(async () => {
  fixture = await openFixture({ heartbeatMs: 20 });
  address = await fixture.listen();
});
afterAll(() => fixture.close());

async function accept(runbook = 'anything'): Promise<string> {
  const answer = await fixture.ask('/v1/runs', { method: 'POST', body: { runbook, input: {} } });
  return answer.body.run_id;
}

interface SentEvent {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: looked into by tests
  readonly data: any;
}

/** Reads a stream of events block by block, as it comes. */
async function* readEvents(response: Response): AsyncGenerator<SentEvent | 'comment' | 'retry'> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(':')) yield 'comment';
      else if (block.startsWith('retry:')) yield 'retry';
      else {
        const [, id = '', data = ''] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
        yield { id, data: JSON.parse(data) };
      }
    }
  }
}

function follow(runId: string, lastEventId?: string, signal?: AbortSignal): Promise<Response> {
  const headers = {
    authorization: `Bearer ${fixture.keys.reader}`,
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  };
  return fetch(`${address}/v1/runs/${runId}/events`, { headers, ...(signal !== undefined && { signal }) });
}

async function eventsOf(response: Response): Promise<SentEvent[]> {
  const events: SentEvent[] = [];
  for await (const event of readEvents(response)) if (typeof event === 'object') events.push(event);
  return events;
}

const historyOf = async (runId: string) => (await fixture.ask(`/v1/runs/${runId}/history`)).body.entries;

describe('a stream of events', () => {
  test('gives each entry of the history once, as it happens, and ends with the run', async () => {
    const runId = await accept();
    const response = await follow(runId);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const seen: SentEvent[] = [];
    let comments = 0;
    for await (const event of readEvents(response)) {
      if (event === 'comment') {
        // Nothing has happened yet: the stream says that it lives. Now something does.
        comments += 1;
        if (comments === 1) await claimRun(fixture.db, { runId, phase: 'procedure', dispatchNo: 1 });
      } else if (typeof event === 'object') {
        seen.push(event);
        if (seen.length === 1) await finish(fixture, runId);
      }
    }
    expect(comments).toBeGreaterThan(0);
    expect(seen.map(({ data }) => data)).toEqual(await historyOf(runId));
    expect(seen.at(-1)!.data.kind).toBe('run_completed');
    for (const { id, data } of seen) expect(id).toBe(`${data.revision}.${data.event_id}`);
    while (fixture.changes.waiting > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('goes on behind any event without loss or repeat', async () => {
    const runId = await accept('fleet_check');
    await assess(fixture, runId);
    await finish(fixture, runId);
    const whole = await eventsOf(await follow(runId));
    expect(whole.length).toBeGreaterThan(2);
    for (const [index, { id }] of whole.slice(0, -1).entries()) {
      expect(await eventsOf(await follow(runId, id))).toEqual(whole.slice(index + 1));
    }
  });

  test('behind the last entry of a run that is over there is none, and clients stop asking', async () => {
    const runId = await accept();
    await finish(fixture, runId);
    const events = await eventsOf(await follow(runId));
    const response = await follow(runId, events.at(-1)!.id);
    expect(response.status).toBe(204);
    expect(response.headers.get('content-type')).toBeNull();
  });

  test('holds no place any more when the reader has gone', async () => {
    const runId = await accept();
    const gone = new AbortController();
    const response = await follow(runId, undefined, gone.signal);
    for await (const event of readEvents(response)) if (event === 'comment') break;
    gone.abort();
    while (fixture.changes.waiting > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('ends when this process ends', async () => {
    const own = await openFixture();
    try {
      const where = await own.listen();
      const started = await own.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
      const headers = { authorization: `Bearer ${own.keys.reader}` };
      const response = await fetch(`${where}/v1/runs/${started.body.run_id}/events`, { headers });
      const [events] = await Promise.all([eventsOf(response), own.api.close()]);
      expect(events).toEqual([]);
    } finally {
      await own.close();
    }
  });
});

describe('refusals', () => {
  test.each([
    ['no place', 'x'],
    ['a place of another run', '1.6f1f2c9e-0c0a-8f5e-9f57-0c5a3a2c1b11'],
    ['a revision that another event has', undefined],
  ])('%s is refused before anything is sent', async (_what, place) => {
    const runId = await accept();
    await finish(fixture, runId);
    const [first] = await historyOf(runId);
    const lastEventId = place ?? `${first.revision + 1}.${first.event_id}`;
    const answer = await fixture.ask(`/v1/runs/${runId}/events`, { headers: { 'last-event-id': lastEventId } });
    expectProblem(answer, 400, 'unknown_cursor');
  });

  test('a run of another tenant is not found', async () => {
    const answer = await fixture.ask(`/v1/runs/${await accept()}/events`, { key: fixture.keys.other });
    expectProblem(answer, 404, 'run_not_found');
  });

  test('HEAD follows nothing', async () => {
    const answer = await fixture.ask(`/v1/runs/${await accept()}/events`, { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(fixture.changes.waiting).toBe(0);
  });
});
