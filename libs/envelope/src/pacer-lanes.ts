/** What a pacer keeps of each limit, and of the calls that wait in one lane: what may begin now, and what to ask for. */
import type { CallPermit, LimitDemand, PacedCall, StartDemand } from './call-pacer.ts';
import { TargetBusyError } from './tool-busy.ts';
import type { CallLimit } from './tool-limits.ts';

/** A tool for one target, or as a whole (`target` null), as it is known here. Instants are of the pacer's clock. */
export interface Limit {
  readonly tool: string;
  readonly target: string | null;
  declared: CallLimit;
  slots: number;
  inUse: number;
  /** The most that was under way at once since the last exchange: a moment's lull gives nothing back. */
  peak: number;
  pausedUntil: number;
  /** How many calls at once what was found busy is trusted with: halved by a pause, grown by each call that ends well. */
  trust: number;
  /** Until when what the last exchange gave may be relied on. */
  validUntil: number;
  /** Whether something is leased for it. */
  leased: boolean;
}

export interface Waiter {
  readonly call: PacedCall;
  readonly since: number;
  readonly admit: (permit: CallPermit) => void;
  readonly refuse: (reason: unknown) => void;
}

/** The calls of one tool for one target, in order. */
export interface Lane {
  /** Of the tool as a whole, and of its target. */
  readonly limits: readonly Limit[];
  readonly waiters: Set<Waiter>;
  /** When calls may begin, in order, where a rate is limited. */
  starts: number[];
  askAgainAt: number;
  /** Since when it has been paused without a break. */
  pausedSince: number | undefined;
}

/** A start that nobody could use in time is given up: many of them at once would be a burst. */
const LATE_MS = 50;
const MAX_STARTS_ASKED = 1000;

export function newLimit(tool: string, target: string | null): Limit {
  const trust = Number.POSITIVE_INFINITY;
  const validUntil = Number.NEGATIVE_INFINITY;
  return {
    tool,
    target,
    declared: {},
    slots: 0,
    inUse: 0,
    peak: 0,
    pausedUntil: validUntil,
    trust,
    validUntil,
    leased: false,
  };
}

export function isRated(lane: Lane): boolean {
  return lane.limits.some(({ declared }) => declared.perSecond !== undefined);
}

export function pausedUntil(lane: Lane): number {
  return Math.max(...lane.limits.map((limit) => limit.pausedUntil));
}

/** Whether the lane's next call may begin; starts that went by are given up. */
export function mayBegin(lane: Lane, now: number): boolean {
  while (lane.starts[0] !== undefined && lane.starts[0] < now - LATE_MS) lane.starts.shift();
  if (lane.waiters.size === 0 || pausedUntil(lane) > now) return false;
  if (lane.limits.some((limit) => limit.validUntil <= now || roomOf(limit, now) < 1)) return false;
  return !isRated(lane) || (lane.starts[0] ?? Number.POSITIVE_INFINITY) <= now;
}

/** Refuses the calls that find their target paused for longer than it is worth to them. */
export function refuseImpatient(lane: Lane, now: number): void {
  const until = pausedUntil(lane);
  if (until <= now) {
    lane.pausedSince = undefined;
    return;
  }
  lane.pausedSince ??= now;
  for (const { call, since, refuse } of [...lane.waiters]) {
    if (until - Math.max(since, lane.pausedSince) <= call.patienceMs) continue;
    const seconds = Math.ceil((until - now) / 1000);
    refuse(new TargetBusyError(call.tool, call.target, `which is to be left alone for another ${seconds} s`));
  }
}

/** What to ask for a limit. `lanes` are those that wait for it. */
export function demandOf(limit: Limit, lanes: readonly Lane[], now: number): LimitDemand {
  const { tool, target, inUse, declared } = limit;
  const waiting = lanes.reduce((sum, lane) => sum + waitersFor(limit, lane, now), 0);
  return {
    tool,
    target,
    ...(declared.concurrency !== undefined && { concurrency: declared.concurrency }),
    inUse,
    wanted: Math.max(inUse + Math.max(0, Math.min(waiting, trusted(limit) - inUse)), limit.peak),
  };
}

/** How many starts a lane still needs for the calls that could go by its slots; undefined for none. */
export function startsOf(lane: Lane, now: number): StartDemand | undefined {
  const count = Math.min(ableWaiters(lane, now) - lane.starts.length, MAX_STARTS_ASKED);
  const [whole, own] = lane.limits;
  if (whole === undefined || count < 1 || !isRated(lane)) return undefined;
  return {
    tool: whole.tool,
    target: own?.target ?? null,
    ...(whole.declared.perSecond !== undefined && { perSecond: whole.declared.perSecond }),
    ...(own?.declared.perSecond !== undefined && { perTargetPerSecond: own.declared.perSecond }),
    count,
  };
}

/**
 * The calls of a lane that wait for one of its limits. For a tool as a whole only those count whose target has room, so
 * that calls for a target that is full or slow do not take the tool's slots from others; never the other way about too,
 * or neither would ever be asked for.
 */
function waitersFor(limit: Limit, lane: Lane, now: number): number {
  return limit.target === null ? ableWaiters(lane, now, limit) : pausedUntil(lane) > now ? 0 : lane.waiters.size;
}

/** The waiting calls that the lane's limits have room for, one of them left out of account. */
function ableWaiters(lane: Lane, now: number, except?: Limit): number {
  if (pausedUntil(lane) > now) return 0;
  const rooms = lane.limits.filter((limit) => limit !== except).map((limit) => roomOf(limit, now));
  return Math.max(0, Math.min(lane.waiters.size, ...rooms));
}

/** How many more calls could begin by slots and trust; before an exchange, by what is declared. */
function roomOf(limit: Limit, now: number): number {
  const { concurrency } = limit.declared;
  const slots = concurrency === undefined || limit.validUntil > now ? limit.slots : concurrency;
  return Math.min(concurrency === undefined ? Number.POSITIVE_INFINITY : slots, trusted(limit)) - limit.inUse;
}

function trusted(limit: Limit): number {
  return Math.floor(limit.trust);
}
