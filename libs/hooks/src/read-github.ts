/**
 * GitHub's webhooks. The event and the delivery's id are headers, which the signature does not cover; what is checked is
 * whether the body agrees with them.
 */
import { type ReadingContext, readTexts, readTimes } from './alert-list.ts';
import { type AlertStatus, type BodyReading, type DeclinedReason, type HookAlert, unreadable } from './delivery.ts';
import { type HookHeaders, headerValue } from './hook-headers.ts';
import { inertFacts, isObject, own, ownText } from './inert-json.ts';

type Verdict = { readonly status: AlertStatus; readonly declinedReason?: DeclinedReason };

const FIRING: Verdict = { status: 'firing' };
const RESOLVED: Verdict = { status: 'resolved' };
const MUTED: Verdict = { status: 'declined', declinedReason: 'muted' };
const NO_RESULT: Verdict = { status: 'declined', declinedReason: 'no_result' };

/** How a check, a workflow or a deployment ended. What has not ended is an event, not an alert. */
const CONCLUSIONS: Readonly<Record<string, Verdict>> = {
  success: RESOLVED,
  failure: FIRING,
  error: FIRING,
  timed_out: FIRING,
  startup_failure: FIRING,
  action_required: FIRING,
  cancelled: NO_RESULT,
  neutral: NO_RESULT,
  skipped: NO_RESULT,
  stale: NO_RESULT,
};
/** The states of an alert about code, a dependency or a secret. */
const ALERT_STATES: Readonly<Record<string, Verdict>> = {
  open: FIRING,
  fixed: RESOLVED,
  resolved: RESOLVED,
  dismissed: MUTED,
  auto_dismissed: MUTED,
};

interface Source {
  /** Where the thing lies in the body; an empty path is the body itself. */
  readonly at: readonly string[];
  readonly state: string;
  /** What names the thing across deliveries. */
  readonly id: readonly string[];
  readonly name: readonly string[];
  readonly words: Readonly<Record<string, Verdict>>;
}

const CHECK = { state: 'conclusion', id: ['name'], name: ['name'], words: CONCLUSIONS };
const ALERT = { at: ['alert'], state: 'state', id: ['number'], words: ALERT_STATES };
const SOURCES: Readonly<Record<string, Source>> = {
  check_run: { at: ['check_run'], ...CHECK },
  check_suite: { at: ['check_suite'], ...CHECK, id: ['app', 'slug'], name: ['app', 'name'] },
  workflow_run: { at: ['workflow_run'], ...CHECK, id: ['workflow_id'] },
  workflow_job: { at: ['workflow_job'], ...CHECK },
  deployment_status: {
    at: ['deployment_status'],
    state: 'state',
    id: ['environment'],
    name: ['environment'],
    words: CONCLUSIONS,
  },
  status: { at: [], state: 'state', id: ['context'], name: ['context'], words: CONCLUSIONS },
  code_scanning_alert: { ...ALERT, name: ['rule', 'id'] },
  dependabot_alert: { ...ALERT, name: ['dependency', 'package', 'name'] },
  secret_scanning_alert: { ...ALERT, name: ['secret_type'] },
};

export function readGitHub(body: unknown, headers: HookHeaders, context: ReadingContext): BodyReading {
  if (!isObject(body)) return unreadable('wrong_shape', 'the body must be a JSON object');
  const event = ownText({ event: headerValue(headers, 'x-github-event') }, 'event');
  const deliveryId = ownText({ id: headerValue(headers, 'x-github-delivery') }, 'id');
  const action = ownText(body, 'action');
  const doubts = event === undefined ? ['the header X-GitHub-Event is missing: what happened is not known'] : [];
  const facts = inertFacts(body, context.losses);
  const read = { ...(deliveryId !== undefined && { deliveryId }), doubts, facts };
  if (event === undefined) return { kind: 'event', alerts: [], ...read };
  if (event === 'ping') return { kind: 'ping', event, alerts: [], ...read };
  const named = { ...read, event: action === undefined ? event : `${event}.${action}` };
  const source = Object.hasOwn(SOURCES, event) ? SOURCES[event] : undefined;
  if (source === undefined) return { kind: 'event', alerts: [], ...named };
  const thing = own(body, ...source.at);
  if (!isObject(thing)) doubts.push(`the header says ${event}, but the body has nothing of that kind`);
  const alert = isObject(thing) ? readThing(event, source, thing, body, context) : undefined;
  return { kind: alert === undefined ? 'event' : 'alerts', alerts: alert === undefined ? [] : [alert], ...named };
}

function readThing(
  event: string,
  source: Source,
  thing: Record<string, unknown>,
  body: unknown,
  context: ReadingContext,
): HookAlert | undefined {
  const state = ownText(thing, source.state);
  const verdict = state !== undefined && Object.hasOwn(source.words, state) ? source.words[state] : undefined;
  if (verdict === undefined) return undefined;
  const repository = ownText(body, 'repository', 'full_name');
  const id = ownText(thing, ...source.id) ?? 'unnamed';
  const name = ownText(thing, ...source.name);
  const branch = branchOf(thing);
  // One check fails on one branch and passes on another: those are two things.
  const place = [repository, source.words === CONCLUSIONS ? branch : undefined].filter((part) => part !== undefined);
  const labels = { repository, branch, sha: ownText(thing, 'head_sha') ?? ownText(thing, 'sha'), state, name };
  return {
    fingerprint: `github_${event}:${[...place, id].join(':')}`,
    ...verdict,
    ...(name !== undefined && { name }),
    labels: readTexts(labels, context.losses),
    annotations: {},
    ...readTimes(
      own(thing, 'started_at') ?? own(thing, 'run_started_at') ?? own(thing, 'created_at'),
      own(thing, 'completed_at') ?? own(thing, 'fixed_at') ?? undefined,
      verdict.status,
      context.now,
    ),
    facts: inertFacts(source.at.length === 0 ? { state } : thing, context.losses),
  };
}

function branchOf(thing: unknown): string | undefined {
  return (
    ownText(thing, 'head_branch') ??
    ownText(thing, 'check_suite', 'head_branch') ??
    ownText(thing, 'branches', '0', 'name')
  );
}
