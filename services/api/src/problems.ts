/**
 * The one table of what this API can refuse, and why.
 *
 * Invariants:
 * - `code` is stable and may be switched on; docs/problems.md carries the same table and a test compares the two;
 * - a detail is one line and never carries a payload, a secret or a stack trace.
 */
import type { FieldFault } from '@muster/host';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What the caller can do about it; for the document. */
  readonly remedy: string;
}

/** Every problem by its code. */
export const PROBLEMS = Object.freeze({
  invalid_json: {
    status: 400,
    title: 'The body is not strict JSON',
    remedy: 'Send one JSON value in UTF-8, without repeated keys, `__proto__` or more than 64 levels.',
  },
  invalid_request: {
    status: 400,
    title: 'A part of the request does not fit its schema',
    remedy: '`errors` names each place and what was expected there; `/openapi.json` has the schemas.',
  },
  invalid_http: {
    status: 400,
    title: 'The request is not well-formed HTTP',
    remedy: 'Check the URL encoding, the header sizes and the declared length.',
  },
  unknown_cursor: {
    status: 400,
    title: 'The cursor names nothing in this list',
    remedy: 'Use the cursor of the page before, with the same filters, or begin again without one.',
  },
  upload_aborted: {
    status: 400,
    title: 'The upload ended before it was whole',
    remedy: 'Nothing of it was kept. Send it again.',
  },
  unauthorized: {
    status: 401,
    title: 'No valid API key',
    remedy: 'Send `Authorization: Bearer mk_...` with a key that was not revoked.',
  },
  delivery_unverified: {
    status: 401,
    title: 'The delivery proves no sender',
    remedy: "Check the hook's name in the URL, the secret at the sender, and both clocks. The log says more.",
  },
  forbidden: {
    status: 403,
    title: "The key's role does not allow this",
    remedy: 'Use a key of the role named in `needed_role`, or a higher one.',
  },
  self_approval: {
    status: 403,
    title: 'The key that started the run may not answer for it',
    remedy: 'Have it answered with another key. `MUSTER_SELF_APPROVAL=allow` lifts this for everybody.',
  },
  not_found: { status: 404, title: 'There is no such path', remedy: '`/openapi.json` lists the paths.' },
  unknown_runbook: {
    status: 404,
    title: 'There is no such runbook',
    remedy: '`nearest` has names that are spelled alike; `GET /v1/runbooks` lists all.',
  },
  unknown_runbook_version: {
    status: 404,
    title: 'The runbook is not here in this version',
    remedy: 'Leave `version` out, or name the one in `available`.',
  },
  run_not_found: {
    status: 404,
    title: 'There is no such run',
    remedy: 'Check the id. Runs of another tenant are not told apart from runs that do not exist.',
  },
  artifact_not_found: {
    status: 404,
    title: 'There is no such artifact',
    remedy: 'Check the ref. Missing, expired and foreign artifacts and uploaded inputs look the same.',
  },
  delivery_not_found: {
    status: 404,
    title: 'There is no such delivery',
    remedy: '`GET /v1/deliveries` lists those that are kept.',
  },
  notifier_not_found: {
    status: 404,
    title: 'There is no such notifier',
    remedy: '`GET /v1/notifiers` lists the notifiers of the tenant.',
  },
  notice_not_found: {
    status: 404,
    title: 'There is no such notice',
    remedy: '`GET /v1/notices` lists those that are kept.',
  },
  mute_not_found: {
    status: 404,
    title: 'There is no such mute',
    remedy: '`GET /v1/mutes` lists those that hold or will.',
  },
  schedule_not_found: {
    status: 404,
    title: 'There is no such schedule',
    remedy: '`GET /v1/schedules` lists the schedules of the tenant.',
  },
  key_not_found: { status: 404, title: 'There is no such key', remedy: '`GET /v1/keys` lists the keys that exist.' },
  method_not_allowed: {
    status: 405,
    title: 'The path does not have this method',
    remedy: 'The `Allow` header lists the methods.',
  },
  request_timeout: { status: 408, title: 'The request came too slowly', remedy: 'Send it again.' },
  idempotency_conflict: {
    status: 409,
    title: 'The idempotency key was used for another request',
    remedy: 'Use a fresh key for a new request; `run_id` is the run of the first one.',
  },
  delivery_conflict: {
    status: 409,
    title: 'The delivery id was used for another body',
    remedy: '`delivery_id` is the delivery that came first. A sender gives each delivery an id of its own.',
  },
  delivery_waiting: {
    status: 409,
    title: 'The delivery was not worked on yet',
    remedy: 'Replay it when its `state` is `done`, `refused` or `unreadable`.',
  },
  delivery_sealed: {
    status: 409,
    title: 'The stored body cannot be opened',
    remedy: 'It was sealed with another `MUSTER_SECRET_KEY`. Have the sender send it again.',
  },
  run_final: {
    status: 409,
    title: 'The run is over',
    remedy: 'A completed or failed run cannot be cancelled. Read its answer.',
  },
  run_not_final: {
    status: 409,
    title: 'The run has no answer yet',
    remedy: 'Ask again when `run_status` is `completed`, `cancelled` or `failed`.',
  },
  run_failed: {
    status: 409,
    title: 'The run failed and has no envelope',
    remedy: '`failure` says why; settled rows can still be read.',
  },
  not_interrupted: {
    status: 409,
    title: 'The run asks nothing',
    remedy: '`run_status` says how it stands. A question is answered once; whoever came first has answered it.',
  },
  run_stopping: {
    status: 409,
    title: 'The run is being stopped',
    remedy: 'It takes no answer any more, and becomes `cancelled` with what it has.',
  },
  resume_expired: {
    status: 409,
    title: 'The time to answer is over',
    remedy: 'The run ends with what it has. Start it again.',
  },
  definition_not_offered: {
    status: 409,
    title: 'No worker has the definition that asked',
    remedy: 'Try again when a worker with that code runs. The question stands until `expires_at`.',
  },
  notice_open: {
    status: 409,
    title: 'The notice is still to be sent',
    remedy: 'Only what is over is sent again. `next_at` says when it is tried.',
  },
  too_many_notifiers: {
    status: 409,
    title: 'The tenant has as many notifiers as it may',
    remedy: 'Delete one, or widen what another one tells.',
  },
  schedule_exists: {
    status: 409,
    title: 'The tenant has a schedule of that name',
    remedy: 'Change it with `PATCH /v1/schedules/NAME`, or choose another name.',
  },
  schedule_of_file: {
    status: 409,
    title: 'The schedule belongs to the file of schedules',
    remedy: 'Change it there, and start the API again. It can be paused and asked for by hand all the same.',
  },
  input_gone: {
    status: 410,
    title: "The run's uploaded input is gone",
    remedy: 'Uploads go with their run unless sent with `keep=true`. Upload again and start a new run.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    remedy: 'JSON bodies may have `max_bytes`. Large inputs go through `POST /v1/uploads`.',
  },
  upload_too_large: {
    status: 413,
    title: 'The upload is too large',
    remedy: 'Nothing of it was kept. `max_bytes` is the limit; `MUSTER_UPLOAD_MAX_BYTES` raises it.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has a type that is not taken here',
    remedy: 'Send `application/json`; to `/v1/uploads` the raw bytes, not a form.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The range lies outside of the artifact',
    remedy: 'The `Content-Range` header has the length.',
  },
  input_invalid: {
    status: 422,
    title: "The input does not fit the runbook's schema",
    remedy: '`errors` names each place; `GET /v1/runbooks/NAME` has the schema.',
  },
  input_out_of_bounds: {
    status: 422,
    title: 'The input document is too large',
    remedy: 'An input may have 256 KiB, 32 levels and 4,096 properties. Upload bulk and name its ref.',
  },
  unknown_artifact: {
    status: 422,
    title: 'The input names an upload that is not there',
    remedy: '`refs` lists them. Upload with the same key and session; unused uploads go after a day.',
  },
  unknown_parent_run: {
    status: 422,
    title: 'The parent run is not in this session',
    remedy: 'Name a run of the same session, or none.',
  },
  not_a_fleet: {
    status: 422,
    title: 'The runbook has no subjects to choose from',
    remedy: 'Dry runs, canaries and reruns are for fleets. Start it again as a whole with `POST /v1/runs`.',
  },
  unknown_subject: {
    status: 422,
    title: 'The run has no such subject',
    remedy: '`subjects` lists them; `GET /v1/runs/ID/rows` has the keys of all.',
  },
  nothing_to_rerun: {
    status: 422,
    title: 'The run has no subject that ended so',
    remedy: "The run's `subjects` say how many ended in which way.",
  },
  resume_invalid: {
    status: 422,
    title: "The answer does not fit the question's schema",
    remedy: '`errors` names each place; `GET /v1/runs/ID/interruption` has the schema.',
  },
  too_many_waiters: {
    status: 429,
    title: 'Too many requests wait here',
    remedy: 'Ask without waiting, or again after `Retry-After` seconds. `MUSTER_MAX_WAITERS` raises it.',
  },
  quota_exceeded: {
    status: 429,
    title: "The tenant's quota is used up",
    remedy: '`quota` and `limit` say which. Try again when a run has ended, or have it raised.',
  },
  headers_too_large: { status: 431, title: 'The headers are too large', remedy: 'Send fewer or shorter headers.' },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    remedy: 'Report it with the `instance`; the log has more under that id.',
  },
  artifact_damaged: {
    status: 500,
    title: 'The stored bytes are not the ones that were put',
    remedy: 'The artifact store lost or changed data. Run the runbook again.',
  },
  secrets_unavailable: {
    status: 503,
    title: 'This API keeps no secrets',
    remedy: 'Start it with the `MUSTER_SECRET_KEY` of the workers.',
  },
  not_ready: { status: 503, title: 'Not ready', remedy: '`checks` says what is missing.' },
  hook_secret_unavailable: {
    status: 503,
    title: "None of the hook's secrets can check anything",
    remedy: 'Put the secret where the hook refers to; the sender tries again.',
  },
  results_unavailable: {
    status: 503,
    title: 'The results store cannot be reached',
    remedy: 'Try again. With the same `Idempotency-Key` a start is never done twice.',
  },
  artifact_store_unavailable: {
    status: 503,
    title: 'The artifact store cannot be reached',
    remedy: 'Try again.',
  },
} satisfies Record<string, ProblemKind>);

export type ProblemCode = keyof typeof PROBLEMS;

/** Members of a problem document beside the standard ones; snake_case. */
export interface ProblemExtras {
  readonly errors?: readonly FieldFault[];
  readonly [member: string]: unknown;
}

/** A refusal. Use cases throw it; each door shows it in its own way. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;
  /** HTTP headers that belong to the refusal. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    extras: ProblemExtras = {},
    options: ErrorOptions & { headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail, options);
    this.code = code;
    this.extras = extras;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The RFC 9457 document of a problem. */
export function problemDocument(problem: Problem, requestId: string): Record<string, unknown> {
  return {
    type: `urn:muster:problem:${problem.code}`,
    title: PROBLEMS[problem.code].title,
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    instance: `urn:uuid:${requestId}`,
    ...problem.extras,
  };
}
