// A gateway in plain JavaScript that answers by itself what no route protects. It tells what it was called with.

import { createOnceway } from "../../src/library.ts";

export { KeyShard } from "../../src/library.ts";

/** What has happened after an answer, by path. */
const after = [];

export default createOnceway({
  unprotected(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throws") throw new Error("no page");
    if (pathname === "/nothing") return undefined;
    ctx.waitUntil(scheduler.wait(1).then(() => after.push(pathname)));
    const { method, headers } = request;
    return Response.json({ method, pathname, attempt: headers.get("Idempotency-Attempt"), word: env.WORD, after });
  },
});
