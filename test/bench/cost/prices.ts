// Cloudflare's prices on the paid plan beyond what is included (developers.cloudflare.com/durable-objects/platform/pricing
// and /workers/platform/pricing, late 2026), and what an object is billed by.

export interface Price {
  readonly what: string;
  /** Per million. */
  readonly dollars: number;
}

export const PRICES = {
  workerRequest: { what: "Worker request", dollars: 0.3 },
  objectRequest: { what: "object request (an alarm that fires is one too)", dollars: 0.15 },
  rowWritten: { what: "row written (setting an alarm, deleting a row: one each)", dollars: 1 },
  rowRead: { what: "row read", dollars: 0.001 },
  gigabyteSecond: { what: "GB-second of duration", dollars: 12.5 },
} as const satisfies Readonly<Record<string, Price>>;

/** What an active object is billed as, however much of it is used. */
export const OBJECT_GIGABYTES = 0.128;

/** How many calls of one object wait for response headers at once; more are queued. */
export const CALLS_AT_ONCE = 6;
