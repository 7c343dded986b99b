/**
 * Which of the things that are due are sent now: the decision alone, without a database.
 *
 * Invariants:
 * - a smaller priority number goes first, always;
 * - the window and a tenant's limit count what is sent and not done at the same or a more urgent priority, so something
 *   interactive never waits behind a window full of sweeps;
 * - within a priority, the tenant with the fewest things under way goes next; within a tenant the run with the fewest, and
 *   of equals the oldest: a small run does not wait behind a great one.
 */

/** Something that could be sent. The caller gives a tenant's things in the order in which they are due. */
export interface DueCandidate {
  readonly tenant: string;
  readonly priority: number;
  /** `assess` is a chunk, everything else a run. */
  readonly kind?: string;
  readonly runId?: string;
}

/** What is sent and not done, by tenant and priority, or finer. */
export interface InFlight {
  readonly tenant: string;
  readonly priority: number;
  readonly count: number;
  /** How many of them are chunks. */
  readonly chunks?: number;
  readonly runId?: string;
}

/** Limits of {@link chooseDue}. */
export interface DispatchLimits {
  readonly window: number;
  /** At most so many of one tenant's things under way, counted as the window counts. Default: the window. */
  readonly maxPerTenant?: number;
}

/** How many more things fit, by priority 0 to 2. Less urgent ones never find more room than urgent ones. */
export function roomByPriority(inFlight: readonly InFlight[], limits: DispatchLimits): number[] {
  return [0, 1, 2].map((priority) => {
    const sent = inFlight.filter((item) => item.priority <= priority).reduce((sum, item) => sum + item.count, 0);
    return Math.max(0, limits.window - sent);
  });
}

/**
 * Puts each tenant's things into the order in which its runs take turns, each thing counted behind what its run has under
 * way. Things of one run keep their order, and tenants their places.
 */
export function inTurnsOfRuns<T extends DueCandidate>(candidates: readonly T[], inFlight: readonly InFlight[]): T[] {
  const next = new Map<string | undefined, number>();
  for (const { runId, count } of inFlight) next.set(runId, (next.get(runId) ?? 0) + count);
  const turns = new Map<T, number>();
  for (const candidate of candidates) {
    const turn = next.get(candidate.runId) ?? 0;
    next.set(candidate.runId, turn + 1);
    turns.set(candidate, turn);
  }
  const queues = Map.groupBy(candidates, (candidate) => candidate.tenant);
  for (const [tenant, queue] of queues) {
    queues.set(
      tenant,
      queue.toSorted((a, b) => turns.get(a)! - turns.get(b)!),
    );
  }
  return candidates.map(({ tenant }) => queues.get(tenant)!.shift()!);
}

/**
 * Leaves out the chunks of tenants that have as many under way as they may, whatever the priorities: what is more urgent
 * and older keeps the places that are left.
 *
 * @param maxChunks by tenant; one that is not in it has no limit
 */
export function withinChunkQuotas<T extends DueCandidate>(
  candidates: readonly T[],
  inFlight: readonly InFlight[],
  maxChunks: ReadonlyMap<string, number>,
): T[] {
  if (maxChunks.size === 0) return [...candidates];
  const left = new Map(maxChunks);
  const take = (tenant: string, count: number) => left.set(tenant, (left.get(tenant) ?? Infinity) - count);
  for (const { tenant, chunks = 0 } of inFlight) take(tenant, chunks);
  const kept = new Set<T>();
  for (const candidate of candidates.toSorted((a, b) => a.priority - b.priority)) {
    if (candidate.kind === 'assess') {
      if (left.get(candidate.tenant)! <= 0) continue;
      take(candidate.tenant, 1);
    }
    kept.add(candidate);
  }
  return candidates.filter((candidate) => kept.has(candidate));
}

/** Chooses what to send, in the order in which to send it. */
export function chooseDue<T extends DueCandidate>(
  candidates: readonly T[],
  inFlight: readonly InFlight[],
  limits: DispatchLimits,
): T[] {
  const chosen: T[] = [];
  for (const priority of [...new Set(candidates.map((candidate) => candidate.priority))].sort((a, b) => a - b)) {
    // What is less urgent holds nobody up; what was chosen so far is all more urgent.
    const sent = inFlight.filter((item) => item.priority <= priority);
    const free = limits.window - sent.reduce((sum, item) => sum + item.count, 0) - chosen.length;
    const due = candidates.filter((candidate) => candidate.priority === priority);
    chosen.push(...takeInTurns(due, countByTenant(sent, chosen), free, limits.maxPerTenant ?? limits.window));
  }
  return chosen;
}

function countByTenant(sent: readonly InFlight[], chosen: readonly DueCandidate[]): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (tenant: string, count: number) => counts.set(tenant, (counts.get(tenant) ?? 0) + count);
  for (const { tenant, count } of sent) add(tenant, count);
  for (const { tenant } of chosen) add(tenant, 1);
  return counts;
}

/** Takes from the tenants in turns, counting what each has under way; `byTenant` is kept up to date. */
function takeInTurns<T extends DueCandidate>(
  due: readonly T[],
  byTenant: Map<string, number>,
  free: number,
  maxPerTenant: number,
): T[] {
  const queues = Map.groupBy(due, (candidate) => candidate.tenant);
  const taken: T[] = [];
  while (taken.length < free) {
    const next = leastBusy(queues, byTenant, maxPerTenant);
    if (next === undefined) break;
    taken.push(queues.get(next)!.shift()!);
    byTenant.set(next, (byTenant.get(next) ?? 0) + 1);
  }
  return taken;
}

function leastBusy(
  queues: ReadonlyMap<string, readonly unknown[]>,
  byTenant: ReadonlyMap<string, number>,
  maxPerTenant: number,
): string | undefined {
  let best: string | undefined;
  for (const [tenant, queue] of queues) {
    const busy = byTenant.get(tenant) ?? 0;
    if (queue.length === 0 || busy >= maxPerTenant) continue;
    // Tenants stand in the order of their oldest thing, so a tie goes to the one who waits longest.
    if (best === undefined || busy < (byTenant.get(best) ?? 0)) best = tenant;
  }
  return best;
}
