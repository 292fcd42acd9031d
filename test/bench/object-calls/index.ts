// The gateway, which also says how many calls its objects have answered, and how many of them were exchanges: the others were answered from the
// Worker's memory. In workerd, all objects of a process are in one isolate with the Worker, so calls of objects to each other count too.

import gateway, { KeyShard as GatewayShard } from "../../../src/index.ts";
import { EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";

export { Operators } from "../../../src/index.ts";

/** Answers with the numbers of calls and of exchanges so far. */
const CALLS_PATH = "/object-calls";

let calls = 0;
let exchanges = 0;

export class KeyShard extends GatewayShard {
  override fetch(request: Request): Promise<Response> {
    calls += 1;
    if (request.url === EXCHANGE_CALL.url) exchanges += 1;
    return super.fetch(request);
  }
}

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> {
    if (new URL(request.url).pathname === CALLS_PATH) return Response.json({ calls, exchanges });
    return gateway.fetch(request, env, ctx);
  },
};
