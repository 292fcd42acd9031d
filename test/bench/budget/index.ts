// The gateway in a real workerd, which also says what its requests have cost: test/kernel/e2e/contract/budget.test.ts compares that
// with the table in test/bench/README.md.

import { count, countCalls, pendingTimers, takeCounts } from "./count-globals.ts";
import gateway, { KeyShard as GatewayShard } from "../../../src/index.ts";

export { Operators } from "../../../src/index.ts";

/** Answers with the counts since it was last asked. */
const COUNTS_PATH = "/counts";

/** Answers with the number of timers that are pending: none is, once the object has written its counts. */
const PENDING_PATH = "/pending";

/** A rate limiter, which plain workerd has not. */
const NEW_KEYS = {
  limit: () => {
    count("awaited I/O");
    return Promise.resolve({ success: true });
  },
};

let isStorageCounted = false;

export class KeyShard extends GatewayShard {
  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    super(state, { ...env, NEW_KEYS });
    if (isStorageCounted) return;
    isStorageCounted = true;
    countCalls(Object.getPrototypeOf(state.storage.sql), "exec", "SQL statement", "SQL value");
    countCalls(Object.getPrototypeOf(state), "waitUntil", "waitUntil");
  }

  override fetch(request: Request): Promise<Response> {
    // The Worker's call.
    count("awaited I/O");
    return super.fetch(request);
  }
}

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> {
    if (request.url.endsWith(PENDING_PATH)) return Response.json(pendingTimers());
    return request.url.endsWith(COUNTS_PATH) ? Response.json(takeCounts()) : gateway.fetch(request, env, ctx);
  },
};
