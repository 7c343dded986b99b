/** The API as the command line uses it. */
import { Readable } from 'node:stream';
import type { ChangeCountsNote, RunbookEnvelope } from '@muster/envelope';
import { ApiAwayError, CommandError, RefusedError, UsageError } from './exit-codes.ts';
import type { LocalFile } from './input-files.ts';
import type { MuteView, NoticeView, NotifierView } from './notice-views.ts';
import type { ScheduleView, TickView } from './schedule-views.ts';

export interface RunView {
  readonly run_id: string;
  readonly definition_name: string;
  readonly definition_version: string;
  readonly run_status: 'pending' | 'running' | 'interrupted' | 'completed' | 'cancelled' | 'failed';
  readonly phase: string;
  readonly checkpoint_revision: number;
  readonly status_summary?: string;
  readonly answer_kind?: 'envelope' | 'absence' | 'failure';
  readonly subjects?: {
    readonly total: number;
    readonly settled: number;
    readonly not_checked: number;
    readonly cannot_cover: number;
  };
  /** What a run asks that is interrupted. */
  readonly interruption?: { readonly question: string; readonly needed_role: string; readonly expires_at: string };
  readonly created_at: string;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly [field: string]: unknown;
}

/** A run that does a part of another one again. */
export interface StartedRerun extends RunView {
  readonly definition_changed: boolean;
  readonly source_definition_version: string;
}

/** What an interrupted run asks. */
export interface InterruptionView {
  readonly run_id: string;
  readonly number: number;
  readonly source: 'procedure' | 'approval';
  readonly question: string;
  readonly details?: unknown;
  readonly resume_schema: Readonly<Record<string, unknown>>;
  readonly needed_role: string;
  readonly self_allowed: boolean;
  readonly opened_at: string;
  readonly expires_at: string;
}

/** What came of some alerts: a run that was begun, or joined. */
interface DeliveryRunView {
  readonly run_id: string;
  readonly subject: string;
  readonly alerts: number;
}

export interface DeliveryView {
  readonly delivery_id: string;
  readonly hook: string;
  readonly state: string;
  readonly received_at: string;
  readonly sender_delivery_id: string;
  readonly body_bytes: number;
  readonly event?: string;
  readonly replay_of?: string;
  readonly counts?: Readonly<Record<string, number>>;
  readonly incomplete?: string;
  readonly failure?: { readonly code: string; readonly reason: string };
}

export interface DeliveryDetailsView extends DeliveryView {
  readonly result?: {
    readonly runs: readonly DeliveryRunView[];
    readonly collapsed: readonly DeliveryRunView[];
    readonly declined: readonly { readonly fingerprint: string; readonly reason: string }[];
    readonly skipped: readonly {
      readonly fingerprint: string | null;
      readonly code: string;
      readonly reason: string;
    }[];
    readonly truncated?: { readonly why: string };
    readonly doubts: readonly string[];
  };
  readonly sent?: {
    readonly headers: Readonly<Record<string, string | readonly string[]>>;
    readonly body?: unknown;
    readonly hidden?: string;
  };
}

/** How long to wait for news of a run, and what is no news. */
export interface NewsWait {
  readonly waitMs: number;
  readonly afterRevision?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The limits of a tenant; null is none. */
export interface QuotaView {
  readonly max_open_runs: number | null;
  readonly max_subjects_per_run: number | null;
  readonly max_in_flight_chunks: number | null;
}

export interface RunbookView {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly verdicts: Readonly<Record<string, string>>;
  readonly input_schema: unknown;
}

export interface RowView {
  readonly subject: string;
  readonly outcome: string;
  readonly verdict?: string;
  readonly standing?: string;
  readonly reason?: string;
  readonly columns?: Readonly<Record<string, unknown>>;
}

/** An identity that stands otherwise than before, or still as badly. */
export interface ChangeView {
  readonly identity: string;
  readonly subject: string;
  readonly target?: string;
  readonly change: string;
  readonly from_standing?: string;
  readonly to_standing?: string;
  readonly reason?: string;
  readonly standing_since?: string;
}

/** A page of what a run changed. */
export interface ChangePage {
  readonly run_id: string;
  readonly run_status: string;
  readonly scope?: string;
  /** Why it was compared with none. */
  readonly why?: string;
  readonly against?: { readonly run_id: string; readonly now: string };
  readonly gone_untold?: string;
  readonly counts?: ChangeCountsNote;
  readonly changes: readonly ChangeView[];
  readonly next_after?: string;
}

export type AnswerView =
  | { readonly kind: 'envelope'; readonly body: RunbookEnvelope }
  | { readonly kind: 'absence'; readonly body: unknown }
  | { readonly kind: 'failure'; readonly body: { readonly code: string; readonly message: string } };

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly path: string; readonly expected: string }[];
}

