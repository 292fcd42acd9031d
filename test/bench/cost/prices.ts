// Cloudflare's prices on the paid plan, and the limits of one object. As of November 2026, in dollars, from
// https://developers.cloudflare.com/durable-objects/platform/pricing/, https://developers.cloudflare.com/workers/platform/pricing/ and
// https://developers.cloudflare.com/queues/platform/pricing/.

export interface Price {
  readonly what: string;
  /** Per `unit`. */
  readonly dollars: number;
  readonly unit: number;
  /** What the paid plan includes each month. */
  readonly included: number;
}

const MILLION = 1e6;

export const PRICES = {
  workerRequest: { what: "Worker request", dollars: 0.3, unit: MILLION, included: 10 * MILLION },
  objectRequest: {
    what: "object request (an alarm that fires is one too)",
    dollars: 0.15,
    unit: MILLION,
    included: MILLION,
  },
  rowWritten: {
    what: "row written (setting an alarm, deleting a row: one each)",
    dollars: 1,
    unit: MILLION,
    included: 50 * MILLION,
  },
  rowRead: { what: "row read", dollars: 0.001, unit: MILLION, included: 25_000 * MILLION },
  gigabyteSecond: { what: "GB-second of duration", dollars: 12.5, unit: MILLION, included: 400_000 },
  queueOperation: {
    what: "queue operation (each 64 KB of a message written, read or deleted)",
    dollars: 0.4,
    unit: MILLION,
    included: MILLION,
  },
  gigabyteMonth: { what: "GB-month of storage", dollars: 0.2, unit: 1, included: 5 },
} as const satisfies Readonly<Record<string, Price>>;

/** What an active object is billed as, however much of it is used. */
export const OBJECT_GIGABYTES = 0.128;

/**
 * How many calls of one object wait for response headers at once; more are queued.
 * https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections
 */
export const CALLS_AT_ONCE = 6;

/** The most that one object stores. https://developers.cloudflare.com/durable-objects/platform/limits/ */
export const STORAGE_BYTES = 10e9;
