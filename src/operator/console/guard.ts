// Without a session nothing is shown. After signing in, people come back to the page that they asked for.

import { createMiddleware } from "hono/factory";
import { readSession } from "./session.ts";
import { sessionCookie } from "./session-cookie.ts";
import type { ConsolePorts, Paths, View } from "./view.ts";

/** What handlers behind the guard get. */
export interface Signed {
  readonly Variables: { readonly view: View };
}

export function guard(paths: Paths, { tokens, operator }: ConsolePorts) {
  return createMiddleware<Signed>(async (c, proceed) => {
    const now = Date.now();
    const session = await readSession(sessionCookie(c), tokens, now);
    // Checked last: without a valid session nobody can make the gateway call an object.
    if (session === null || session.generation !== (await operator.sessions())) {
      const { pathname, search } = new URL(c.req.url);
      const isForm = c.req.method === "POST";
      // A form's own URL shows nothing, so the record's page is used.
      const next = isForm ? pathname.replace(/\/[a-z-]+$/, "") : pathname + search;
      const query = new URLSearchParams({ next, ...(isForm ? { ended: "" } : {}) });
      return c.redirect(`${paths.signIn}?${query.toString()}`, 303);
    }
    c.set("view", { paths, viewer: session, now, isChangingLayout: operator.isChangingLayout });
    return proceed();
  });
}
