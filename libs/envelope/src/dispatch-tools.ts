/**
 * The dispatch behind a procedure's tool calls.
 *
 * Invariants (contract "Tools a procedure calls"): inner calls run without artifacts and with a call id derived from the
 * outer one; they go one level deep; a tool that needs a human refuses by name; declared needs are resolved without one,
 * for the call's target where the tool says so, or the call fails closed with the name of what is missing. Nothing that
 * was resolved leaves the call: an error of a tool that held a credential is told by its name and code.
 */
import { absenceSignalOf } from './absence.ts';
import type { CallPacer } from './call-pacer.ts';
import type { Credential, CredentialNeed, ResolveCredential } from './credential.ts';
import { nameNeed, needsOf } from './credential.ts';
import { errorIdentity } from './error-identity.ts';
import { callPaced } from './paced-call.ts';
import { memoryPacer } from './shared-pacer.ts';
import type { Tool, ToolContext } from './tool.ts';
import { readBusy, ToolBusyError } from './tool-busy.ts';
import type { RunClock, ToolDispatch, ToolDispatchCallOptions } from './tool-dispatch.ts';
import { ToolRefusedError } from './tool-refused.ts';

/** The outer call that inner calls belong to. */
export interface OuterCall {
  readonly toolCallId: string;
  readonly runId?: string;
  readonly signal?: AbortSignal;
  /** Once this is aborted the outer call is over: a stage that goes on all the same begins no tool any more. */
  readonly endSignal?: AbortSignal;
  /** Resolves declared needs; without it every tool that needs a credential is refused. */
  readonly resolveCredential?: ResolveCredential;
  /** Holds the limits of tools; without it they hold within this process. */
  readonly pacer?: CallPacer;
  /** The time limit of the run that calls: a busy target is worth waiting for so long, or two minutes if that is more. */
  readonly timeoutMs?: number;
}

const LEAST_PATIENCE_MS = 120_000;
let processPacer: CallPacer | undefined;

/** The process's own pacer, made when the first call needs it. */
function ownPacer(): CallPacer {
  processPacer ??= memoryPacer();
  return processPacer;
}

/** A tool that failed while it held a credential: what it threw could carry the value, so its name and code stand here. */
export class ToolFailedError extends Error {
  override readonly name = 'ToolFailedError';
  readonly code = 'tool_failed';
  readonly tool: string;

  constructor(tool: string, identity: string) {
    super(`the tool '${tool}' failed: ${identity}`);
    this.tool = tool;
  }
}

/** A dispatch over registered tools for one outer call. Inner calls are numbered from 1 in the order they are made. */
export function dispatchTools(tools: readonly Tool[], outer: OuterCall): ToolDispatch {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  let calls = 0;
  const dispatch = (clock?: RunClock): ToolDispatch => ({
    has: (name) => byName.has(name),
    timedBy: dispatch,
    numberedFrom(made) {
      calls = Math.max(calls, made);
      return dispatch(clock);
    },
    async call(name, args = {}, options = {}) {
      const tool = byName.get(name);
      if (tool === undefined) throw new ToolRefusedError(name, 'tool_unknown', 'is not registered');
      refuseAsking(tool);
      if (outer.endSignal?.aborted) throw new ToolRefusedError(name, 'run_over', 'was called after its run had ended');
      const toolCallId = `${outer.toolCallId}#inner-${++calls}`;
      const signal = options.signal ?? outer.signal;
      const { target } = options;
      const patienceMs = Math.max(outer.timeoutMs ?? 0, LEAST_PATIENCE_MS);
      const pacer = outer.pacer ?? ownPacer();
      const call = { tool: name, target, limits: tool.limits, signal, patienceMs, longestMs: patienceMs };
      return await callPaced({ pacer, call, clock }, async () => {
        // Resolved for each try: a credential may be over by the time that a call has waited.
        const credentials = await resolveNeeds(tool, outer.resolveCredential, { target, signal });
        const context: ToolContext = {
          toolCallId,
          ...(outer.runId !== undefined && { runId: outer.runId }),
          ...(signal !== undefined && { signal }),
          ...(target !== undefined && { target }),
          ...credentials,
          hasArtifacts: false,
        };
        if (credentials === undefined) return await tool.execute(args as Record<string, unknown>, context);
        try {
          return await tool.execute(args as Record<string, unknown>, context);
        } catch (error) {
          // Ours say nothing that they should not, an abort has to be known as one, and of a busy sign only that is read.
          if (absenceSignalOf(error) !== undefined || (signal?.aborted && error === signal.reason)) throw error;
          const busy = readBusy(error);
          if (busy !== undefined) throw new ToolBusyError(busy);
          throw new ToolFailedError(name, identityWithout(error, credentials.credentials));
        }
      });
    },
  });
  return dispatch();
}

/** The error's name and code; only that it is an error where a tool has put a credential's value into them. */
function identityWithout(error: unknown, credentials: ToolContext['credentials'] = {}): string {
  const identity = errorIdentity(error);
  const tells = Object.values(credentials).some((credential) => {
    const value = credential.reveal();
    return value !== '' && identity.includes(value);
  });
  return tells ? 'Error' : identity;
}

function refuseAsking(tool: Tool): void {
  const { name } = tool;
  if (tool.checkIn !== undefined) {
    throw new ToolRefusedError(name, 'tool_needs_human', 'asks a person before it acts, which an inner call cannot');
  }
  const consent = needsOf(tool.needs).find((need) => need.mode === 'user');
  if (consent !== undefined) {
    throw new ToolRefusedError(
      name,
      'tool_needs_human',
      `needs ${nameNeed(consent)} with a person's consent, which an inner call cannot ask for`,
    );
  }
  if (tool.wants !== undefined) {
    throw new ToolRefusedError(
      name,
      'tool_wants_artifacts',
      'wants artifacts as arguments, which an inner call has none of',
    );
  }
}

async function resolveNeeds(
  tool: Tool,
  resolve: ResolveCredential | undefined,
  call: Pick<ToolDispatchCallOptions, 'target' | 'signal'>,
): Promise<Pick<ToolContext, 'credentials' | 'credential'> | undefined> {
  const needs = needsOf(tool.needs);
  if (needs.length === 0) return undefined;
  const resolved: [string, Credential][] = [];
  for (const need of needs) resolved.push([need.credential, await resolveNeed(tool.name, need, resolve, call)]);
  const [first] = resolved;
  return {
    credentials: Object.freeze(Object.fromEntries(resolved)),
    ...(resolved.length === 1 && first !== undefined && { credential: first[1] }),
  };
}

async function resolveNeed(
  tool: string,
  need: CredentialNeed,
  resolve: ResolveCredential | undefined,
  call: Pick<ToolDispatchCallOptions, 'target' | 'signal'>,
): Promise<Credential> {
  const missing = (why: string) =>
    new ToolRefusedError(tool, 'tool_needs_unresolved', `needs ${nameNeed(need)}, ${why}`);
  if (resolve === undefined) throw missing('but this run resolves none');
  if (need.perTarget === true && call.target === undefined) {
    throw missing('which differs by target, and the call names no target');
  }
  const forTarget = call.target === undefined ? '' : ` for the target '${call.target}'`;
  let credential: Credential | undefined;
  try {
    credential = await resolve(need, { tool, ...call });
  } catch (error) {
    throw missing(`which could not be resolved${forTarget}: ${errorIdentity(error)}`);
  }
  if (credential === undefined) throw missing(`which is not there${forTarget}`);
  return credential;
}
