/**
 * The port behind limits of tools: who calls asks a pacer first, and waits as a promise, which holds no thread.
 */
import type { ToolLimits } from './tool-limits.ts';

/** A call that wants to begin. */
export interface PacedCall {
  readonly tool: string;
  readonly target?: string;
  /** What the tool declares; absent for a tool that has only been found busy. */
  readonly limits?: ToolLimits;
  /** How long a busy target is worth waiting for, in ms. */
  readonly patienceMs: number;
  /** A permit that is held for longer is taken back: its run has given the call up. In ms. */
  readonly longestMs: number;
  readonly signal?: AbortSignal;
}

/** A call that may begin. */
export interface CallPermit {
  /** The call has ended: because its target was busy, or in any other way. Idempotent. */
  release(how?: 'busy'): void;
}

/** Holds the limits of tools. */
export interface CallPacer {
  /** Whether a tool is to be asked for even though it declares no limits: it has found a target busy. */
  remembers(tool: string): boolean;
  /**
   * Resolves when the call may begin; the permit is to be released when it has ended.
   *
   * @throws the signal's reason as soon as it is aborted; TargetBusyError when the target is to be left alone for longer
   * than `patienceMs`
   */
  admit(call: PacedCall): Promise<CallPermit>;
  /** A target is busy: nobody calls the tool for it (or at all, when the call named none) for so long. */
  pause(call: Pick<PacedCall, 'tool' | 'target'>, forMs: number): void;
}

/** What a pacer wants of one limit: of a tool for one target, or as a whole (`target` null). */
export interface LimitDemand {
  readonly tool: string;
  readonly target: string | null;
  /** Calls at once; absent where that is not limited. */
  readonly concurrency?: number;
  /** Calls under way. */
  readonly inUse: number;
  /** Calls under way and waiting. Nothing of both gives back what was leased. */
  readonly wanted: number;
}

/** Calls that wait for a rate. Each rate is absent where it is not limited. */
export interface StartDemand {
  readonly tool: string;
  readonly target: string | null;
  readonly perSecond?: number;
  readonly perTargetPerSecond?: number;
  readonly count: number;
}

/** Nobody is to call this for so long. */
export interface PauseNotice {
  readonly tool: string;
  readonly target: string | null;
  readonly forMs: number;
}

/** All that a pacer is about at one moment. */
export interface PermitRequest {
  readonly limits: readonly LimitDemand[];
  readonly starts: readonly StartDemand[];
  readonly pauses: readonly PauseNotice[];
}

/** What it may do, in the order of the request. */
export interface PermitReply {
  /** How many calls may be under way (where that is limited), and how long nobody may call. */
  readonly limits: readonly { readonly slots: number; readonly pausedForMs: number }[];
  /** After how many ms calls may begin, and when to ask again for those that were not given. */
  readonly starts: readonly { readonly afterMs: readonly number[]; readonly retryMs: number }[];
}

/** Where permits come from: a store that all workers share, or this process alone. One exchange at a time. */
export type PermitExchange = (request: PermitRequest) => Promise<PermitReply>;
