// The way in and out: the token once, then a session.

import type { Hono } from "hono";
import { clientAddress } from "../access/auth.ts";
import type { SignedRequest } from "./guard.ts";
import { BrandLink, HtmlDocument, ProblemNote, showPage, SiteName } from "./page.tsx";
import { beginSession } from "./session.ts";
import { dropSessionCookie, isPrivate, setSessionCookie } from "./session-cookie.ts";
import { type ConsolePorts, type ConsolePaths, type ConsoleSite, siteOf } from "./view.ts";
import { SIGN_IN_BYTES, textFields } from "../form.ts";

export function signingIn(app: Hono<SignedRequest>, paths: ConsolePaths, ports: ConsolePorts): void {
  const { tokens, auth, operator } = ports;
  app.post(paths.signIn, async (c) => {
    let next = paths.overview;
    const refuse = (status: number, error: string, headers = {}) =>
      showPage(
        <SignIn
          site={siteOf(c.req.raw, ports)}
          paths={paths}
          error={error}
          done={null}
          next={next}
          isFromElsewhere={false}
        />,
        status,
        headers,
      );
    if (!isPrivate(c)) return refuse(403, "This connection is not encrypted. Open the console over https.");
    const { next: wanted, "operator-token": given } = await textFields(c.req.raw, SIGN_IN_BYTES);
    next = ownPath(paths, wanted);
    const token = (given ?? "").trim();
    const admission = await auth.admitToken(token, clientAddress(c.req.raw.headers), Date.now());
    if (admission.kind === "admitted") {
      const { actor } = admission;
      setSessionCookie(c, await beginSession(actor.name, tokens, await operator.signIn(actor), Date.now()));
      return c.redirect(next, 303);
    }
    if (admission.problem.code !== "operator-throttled") {
      return refuse(403, "This is no operator's token.");
    }
    const seconds = Math.max(1, Math.ceil(admission.problem.retryAfterMs / 1000));
    const error = `Too many wrong tokens from your address. Try again in ${seconds} s.`;
    return refuse(429, error, { "Retry-After": String(seconds) });
  });
  app.get(paths.signIn, (c) => {
    const next = ownPath(paths, c.req.query("next"));
    const error =
      c.req.query("ended") === undefined
        ? null
        : "Your session has ended, and nothing was changed. Sign in and send the form again.";
    const done = c.req.query("everybody") === undefined ? null : "All console sessions have ended.";
    // A link on another site sends no SameSite=Strict cookie, even with a valid session.
    const isFromElsewhere = c.req.header("Sec-Fetch-Site") === "cross-site";
    return showPage(
      <SignIn
        site={siteOf(c.req.raw, ports)}
        paths={paths}
        error={error}
        done={done}
        next={next}
        isFromElsewhere={isFromElsewhere}
      />,
    );
  });
  // Needs no form token and works after the session has ended: signing out harms nobody.
  app.post(paths.signOut, (c) => {
    dropSessionCookie(c);
    return c.redirect(paths.overview, 303);
  });
}

/** Only pages of the console: the value in the form may come from anywhere. */
function ownPath(paths: ConsolePaths, wanted: string | undefined): string {
  if (wanted === undefined || wanted.length > MAX_PATH_LENGTH || !URL.canParse(wanted, ORIGIN)) return paths.overview;
  const { origin, pathname, search } = new URL(wanted, ORIGIN);
  const isOwn = origin === ORIGIN && (pathname === paths.overview || pathname.startsWith(`${paths.overview}/console/`));
  return isOwn && pathname !== paths.signIn ? pathname + search : paths.overview;
}

const ORIGIN = "https://console.invalid";

/** With a token it fits into the form, also if each character is escaped. */
const MAX_PATH_LENGTH = 1000;

interface SignInProps {
  readonly site: ConsoleSite;
  readonly paths: ConsolePaths;
  readonly error: string | null;
  /** A confirmation of the last action. */
  readonly done: string | null;
  /** Where to go after signing in. */
  readonly next: string;
  readonly isFromElsewhere: boolean;
}

function SignIn({ site, paths, error, done, next, isFromElsewhere }: SignInProps) {
  return (
    <HtmlDocument site={site} title="Sign in" styleSrc={paths.style}>
      <main id="main">
        <div class="card sign-in">
          <BrandLink href={paths.overview} />
          <SiteName site={site} />
          <form method="post" action={paths.signIn}>
            <h1>Sign in</h1>
            {done === null ? null : (
              <p class="note" role="status">
                {done}
              </p>
            )}
            <ProblemNote problem={error} id="error" />
            {/* Password managers need a user name. */}
            <input name="username" value="operator" autocomplete="username" hidden />
            <div class="field">
              <label for="operator-token">Operator token</label>
              <input
                id="operator-token"
                name="operator-token"
                type="password"
                required
                autocomplete="current-password"
                autofocus
                aria-invalid={error === null ? undefined : "true"}
                aria-describedby={error === null ? "hint" : "error hint"}
              />
            </div>
            <input type="hidden" name="next" value={next} />
            <button class="main">Sign in</button>
            <p class="soft small" id="hint">
              Paste your own token or ADMIN_TOKEN; READ_TOKEN can only look. On your machine: .dev.vars, or the terminal
              of npm start. The session lasts eight hours.
            </p>
          </form>
          {isFromElsewhere ? (
            <p class="small">
              Already signed in? <a href={next}>Continue</a>
            </p>
          ) : null}
        </div>
      </main>
    </HtmlDocument>
  );
}
