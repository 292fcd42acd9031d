// The page on which an administrator forgets all records of one caller: count first, then forget. The caller's values are typed for
// each step and never shown again.

import type { Hono } from "hono";
import type { Actor } from "../../../operator/access/auth.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import type { ScopeForgetter } from "./forgetting.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import {
  FormToken,
  LogReason,
  ConsolePage,
  ProblemNote,
  ReadOnlyNote,
  showPage,
} from "../../../operator/console/page.tsx";
import { groupedDigits } from "../../../operator/console/rates.tsx";
import { UnreachableShards } from "../../../operator/console/shards.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";

type Fields = Readonly<Record<string, string>>;

interface Outcome {
  readonly erased: ScopeErasedView;
  readonly isPreview: boolean;
}

export function forgetScopeRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, forgetScope: ScopeForgetter): void {
  app.get(paths.forgetScope, (c) =>
    showPage(<ForgetScopePage view={c.var.view} outcome={null} problem={null} reason="" />),
  );

  app.post(paths.forgetScope, async (c) => {
    const { view, fields } = c.var;
    const outcome = await forget(fields, forgetScope, view.viewer.actor);
    const isProblem = typeof outcome === "string";
    return showPage(
      <ForgetScopePage
        view={view}
        outcome={isProblem ? null : outcome}
        problem={isProblem ? outcome : null}
        reason={fields["reason"] ?? ""}
      />,
      isProblem ? 400 : 200,
    );
  });
}

/** What was done, or why nothing was. */
async function forget(fields: Fields, forgetScope: ScopeForgetter, by: Actor): Promise<Outcome | string> {
  const isPreview = fields["step"] !== "forget";
  if (!isPreview && fields["confirmed"] !== "yes") return "Confirm it: tick the box above the button.";
  const parsed = forgetScope.body.parse({
    scope: scopeOf(fields["scope"] ?? ""),
    reason: fields["reason"] ?? "",
    includeUnknown: fields["unknown"] === "yes",
    ...(isPreview ? { preview: true } : { confirm: true }),
    ...(fields["cursor"] === undefined ? {} : { cursor: fields["cursor"] }),
  });
  if (!parsed.ok) return parsed.reason;
  const result = await forgetScope.perform(parsed.value, by);
  if (result.kind === "done") return { erased: result.view, isPreview };
  return result.why === "no-cursor" ? "The shards have changed since. Start again." : result.reason;
}

/** One part on each line, as name=value. A name alone is a part that the caller's requests lack. */
function scopeOf(text: string): Readonly<Record<string, string | null>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const equals = line.indexOf("=");
      return equals === -1 ? [line, null] : [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
}

interface ForgetScopeProps {
  readonly view: ConsoleView;
  readonly outcome: Outcome | null;
  readonly problem: string | null;
  readonly reason: string;
}

function ForgetScopePage({ view, outcome, problem, reason }: ForgetScopeProps) {
  const cursor = outcome?.erased.cursor ?? null;
  return (
    <ConsolePage view={view} place="records" title="Forget a caller" from={view.paths.forgetScope}>
      <h1>Forget a caller</h1>
      <UnreachableShards view={view} unreachable={outcome?.erased.unreachable ?? []} />
      {outcome === null ? null : <Result {...outcome} />}
      <ProblemNote problem={problem} />
      {view.viewer.actor.role === "admin" ? (
        <form class="card decide" method="post" action={view.paths.forgetScope}>
          <FormToken view={view} />
          {cursor === null ? null : <input type="hidden" name="cursor" value={cursor} />}
          <div class="field">
            <label for="scope">
              Caller{" "}
              <span class="soft small">one part of a route's scope on each line: header:authorization=Bearer …</span>
            </label>
            <textarea id="scope" name="scope" rows={3} class="mono" required autocomplete="off" spellcheck={false} />
          </div>
          <LogReason value={reason} />
          <label class="check">
            <input type="checkbox" name="unknown" value="yes" /> Also records with an unknown outcome: a retry may then
            repeat what has taken effect.
          </label>
          <label class="check">
            <input id="confirmed" type="checkbox" name="confirmed" value="yes" /> All these records are erased. Their
            keys count as new.
          </label>
          <div>
            <button class="main" name="step" value="count">
              Count
            </button>{" "}
            <button name="step" value="forget">
              Forget the caller
            </button>
          </div>
        </form>
      ) : (
        <ReadOnlyNote />
      )}
    </ConsolePage>
  );
}

function Result({ erased, isPreview }: Outcome) {
  const { forgotten, inFlight, unknown, events, notListed, cursor } = erased;
  return (
    <div class="note" role="status" id="result">
      <p>
        <strong>
          {isPreview ? "To forget" : "Forgotten"}: {groupedDigits(forgotten)}.
        </strong>{" "}
        In flight, left for later: {groupedDigits(inFlight)}. Outcome unknown{isPreview ? "" : ", left"}:{" "}
        {groupedDigits(unknown)}. Events and dead letters {isPreview ? "to erase" : "erased"}: {groupedDigits(events)}.
      </p>
      {notListed.length === 0 ? null : (
        <p>Not searched, because every key has an object of its own: {notListed.join(", ")}.</p>
      )}
      {cursor === null ? null : (
        <p>Not all shards have been asked. Enter the caller again to go on; the counts begin anew.</p>
      )}
    </div>
  );
}
