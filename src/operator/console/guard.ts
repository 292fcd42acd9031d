// Without a session, or an assertion of Access, nothing is shown. After signing in, people come back to the page that they asked for. With
// one, only a window is shown a page, or the console's own script, which knows the form token of the page that it refreshes: to a browser, every
// page of this host is the console's own, and one whose script can read a form can send it.

import { createMiddleware } from "hono/factory";
import { timingSafeEqual } from "hono/utils/buffer";
import { type Actor, clientAddress, assertionOf, isBrowsers, opensPage } from "../access/auth.ts";
import type { FormFields } from "../form.ts";
import { formTokenOf, readSession } from "./session.ts";
import { sessionCookie } from "./session-cookie.ts";
import { type ConsolePorts, type ConsolePaths, siteOf, type ConsoleView, type ConsoleViewer } from "./view.ts";

/** What handlers behind the guard get. */
export interface SignedRequest {
  readonly Variables: {
    readonly view: ConsoleView;
    /** Of the form that was sent; of a page that is only shown none. */
    readonly fields: FormFields;
  };
}

export function consoleGuard(paths: ConsolePaths, ports: ConsolePorts) {
  const { tokens, auth, operator, features } = ports;
  const links = features.flatMap(({ link }) => link ?? []);
  return createMiddleware<SignedRequest>(async (c, proceed) => {
    const now = Date.now();
    const { headers } = c.req.raw;
    const show = async (actor: Actor, formToken: string): Promise<Response | void> => {
      if (!(await isShown(headers, formToken))) return c.text(NOT_SHOWN, 403);
      c.set("fields", {});
      const viewer: ConsoleViewer = { actor, formToken };
      c.set("view", {
        site: siteOf(c.req.raw, ports),
        paths,
        viewer,
        now,
        isChangingLayout: operator.isChangingLayout,
        links,
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
    return show({ name, role, via: "token", address: clientAddress(headers) }, formToken);
  });
}

const NOT_SHOWN =
  "The console is shown in a window of its own, never to a script or a frame of another page. If this is a window, a service worker of " +
  "this host has asked for it: give operators a host of their own (hostname in [vars.OPERATOR_API]).";

/** The console's script sends the form token here. */
const PAGE_TOKEN = "onceway-page";

async function isShown(headers: Headers, formToken: string): Promise<boolean> {
  if (!isBrowsers(headers) || opensPage(headers)) return true;
  return timingSafeEqual(headers.get(PAGE_TOKEN) ?? "", formToken);
}
