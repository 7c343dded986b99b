export {
  decideTick,
  OVERLAP_POLICIES,
  type OverlapPolicy,
  type TickDecision,
  type TickSituation,
} from './decide-tick.ts';
export { dueInstant } from './due-instant.ts';
export { MAX_SLOTS, slotsBetween } from './slots.ts';
export { describeTiming, type Timing, timingSchema } from './timing.ts';
