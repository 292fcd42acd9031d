// The way in: the token once, then a session.

import { Brand, Document } from "./page.tsx";
import type { Paths } from "./view.ts";

export interface SignInProps {
  readonly paths: Paths;
  readonly error: string | null;
  /** What has just happened. */
  readonly done: string | null;
  /** Where to go afterwards. */
  readonly next: string;
  readonly isFromElsewhere: boolean;
}

export function SignIn({ paths, error, done, next, isFromElsewhere }: SignInProps) {
  return (
    <Document title="Sign in" styleSrc={paths.style}>
      <main id="main">
        <div class="card sign-in">
          <Brand href={paths.overview} />
          <form method="post" action={paths.signIn}>
            <h1>Sign in</h1>
            {done === null ? null : (
              <p class="note" role="status">
                {done}
              </p>
            )}
            {error === null ? null : (
              <p class="note error" role="alert" id="error">
                {error}
              </p>
            )}
            {/* Password managers file a token under a name. */}
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
              The value of the secret ADMIN_TOKEN, or of READ_TOKEN to look and change nothing. The session lasts eight
              hours.
            </p>
          </form>
          {isFromElsewhere ? (
            <p class="small">
              Signed in already? <a href={next}>Continue</a>
            </p>
          ) : null}
        </div>
      </main>
    </Document>
  );
}

interface MessageProps {
  readonly paths: Paths;
  readonly title: string;
  readonly text: string;
}

/** A page that only says something. */
export function Message({ paths, title, text }: MessageProps) {
  return (
    <Document title={title} styleSrc={paths.style}>
      <main id="main">
        <div class="card sign-in">
          <Brand href={paths.overview} />
          <h1>{title}</h1>
          <p>{text}</p>
          <p>
            <a href={paths.overview}>Overview</a>
          </p>
        </div>
      </main>
    </Document>
  );
}
