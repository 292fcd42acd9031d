// Without a session, or an assertion of Access, nothing is shown. After signing in, people come back to the page that they asked for.

import { createMiddleware } from "hono/factory";
import { type Actor, addressOf, assertionOf } from "../access/auth.ts";
import { formTokenOf, readSession } from "./session.ts";
import { sessionCookie } from "./session-cookie.ts";
import { type ConsolePorts, type Paths, siteOf, type View, type Viewer } from "./view.ts";

/** What handlers behind the guard get. */
export interface Signed {
  readonly Variables: { readonly view: View };
}

export function guard(paths: Paths, ports: ConsolePorts) {
  const { tokens, auth, operator } = ports;
  return createMiddleware<Signed>(async (c, proceed) => {
    const now = Date.now();
    const { headers } = c.req.raw;
    const show = (actor: Actor, formToken: string): Promise<void> => {
      const viewer: Viewer = { actor, formToken };
      c.set("view", {
        site: siteOf(c.req.raw, ports),
        paths,
        viewer,
        now,
        isChangingLayout: operator.isChangingLayout,
      });
      return proceed();
    };
    const byAccess = await auth.admitByAccess(headers);
    if (byAccess?.kind === "refused") throw new Error(byAccess.problem.code);
    if (byAccess !== null) return show(byAccess.actor, await formTokenOf(assertionOf(headers)));
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
    const { name, role, formToken } = session;
    return show({ name, role, via: "token", address: addressOf(headers) }, formToken);
  });
}
