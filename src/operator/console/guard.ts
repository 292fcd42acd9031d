// Nobody without a session sees anything; who is asked for the token comes back to where they wanted to go.

import { createMiddleware } from "hono/factory";
import { readSession } from "./session.ts";
import { sessionCookie } from "./session-cookie.ts";
import type { ConsolePorts, Paths, View } from "./view.ts";

/** What the handlers behind the guard know. */
export interface Signed {
  readonly Variables: { readonly view: View };
}

export function guard(paths: Paths, { tokens, operator }: ConsolePorts) {
  return createMiddleware<Signed>(async (c, proceed) => {
    const now = Date.now();
    const session = await readSession(sessionCookie(c), tokens, now);
    // Asked for a session that is good otherwise: nobody without one makes the gateway call an object.
    if (session === null || session.generation !== (await operator.sessions())) {
      const { pathname, search } = new URL(c.req.url);
      const isForm = c.req.method === "POST";
      // A form's own address shows nothing; the record's, of which it is a part, does.
      const next = isForm ? pathname.replace(/\/[a-z-]+$/, "") : pathname + search;
      const query = new URLSearchParams({ next, ...(isForm ? { ended: "" } : {}) });
      return c.redirect(`${paths.signIn}?${query.toString()}`, 303);
    }
    c.set("view", { paths, viewer: session, now });
    return proceed();
  });
}
