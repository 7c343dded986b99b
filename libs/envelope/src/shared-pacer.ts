/**
 * A pacer over an exchange of permits: calls wait here in lanes, one for each tool and target, and begin with what the
 * exchange gave.
 *
 * Invariants:
 * - a call begins only with a slot of its tool and of its target, at a start that was given, and while neither is paused;
 * - what was given is relied on for a while after its exchange and no longer: cut off from the store, nothing begins;
 * - lanes take turns, so that a slow target does not keep a tool's slots from the others;
 * - there is one exchange at a time, for all that waits or goes on, and none while nothing does.
 */
import type { CallPacer, CallPermit, PacedCall, PauseNotice, PermitExchange, PermitReply } from './call-pacer.ts';
import { memoryPermits } from './memory-permits.ts';
import {
  demandOf,
  isRated,
  type Lane,
  type Limit,
  mayBegin,
  newLimit,
  pausedUntil,
  refuseImpatient,
  startsOf,
  type Waiter,
} from './pacer-lanes.ts';
import type { Timers } from './run-chart.ts';
import type { CallLimit } from './tool-limits.ts';

/** Options of {@link SharedPacer}. */
export interface SharedPacerOptions {
  /** How long what an exchange gave may be relied on, from when it was asked for. Default: for ever. */
  readonly validMs?: number;
  /** Told when an exchange failed; it is tried again. */
  readonly onError?: (error: unknown) => void;
  readonly timers?: Timers;
  /** A clock that only goes forward, in ms. */
  readonly elapsedMs?: () => number;
}

/** Between two exchanges: at least; while calls wait for slots; while calls only go on. */
const [LEAST_MS, WAITING_MS, QUIET_MS] = [5, 50, 250];
const FAILED_MS = 500;
/** How long it is remembered what a target that was busy is trusted with. */
const TRUST_MS = 60_000;

interface HeldPermit {
  readonly limits: readonly Limit[];
  readonly until: number;
}

/** Holds the limits of tools with permits from an exchange: a store that many processes share, or one's own memory. */
export class SharedPacer implements CallPacer {
  readonly #exchange: PermitExchange;
  readonly #options: SharedPacerOptions;
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #limits = new Map<string, Limit>();
  readonly #lanes = new Map<string, Lane>();
  readonly #held = new Set<HeldPermit>();
  readonly #remembered = new Set<string>();
  #pauses: PauseNotice[] = [];
  #timer: { readonly handle: unknown; readonly at: number } | undefined;
  #exchangedAt = Number.NEGATIVE_INFINITY;
  #notBefore = Number.NEGATIVE_INFINITY;
  #exchangeAt = Number.POSITIVE_INFINITY;
  #exchanging: Promise<void> | undefined;
  #advancing = false;
  #closed = false;

  constructor(exchange: PermitExchange, options: SharedPacerOptions = {}) {
    this.#exchange = exchange;
    this.#options = options;
    this.#timers = options.timers ?? (globalThis as unknown as Timers);
    this.#now = options.elapsedMs ?? (() => performance.now());
  }

  remembers(tool: string): boolean {
    return this.#remembered.has(tool);
  }

