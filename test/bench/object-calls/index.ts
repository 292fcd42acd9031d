// The gateway, which also says how many requests its objects have answered: the others were answered from the Worker's memory.

import gateway, { KeyShard as GatewayShard } from "../../../src/index.ts";
import { EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";

export { Operators } from "../../../src/index.ts";

/** Answers with the number of exchanges in objects so far. */
const CALLS_PATH = "/object-calls";

let calls = 0;

export class KeyShard extends GatewayShard {
  override fetch(request: Request): Promise<Response> {
    if (request.url === EXCHANGE_CALL.url) calls += 1;
    return super.fetch(request);
  }
}

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> {
    return new URL(request.url).pathname === CALLS_PATH ? Response.json(calls) : gateway.fetch(request, env, ctx);
  },
};
