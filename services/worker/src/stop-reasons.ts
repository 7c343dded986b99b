import type { StopReason } from '@muster/results';

/** Why a stopped run did not check a subject, in a person's words. */
export const STOP_REASONS: Readonly<Record<StopReason, string>> = {
  cancelled: 'the run was cancelled before this subject was assessed',
  deadline: 'the deadline of the run came before this subject was assessed',
  error_budget: 'the run was stopped because too many of its subjects failed',
  refused: 'the run was not approved',
  expired: 'nobody answered what the run asked in time',
  withdrawn: 'definition withdrawn: no worker offers the definition of this run any more',
};