  admit(call: PacedCall): Promise<CallPermit> {
    const { signal } = call;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#closed) return reject(closedError());
      const lane = this.#laneOf(call);
      const leave = () => {
        lane.waiters.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => waiter.refuse(signal?.reason);
      const waiter: Waiter = {
        call,
        since: this.#now(),
        admit(permit) {
          leave();
          resolve(permit);
        },
        refuse(reason) {
          leave();
          reject(reason);
        },
      };
      signal?.addEventListener('abort', onAbort);
      lane.waiters.add(waiter);
      this.#advanceSoon();
    });
  }

  pause({ tool, target }: Pick<PacedCall, 'tool' | 'target'>, forMs: number): void {
    this.#remembered.add(tool);
    const now = this.#now();
    const limit = this.#limit(tool, asTarget(target));
    // Several calls that are refused at once say one thing.
    if (limit.pausedUntil <= now) limit.trust = Math.max(1, Math.floor(Math.min(limit.trust, limit.inUse) / 2));
    limit.pausedUntil = Math.max(limit.pausedUntil, now + forMs);
    this.#pauses.push({ tool, target: limit.target, forMs });
    this.#advanceSoon();
  }

  /** Refuses whoever waits, and resolves when no exchange is under way. What was leased is the store's to take back. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== undefined) this.#timers.clearTimeout(this.#timer.handle);
    for (const lane of this.#lanes.values()) for (const waiter of [...lane.waiters]) waiter.refuse(closedError());
    await this.#exchanging;
  }

  #laneOf({ tool, target, limits }: PacedCall): Lane {
    const of = asTarget(target);
    const key = keyOf(tool, of);
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const whole = this.#limit(tool, null, limits);
    const all = of === null ? [whole] : [whole, this.#limit(tool, of, limits && (limits.perTarget ?? {}))];
    const lane: Lane = { limits: all, waiters: new Set(), starts: [], askAgainAt: 0, pausedSince: undefined };
    this.#lanes.set(key, lane);
    return lane;
  }

  #limit(tool: string, target: string | null, declared?: CallLimit): Limit {
    const key = keyOf(tool, target);
    const limit = this.#limits.get(key) ?? newLimit(tool, target);
    if (declared !== undefined) limit.declared = declared;
    this.#limits.set(key, limit);
    return limit;
  }

  /** Once for all that comes within one turn of the event loop. */
  #advanceSoon(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    queueMicrotask(() => {
      this.#advancing = false;
      this.#advance();
    });
  }

  /** Lets begin what may, and sees to it that somebody looks again at the right moment. */
  #advance(): void {
    if (this.#closed) return;
    const now = this.#now();
    for (const [key, lane] of this.#lanes) {
      refuseImpatient(lane, now);
      if (!mayBegin(lane, now)) continue;
      this.#begin(lane, now);
      // Behind the others, where this loop comes by once more.
      this.#lanes.delete(key);
      this.#lanes.set(key, lane);
    }
    this.#plan(now);
  }

  #begin(lane: Lane, now: number): void {
    const [waiter] = lane.waiters;
    if (waiter === undefined) return;
    if (isRated(lane)) lane.starts.shift();
    const held: HeldPermit = { limits: lane.limits, until: now + waiter.call.longestMs };
    for (const limit of lane.limits) {
      limit.inUse++;
      limit.peak = Math.max(limit.peak, limit.inUse);
    }
    this.#held.add(held);
    waiter.admit({
      release: (how) => {
        if (!this.#giveBack(held)) return;
        if (how !== 'busy') for (const limit of held.limits) limit.trust += 1 / limit.trust;
        this.#advanceSoon();
      },
    });
  }

  #giveBack(held: HeldPermit): boolean {
    if (!this.#held.delete(held)) return false;
    for (const limit of held.limits) limit.inUse--;
    return true;
  }

  /** Sets the one timer to the next moment at which something is to be done. */
  #plan(now: number): void {
    let look = Number.POSITIVE_INFINITY;
    let exchange = this.#pauses.length > 0 ? now : Number.POSITIVE_INFINITY;
    const exchangeWhile = (ms: number) => {
      exchange = Math.min(exchange, this.#exchangedAt + ms);
    };
    for (const limit of this.#limits.values()) if (limit.inUse > 0 || limit.leased) exchangeWhile(QUIET_MS);
    for (const lane of this.#lanes.values()) {
      if (lane.waiters.size === 0) continue;
      exchangeWhile(lane.limits.some((limit) => limit.validUntil <= now) ? LEAST_MS : WAITING_MS);
      const paused = pausedUntil(lane);
      if (paused > now) look = Math.min(look, paused);
      else if (startsOf(lane, now) !== undefined) exchange = Math.min(exchange, Math.max(now, lane.askAgainAt));
      // One that is due already waits for a slot: whoever gives it back looks again.
      const start = lane.starts[0];
      if (start !== undefined && start > now) look = Math.min(look, start);
    }
    this.#exchangeAt = this.#exchanging === undefined ? Math.max(exchange, this.#notBefore) : Number.POSITIVE_INFINITY;
    this.#wakeAt(Math.min(look, this.#exchangeAt), now);
  }

  #wakeAt(at: number, now: number): void {
    if (this.#timer?.at === at) return;
    if (this.#timer !== undefined) this.#timers.clearTimeout(this.#timer.handle);
    this.#timer = undefined;
    if (at === Number.POSITIVE_INFINITY) return;
    const handle = this.#timers.setTimeout(() => this.#wake(), Math.max(0, Math.ceil(at - now)));
    this.#timer = { handle, at };
  }

  #wake(): void {
    this.#timer = undefined;
    const now = this.#now();
    for (const held of this.#held) if (held.until <= now) this.#giveBack(held);
    if (this.#exchanging === undefined && this.#exchangeAt <= now) {
      this.#exchanging = this.#ask().finally(() => {
        this.#exchanging = undefined;
        this.#advance();
      });
    }
    this.#advance();
  }

  async #ask(): Promise<void> {
    const askedAt = this.#now();
    const waiting = [...this.#lanes.values()].filter((lane) => lane.waiters.size > 0);
    const pauses = this.#pauses;
    this.#pauses = [];
    const rated = waiting.flatMap((lane) => {
      const starts = lane.askAgainAt <= askedAt ? startsOf(lane, askedAt) : undefined;
      return starts === undefined ? [] : [{ lane, starts }];
    });
    const { asked, demands } = this.#demands(waiting, pauses, askedAt);
    // The store may take back whatever is not said to be in use, so nothing more begins until it has answered.
    for (const limit of asked) limit.slots = Math.min(limit.slots, limit.inUse);
    try {
      const reply = await this.#exchange({ limits: demands, starts: rated.map(({ starts }) => starts), pauses });
      const now = this.#now();
      for (const [index, limit] of asked.entries()) {
        this.#take(limit, reply.limits[index], now);
        limit.validUntil = askedAt + (this.#options.validMs ?? Number.POSITIVE_INFINITY);
        limit.leased = limit.declared.concurrency !== undefined && (demands[index]?.wanted ?? 0) > 0;
      }
      for (const [index, { lane }] of rated.entries()) {
        const { afterMs = [], retryMs = 0 } = reply.starts[index] ?? {};
        lane.starts.push(...afterMs.map((ms) => now + ms));
        lane.askAgainAt = now + (retryMs === 0 ? 0 : Math.max(retryMs, WAITING_MS));
      }
      this.#exchangedAt = now;
      this.#notBefore = now + LEAST_MS;
      this.#forget(now);
    } catch (error) {
      this.#pauses = [...pauses, ...this.#pauses];
      this.#notBefore = this.#now() + FAILED_MS;
      this.#options.onError?.(error);
    }
  }

  /** What to ask for each limit that something waits for, goes on under, or is leased or to be said for. */
  #demands(waiting: readonly Lane[], pauses: readonly PauseNotice[], now: number) {
    const lanes = new Map<Limit, Lane[]>();
    for (const lane of waiting) {
      for (const limit of lane.limits) {
        const known = lanes.get(limit);
        if (known === undefined) lanes.set(limit, [lane]);
        else known.push(lane);
      }
    }
    const told = new Set(pauses.map(({ tool, target }) => keyOf(tool, target)));
    const asked = [...this.#limits].flatMap(([key, limit]) =>
      limit.inUse > 0 || limit.leased || lanes.has(limit) || told.has(key) ? [limit] : [],
    );
    const demands = asked.map((limit) => demandOf(limit, lanes.get(limit) ?? [], now));
    for (const limit of asked) limit.peak = limit.inUse;
    return { asked, demands };
  }

  #take(limit: Limit, given: PermitReply['limits'][number] | undefined, now: number): void {
    if (given === undefined) return;
    limit.slots = given.slots;
    const untold = this.#pauses.some(({ tool, target }) => tool === limit.tool && target === limit.target);
    const told = given.pausedForMs > 0 ? now + given.pausedForMs : Math.min(limit.pausedUntil, now);
    limit.pausedUntil = untold ? Math.max(told, limit.pausedUntil) : told;
  }

  /** Forgets lanes without calls, and limits that nothing is known of any more. */
  #forget(now: number): void {
    for (const [key, lane] of this.#lanes) {
      if (lane.waiters.size === 0 && (lane.starts.at(-1) ?? 0) <= now) this.#lanes.delete(key);
    }
    const inLanes = new Set([...this.#lanes.values()].flatMap((lane) => lane.limits));
    for (const [key, limit] of this.#limits) {
      if (limit.inUse > 0 || limit.leased || inLanes.has(limit) || limit.pausedUntil + TRUST_MS > now) continue;
      this.#limits.delete(key);
    }
  }
}

/** A pacer for one process alone. */
export function memoryPacer(options: Omit<SharedPacerOptions, 'validMs'> = {}): SharedPacer {
  const { elapsedMs = () => performance.now() } = options;
  return new SharedPacer(memoryPermits(elapsedMs), { ...options, elapsedMs });
}

function asTarget(target: string | undefined): string | null {
  return target === undefined || target === '' ? null : target;
}

function keyOf(tool: string, target: string | null): string {
  return JSON.stringify([tool, target]);
}

function closedError(): Error {
  return new Error('limits of tools are no longer held here: the process stops');
}
