/**
 * What handling a job came to. Throwing is for surprises; these are not.
 *
 * - `completed`: the work took effect, here or already elsewhere;
 * - `retry`: it could not be done now, and may go later (a store is away);
 * - `snoozed`: this worker is the wrong one, or it is too early;
 * - `handed_back`: this worker is stopping; somebody else takes it at once;
 * - `discarded`: there is nothing left to do (a stale dispatch, a settled chunk).
 */
export type JobOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'snoozed'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'handed_back' }
  | { readonly kind: 'discarded'; readonly reason: string };

export const COMPLETED: JobOutcome = { kind: 'completed' };
export const HANDED_BACK: JobOutcome = { kind: 'handed_back' };
