// The greatest values that a setting may have, each with the reason. Beyond them lies what the platform ends or what no
// operator can mean; relations between settings are not among them.

import type { ForwardKey } from "./resolved.ts";
import { DAY_MS, HOUR_MS, MEGABYTE, MINUTE_MS } from "./units.ts";

/** An operation of a Durable Object lives for 15 minutes at most: the platform ends a longer wait itself. */
export const MAX_TIMEOUT_MS = 15 * MINUTE_MS;
/** A lock that nobody ends blocks its key for this long; it has to exceed every possible timeout. */
export const MAX_LOCK_MS = HOUR_MS;
/** Nobody between the client and the gateway keeps a silent connection for longer. */
export const MAX_WAIT_MS = 5 * MINUTE_MS;
/** Records cost storage; a client that retries after a year is not retrying. */
export const MAX_RETENTION_MS = 365 * DAY_MS;
/** The largest request body that the platform takes (Business plan); less on the others. */
export const MAX_REQUEST_BODY_BYTES = 200 * MEGABYTE;
/** A tenth of what one object can store, so that one record cannot fill its shard. */
export const MAX_RESPONSE_BODY_BYTES = 1_000 * MEGABYTE;
/** At 300 ms per call, more than a million first requests per second. */
export const MAX_SHARDS = 65_536;
/** `draft-ietf-httpapi-idempotency-key-header` leaves the length open; this is Onceway's. */
export const MAX_KEY_LENGTH = 255;

/** The longest key that a route takes: what the origin gets, with the step's name, is a key too. */
export function longestKey(forwardKey: ForwardKey): number {
  return forwardKey.kind === "step" ? MAX_KEY_LENGTH - `:${forwardKey.step}`.length : MAX_KEY_LENGTH;
}
