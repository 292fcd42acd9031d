// The console: web pages for operators, rendered by the server, usable without script, and closed without a session. It uses
// the same `Operator` as the API and decides nothing itself.

import { Hono } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { describeOperatorProblem } from "../../kernel/record/operator-problem.ts";
import { AuditUnavailable } from "../audited.ts";
import { SCRIPT, STYLE } from "./assets.ts";
import { adminForm, changeRoutes } from "./change.tsx";
import { answerRefusedForm, FormRefused, NOT_OURS } from "../form.ts";
import { consoleGuard, type SignedRequest } from "./guard.ts";
import { pageRoutes } from "./pages.tsx";
import { MessagePage, showPage } from "./page.tsx";
import { sessionRoutes } from "./sessions.tsx";
import { signingIn } from "./sign-in.tsx";
import { ExampleFinder } from "../resolve-example.ts";
import { type ConsolePorts, pathsBelow, siteOf } from "./view.ts";

/** What a page may do in a browser: load its own style sheet and script, send forms to itself, and nothing else. */
const consoleHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    imgSrc: ["data:"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
  },
  crossOriginOpenerPolicy: "same-origin",
  crossOriginResourcePolicy: "same-origin",
  // The console's URLs contain keys. Browsers then send "Origin: null" with forms, and Sec-Fetch-Site is checked instead.
  referrerPolicy: "no-referrer",
  // The host is the API's: the console must not decide that it is reachable only over https.
  strictTransportSecurity: false,
  xFrameOptions: "DENY",
});

export function createConsole(ports: ConsolePorts): Hono<SignedRequest> {
  const paths = pathsBelow(ports.basePath);
  const app = new Hono<SignedRequest>();
  app.use(consoleHeaders);
  for (const [path, text, type] of [
    [paths.style, STYLE.text, "text/css"],
    [paths.script, SCRIPT.text, "text/javascript"],
  ] as const) {
    app.get(path, (c) =>
      c.body(text, 200, { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "max-age=31536000, immutable" }),
    );
  }
  app.use(async (c, next) => {
    await next();
    c.header("Cache-Control", "no-store");
  });
  const say = (request: Request, status: FormRefused["status"] | 404, title: string, text: string) =>
    showPage(<MessagePage site={siteOf(request, ports)} paths={paths} title={title} text={text} />, status);
  app.onError(async (error, c) => {
    // Of another site (hono/csrf).
    const refused = error instanceof HTTPException ? new FormRefused(403, "Form refused", NOT_OURS, null) : error;
    if (refused instanceof FormRefused) {
      return answerRefusedForm(await say(c.req.raw, refused.status, refused.title, refused.text), refused);
    }
    console.error({ message: "the console failed", reason: String(error) });
    if (error instanceof AuditUnavailable) {
      const { title, detail } = describeOperatorProblem({ code: "audit-unavailable" });
      return say(c.req.raw, 503, title, detail);
    }
    return say(c.req.raw, 503, "No answer", "A shard did not answer. Reload the page to see the current state.");
  });
  app.notFound((c) =>
    say(c.req.raw, 404, "Not found", "There is no such page or record. The record may have expired."),
  );
  app.use(csrf());
  signingIn(app, paths, ports);
  app.use(consoleGuard(paths, ports));
  app.post("*", adminForm);
  const examples = new ExampleFinder(ports.operator);
  pageRoutes(app, paths, ports, examples);
  changeRoutes(app, paths, ports, examples);
  sessionRoutes(app, paths, ports.operator);
  for (const { addPages } of ports.features) addPages(app, paths);
  return app;
}
