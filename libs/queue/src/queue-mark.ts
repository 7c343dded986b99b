/**
 * A mark in the queue's store, beside the jobs: where it is missing, the store has lost all it had (or is a new one), and
 * everything unfinished has to be sent again. It is set only after that was seen to.
 */
export interface QueueMark {
  isThere(): Promise<boolean>;
  /** Whoever sets it keeps others from setting it at the same time. */
  set(): Promise<void>;
  close(): Promise<void>;
}
