// The page on which an administrator ends every session of the console, when a browser or its cookie has fallen into the wrong hands.

import type { Hono } from "hono";
import type { Operator } from "../operator.ts";
import type { SignedRequest } from "./guard.ts";
import { ConsolePage, FormToken, ProblemNote, ReadOnlyNote, showPage } from "./page.tsx";
import type { ConsolePaths, ConsoleView } from "./view.ts";

export function sessionRoutes(
  app: Hono<SignedRequest>,
  paths: ConsolePaths,
  operator: Pick<Operator, "endSessions">,
): void {
  app.get(paths.sessions, (c) => showPage(<SessionsPage view={c.var.view} isUnconfirmed={false} />));

  app.post(paths.sessions, async (c) => {
    const { view, fields } = c.var;
    if (fields["confirmed"] !== "yes") return showPage(<SessionsPage view={view} isUnconfirmed />, 400);
    await operator.endSessions(view.viewer.actor);
    return c.redirect(`${paths.signIn}?everybody`, 303);
  });
}

function SessionsPage({ view, isUnconfirmed }: { readonly view: ConsoleView; readonly isUnconfirmed: boolean }) {
  const { paths, viewer } = view;
  return (
    <ConsolePage view={view} place={null} title="Sign everybody out" from={paths.sessions}>
      <h1>Sign everybody out</h1>
      {viewer.actor.role === "admin" ? (
        <section class="card decide">
          <form method="post" action={paths.sessions}>
            <ProblemNote problem={isUnconfirmed ? "Confirm it: tick the box above the button." : null} />
            <p>For a browser in the wrong hands. Tokens stay valid: replace one that has leaked.</p>
            <FormToken view={view} />
            <label class="check">
              <input type="checkbox" name="confirmed" value="yes" required /> Every session of every operator ends,
              yours too.
            </label>
            <button class="main">Sign everybody out</button>
          </form>
        </section>
      ) : (
        <ReadOnlyNote />
      )}
    </ConsolePage>
  );
}
