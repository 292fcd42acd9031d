// The times of every interleaving: short ones, so that locks, pauses and retentions end within some steps.

/** Where virtual time begins: a multiple of every expiry bucket's width. */
export const START_MS = 1_000_000;
export const TIMEOUT_MS = 30;
export const LOCK_MS = 40;
export const RETENTION_MS = 200;
/** How long a record lives at least, since the clock may have gone back when it was settled. */
export const LEAST_RETENTION_MS = RETENTION_MS - 20;
export const UNKNOWN_RETENTION_MS = 500;
export const LEAST_UNKNOWN_RETENTION_MS = UNKNOWN_RETENTION_MS - 20;
/** So long that the alarm finds the record expired and its key still remembered: expiry buckets are a second wide. */
export const REMEMBER_MS = 2_500;
export const LEAST_REMEMBER_MS = REMEMBER_MS - 20;
export const WAIT_MS = 25;

/** How long what the origin has done may not show in what it is asked. */
export const SETTLE_MS = 25;

/** By how much a clock is ahead: by less than any pause, by hours, and by more than anything waits. */
export const JUMPS_MS: readonly number[] = [1_000, 30_000, 600_000, 3_700_000, 40_000_000, 90_000_000, 60 * 86_400_000];
