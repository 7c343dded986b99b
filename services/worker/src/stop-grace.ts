/** How long something that was told to stop is waited for, in ms. Threads load this file too, and no store with it. */
export const STOP_GRACE_MS = 10_000;
