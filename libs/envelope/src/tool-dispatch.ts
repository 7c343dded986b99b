import { absenceSignalOf, RunbookAbsenceSignal, readAbsence } from './absence.ts';

/** Options of one inner call. */
export interface ToolDispatchCallOptions {
  /** Aborts the inner tool; the run's own signal is used when it is left out. */
  readonly signal?: AbortSignal;
  /** Let an absence come back as a result instead of ending the run; the call site then states the gap itself. */
  readonly allowAbsent?: boolean;
  /** The target that the call is for (a cluster, a host); a subject's own when it is left out in a fleet. */
  readonly target?: string;
}

/** The time limit of a run: it stands still from `hold` until what that gives back is called. */
export interface RunClock {
  hold(): () => void;
}

/** The tools as a procedure's stages see them. */
export interface ToolDispatch {
  /** Whether a tool of this name is registered. */
  has(name: string): boolean;
  /** Executes the registered tool and returns its result exactly as it returned it. */
  call(name: string, args?: unknown, options?: ToolDispatchCallOptions): Promise<unknown>;
  /**
   * The same tools for a run whose time limit is to stand still while a call waits for a limit of its tool. Only a
   * dispatch that holds limits has it.
   */
  timedBy?(clock: RunClock): ToolDispatch;
  /** The same tools for a run that goes on after it made so many calls: no two calls of a run have one id. */
  numberedFrom?(calls: number): ToolDispatch;
}

/** One inner call, as it went. `result` is there unless the call failed. */
export interface InnerCallRecord {
  readonly tool: string;
  readonly outcome: 'ok' | 'absent' | 'error';
  readonly result?: unknown;
}

/** A dispatch that writes down every call made through it. */
export interface RecordedDispatch {
  readonly tools: ToolDispatch;
  readonly records: readonly InnerCallRecord[];
}

/**
 * Wraps delivered tools so that every call is recorded, and an absence ends the run unless the call allowed it.
 *
 * @param delivered the tools of this run, or undefined when none were delivered: every call then refuses by name
 * @param name the runbook's name, for the refusal
 * @param clock the run's time limit, which stands still while a call waits for a limit of its tool
 */
export function recordingDispatch(
  delivered: ToolDispatch | undefined,
  name: string,
  clock?: RunClock,
): RecordedDispatch {
  const records: InnerCallRecord[] = [];
  const timed = clock === undefined ? delivered : (delivered?.timedBy?.(clock) ?? delivered);
  const tools: ToolDispatch = {
    has: (tool) => delivered?.has(tool) ?? false,
    async call(tool, args, options) {
      if (timed === undefined) {
        records.push({ tool, outcome: 'error' });
        throw new Error(
          `runbook '${name}' called the tool '${tool}', but no dispatch was delivered: give the run its tools as \`tools\` of the call's context`,
        );
      }
      let result: unknown;
      try {
        result = await timed.call(tool, args, options);
      } catch (error) {
        const absence = absenceSignalOf(error);
        records.push(
          absence === undefined ? { tool, outcome: 'error' } : { tool, outcome: 'absent', result: absence.absence },
        );
        if (absence !== undefined && options?.allowAbsent === true) return absence.absence;
        throw error;
      }
      const absence = readAbsence(result);
      if (absence === undefined) {
        records.push({ tool, outcome: 'ok', result });
        return result;
      }
      records.push({ tool, outcome: 'absent', result });
      if (options?.allowAbsent === true) return result;
      throw new RunbookAbsenceSignal(result, tool);
    },
  };
  return { tools, records };
}

/**
 * The dispatch a procedure is probed with at definition, to read its chart's contract: it has no tools, and a call
 * refuses and says why.
 */
export function probeDispatch(name: string): ToolDispatch {
  return {
    has: () => false,
    call(tool) {
      // Thrown and not a rejected promise: a procedure that is being defined awaits nothing.
      throw new Error(
        `runbook '${name}' called the tool '${tool}' while it was being defined; call tools inside a stage, not in the procedure itself`,
      );
    },
  };
}