const TIMEOUT_MS = 30_000;
/** What a gateway or an API says that will be there again. */
const PASSING_STATUSES = new Set([502, 503, 504]);
/** Problems that come of what the user typed. */
const USAGE_CODES = new Set([
  'unknown_runbook',
  'unknown_runbook_version',
  'unknown_subject',
  'input_invalid',
  'resume_invalid',
  'invalid_request',
  'not_a_fleet',
]);

export class ApiClient {
  readonly address: string;
  readonly #key: string;

  /** @throws UsageError for a key that cannot be one: it would not fit into a header */
  constructor(address: string, key: string) {
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new UsageError('the API key is empty or has blanks or control characters in it; see MUSTER_API_KEY');
    }
    this.address = address.replace(/\/+$/, '');
    this.#key = key;
  }

  listRunbooks(): Promise<{ runbooks: RunbookView[] }> {
    return this.#json('GET', '/v1/runbooks');
  }

  findRunbook(name: string): Promise<RunbookView> {
    return this.#json('GET', `/v1/runbooks/${encodeURIComponent(name)}`);
  }

  /** `onBytes` is told how much has been sent; `keep` keeps it when the run is over. */
  async upload(
    file: LocalFile,
    onBytes: (bytes: number) => void = () => {},
    options: { keep?: boolean } = {},
  ): Promise<{ ref: string }> {
    const body = Readable.toWeb(Readable.from(countBytes(file.open(), onBytes))) as ReadableStream<Uint8Array>;
    const path = `/v1/uploads?name=${encodeURIComponent(file.name)}${options.keep ? '&keep=true' : ''}`;
    const headers = { 'content-type': 'application/octet-stream' };
    // A large file may take long; the server bounds it.
    return await this.#read(await this.#send('POST', path, { body, duplex: 'half', headers } as RequestInit));
  }

  startRun(body: Readonly<Record<string, unknown>>, idempotencyKey: string): Promise<RunView> {
    return this.#json('POST', '/v1/runs', body, { 'idempotency-key': idempotencyKey });
  }

  /** Does a part of a run again. */
  rerun(runId: string, body: Readonly<Record<string, unknown>>, idempotencyKey: string): Promise<StartedRerun> {
    const path = `/v1/runs/${encodeURIComponent(runId)}/rerun`;
    return this.#json('POST', path, body, { 'idempotency-key': idempotencyKey });
  }

  getQuota(): Promise<QuotaView> {
    return this.#json('GET', '/v1/quota');
  }

  setQuota(quota: QuotaView): Promise<QuotaView> {
    return this.#json('PUT', '/v1/quota', quota);
  }

  getRun(runId: string): Promise<RunView> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}`);
  }

  /** The run when there is something new, or when the time is over. @throws AbortError by the signal */
  awaitNews(runId: string, { waitMs, afterRevision, signal }: NewsWait): Promise<RunView> {
    const query = new URLSearchParams({
      wait_ms: String(waitMs),
      ...(afterRevision !== undefined && { after_revision: String(afterRevision) }),
    });
    return this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}?${query}`, undefined, {}, signal);
  }

  getInterruption(runId: string): Promise<InterruptionView> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}/interruption`);
  }

  /** Open questions, oldest first, at most `limit`. */
  listInterruptions(limit: number): Promise<InterruptionView[]> {
    return this.#list('/v1/interruptions', 'interruptions', limit);
  }

  /** Schedules by name, at most `limit`. */
  listSchedules(limit: number): Promise<ScheduleView[]> {
    return this.#list('/v1/schedules', 'schedules', limit);
  }

  getSchedule(name: string): Promise<ScheduleView> {
    return this.#json('GET', schedulePath(name));
  }

  createSchedule(body: unknown): Promise<ScheduleView> {
    return this.#json('POST', '/v1/schedules', body);
  }

  changeSchedule(name: string, body: unknown): Promise<ScheduleView> {
    return this.#json('PATCH', schedulePath(name), body);
  }

  steerSchedule(name: string, action: 'pause' | 'resume', body: unknown): Promise<ScheduleView> {
    return this.#json('POST', schedulePath(name, action), body);
  }

  triggerSchedule(name: string): Promise<TickView> {
    return this.#json('POST', schedulePath(name, 'trigger'), {});
  }

  /** The latest ticks of a schedule, at most `limit`. */
  listTicks(name: string, limit: number): Promise<TickView[]> {
    return this.#list(schedulePath(name, 'ticks'), 'ticks', limit);
  }

  deleteSchedule(name: string): Promise<void> {
    return this.#json('DELETE', schedulePath(name));
  }

  /** Deliveries of webhooks, newest first, at most `limit`. */
  listDeliveries(limit: number, filter: { hook?: string; state?: string } = {}): Promise<DeliveryView[]> {
    return this.#list('/v1/deliveries', 'deliveries', limit, filter);
  }

  getDelivery(id: string): Promise<DeliveryDetailsView> {
    return this.#json('GET', `/v1/deliveries/${encodeURIComponent(id)}`);
  }

  /** Works on a delivery once more. */
  replayDelivery(id: string): Promise<DeliveryView> {
    return this.#json('POST', `/v1/deliveries/${encodeURIComponent(id)}/replay`);
  }

  async listNotifiers(): Promise<NotifierView[]> {
    return (await this.#json<{ notifiers: NotifierView[] }>('GET', '/v1/notifiers')).notifiers;
  }

  getNotifier(name: string): Promise<NotifierView> {
    return this.#json('GET', `/v1/notifiers/${encodeURIComponent(name)}`);
  }

  setNotifier(name: string, body: unknown): Promise<NotifierView> {
    return this.#json('PUT', `/v1/notifiers/${encodeURIComponent(name)}`, body);
  }

  deleteNotifier(name: string): Promise<void> {
    return this.#json('DELETE', `/v1/notifiers/${encodeURIComponent(name)}`);
  }

  /** Files a test, or everything that is wrong now. */
  fileNotice(name: string, what: 'test' | 'announce'): Promise<{ notice_id: string }> {
    return this.#json('POST', `/v1/notifiers/${encodeURIComponent(name)}/${what}`, {});
  }

  /** Notices, newest first, at most `limit`. */
  async listNotices(query: { state?: string; notifier?: string; limit: number }): Promise<NoticeView[]> {
    const { limit, ...filters } = query;
    const search = new URLSearchParams({ ...filters, limit: String(Math.min(100, limit)) });
    return (await this.#json<{ notices: NoticeView[] }>('GET', `/v1/notices?${search}`)).notices;
  }

  replayNotice(noticeId: string): Promise<{ notice_id: string }> {
    return this.#json('POST', `/v1/notices/${encodeURIComponent(noticeId)}/replay`, {});
  }

  mute(body: unknown): Promise<MuteView> {
    return this.#json('POST', '/v1/mutes', body);
  }

  async listMutes(): Promise<MuteView[]> {
    return (await this.#json<{ mutes: MuteView[] }>('GET', '/v1/mutes')).mutes;
  }

  unmute(muteId: string): Promise<void> {
    return this.#json('DELETE', `/v1/mutes/${encodeURIComponent(muteId)}`);
  }

  /** Answers what a run asks. */
  resumeRun(runId: string, resume: Readonly<Record<string, unknown>>, number: number): Promise<RunView> {
    return this.#json('POST', `/v1/runs/${encodeURIComponent(runId)}/resume`, { resume, number });
  }

  cancelRun(runId: string, reason?: string): Promise<RunView> {
    return this.#json('POST', `/v1/runs/${encodeURIComponent(runId)}/cancel`, reason === undefined ? {} : { reason });
  }

  getAnswer(runId: string): Promise<AnswerView> {
    return this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}/answer`);
  }

  /** The newest runs, at most `limit`, over as many pages as that takes. */
  listRuns(limit: number, filter: { status?: string; runbook?: string } = {}): Promise<RunView[]> {
    return this.#list('/v1/runs', 'runs', limit, filter);
  }

  /** Whether a run has a row of this standing. */
  async hasRow(runId: string, standing: string): Promise<boolean> {
    const query = new URLSearchParams({ standing, limit: '1' });
    const page: { rows: RowView[] } = await this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}/rows?${query}`);
    return page.rows.length > 0;
  }

  /** A page of what a run changed since the sweep of its scope before it. */
  getChanges(runId: string, query: Readonly<Record<string, string>> = {}): Promise<ChangePage> {
    const asked = new URLSearchParams({ limit: '1000', ...query });
    return this.#json('GET', `/v1/runs/${encodeURIComponent(runId)}/changes?${asked}`);
  }

  /** Every row of a run in order, read in pages. */
  async *rows(runId: string): AsyncGenerator<RowView> {
    let after: string | undefined;
    do {
      const query = new URLSearchParams({ limit: '1000', ...(after !== undefined && { after }) });
      const page: { rows: RowView[]; next_after?: string } = await this.#json(
        'GET',
        `/v1/runs/${encodeURIComponent(runId)}/rows?${query}`,
      );
      yield* page.rows;
      after = page.next_after;
    } while (after !== undefined);
  }

  /** A list, over as many pages as that takes. */
  async #list<T>(path: string, field: string, limit: number, filter: Record<string, string> = {}): Promise<T[]> {
    const found: T[] = [];
    let after: string | undefined;
    do {
      const size = String(Math.min(100, limit - found.length));
      const query = new URLSearchParams({ ...filter, limit: size, ...(after !== undefined && { after }) });
      const page: Record<string, unknown> = await this.#json('GET', `${path}?${query}`);
      found.push(...(page[field] as T[]));
      after = page.next_after as string | undefined;
    } while (after !== undefined && found.length < limit);
    return found;
  }

  async #json<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    ending?: AbortSignal,
  ): Promise<T> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(ending === undefined ? [] : [ending])]);
    return await this.#read<T>(await this.#send(method, path, { ...sent, signal, headers: { ...type, ...headers } }));
  }

  async #send(method: string, path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.address}${path}`, {
        method,
        ...init,
        headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${this.#key}` },
      });
    } catch (error) {
      if (init.signal?.aborted && isAbort(init.signal.reason)) throw init.signal.reason;
      // What failed while our own file was being read is about the file.
      for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
        if (cause instanceof CommandError) throw cause;
      }
      const { cause, name } = error as { cause?: { code?: string; message?: string }; name: string };
      const why = cause?.code ?? cause?.message ?? name;
      throw new ApiAwayError(`the API at ${this.address} cannot be reached (${why})`);
    }
  }

  async #read<T>(response: Response): Promise<T> {
    if (response.status === 204) return undefined as T;
    const body: unknown = await response.json().catch(() => undefined);
    if (response.ok && body !== undefined) return body as T;
    if (body === undefined || typeof body !== 'object') {
      throw this.#failure(response, `what answers at ${this.address} is no Muster API (HTTP ${response.status})`);
    }
    const problem = (body ?? {}) as Problem;
    const places = (problem.errors ?? []).map(({ path, expected }) => `${path || 'input'}: expected ${expected}`);
    const said = [problem.detail ?? problem.title ?? `HTTP ${response.status}`, ...places].join('; ');
    const text = `${said} [${problem.code ?? response.status}]`;
    if (USAGE_CODES.has(problem.code ?? '')) throw new UsageError(text);
    throw problem.code === 'too_many_waiters' ? new ApiAwayError(text) : this.#failure(response, text, problem.code);
  }

  #failure(response: Response, text: string, code = ''): CommandError {
    return PASSING_STATUSES.has(response.status) ? new ApiAwayError(text) : new RefusedError(text, code);
  }
}

function schedulePath(name: string, action?: string): string {
  return `/v1/schedules/${encodeURIComponent(name)}${action === undefined ? '' : `/${action}`}`;
}

/** Of whoever waits, and not of a time that is over. */
function isAbort(reason: unknown): boolean {
  return reason instanceof Error && reason.name !== 'TimeoutError';
}

async function* countBytes(chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    onBytes(bytes);
    yield chunk;
  }
}
