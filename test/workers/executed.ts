// The gateway in a real workerd, which also says which of its functions have been executed (test/support/executed-functions.ts).

import gateway from "../../src/index.ts";

export { KeyShard, Operators } from "../../src/index.ts";

/** Answers with the functions that have been executed since it was last asked, in the order of their first execution. */
const EXECUTED_PATH = "/executed";

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> {
    if (!request.url.endsWith(EXECUTED_PATH)) return gateway.fetch(request, env, ctx);
    const executed: unknown = Reflect.get(globalThis, "executedFunctions");
    if (!(executed instanceof Set)) throw new TypeError("the bundle is not instrumented");
    const taken: unknown = [...executed];
    executed.clear();
    return Response.json(taken);
  },
};
