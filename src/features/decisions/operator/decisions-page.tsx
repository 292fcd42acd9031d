// The page on which an administrator uploads or pastes decisions about many records: a preview, then the result. The preview's time is in the form,
// so that nothing is decided that has gone on since.

import type { Hono } from "hono";
import { epochMs, recordId } from "../../../kernel/record/units.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import {
  ConsolePage,
  FormToken,
  ProblemNote,
  ReadOnlyNote,
  showPage,
  SiteName,
} from "../../../operator/console/page.tsx";
import { FormField } from "../../../operator/console/response-fields.tsx";
import { DataTable } from "../../../operator/console/table.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";
import { parseDecide } from "./decide-request.ts";
import type { RecordDecision } from "./decision.ts";
import { parseDecisionLines } from "./decision-lines.ts";
import { outcomeText } from "./decision-schema.ts";
import { type DecideAccess, viewDecided } from "./decisions-api.ts";
import type { DecidedView } from "./decisions-schema.ts";

/** How many a page shows of each outcome. */
const SHOWN = 10;

type Fields = Readonly<Record<string, string>>;

interface Shown {
  /** Why nothing was done. */
  readonly problem: string | null;
  readonly isPreview: boolean;
  readonly view: DecidedView | null;
  readonly lines: readonly { readonly line: number; readonly decision: RecordDecision }[];
}

export function decisionsRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, access: DecideAccess): void {
  app.get(paths.decide, (c) => showPage(<DecisionsPage view={c.var.view} fields={{}} shown={null} />));
  app.post(paths.decide, async (c) => {
    const { view, fields: sent } = c.var;
    const { file = "", lines = "" } = sent;
    const fields = { ...sent, lines: file.trim() === "" ? lines : file };
    const shown = await run(fields, access, view.viewer.actor);
    return showPage(<DecisionsPage view={view} fields={fields} shown={shown} />, shown.problem === null ? 200 : 400);
  });
}

/** One call is bounded (decide-all.ts): what it leaves is said on the page. */
async function run(
  { lines: text = "", reason = "", ...fields }: Fields,
  access: DecideAccess,
  by: Actor,
): Promise<Shown> {
  const isPreview = fields["step"] !== "decide";
  const refuse = (problem: string): Shown => ({ problem, isPreview, view: null, lines: [] });
  const read = await parseDecisionLines(text, reason.trim() === "" ? undefined : reason);
  if (!read.ok) return refuse(read.problems.map((one) => `Line ${one.line}: ${one.reason}`).join(" "));
  const { until } = fields;
  const parsed = await parseDecide(
    {
      decisions: read.lines.map(({ decision }) => ({ ...decision.written, reason: decision.reason })),
      ...(isPreview ? { preview: true } : { confirm: true }),
      ...(until === undefined ? {} : { until }),
    },
    epochMs(Date.now()),
  );
  if (!parsed.ok) return refuse(parsed.reason);
  const request = { ...parsed.value, by };
  const isConfirmed = isPreview || fields["confirmed"] === "yes";
  const asked = isConfirmed ? request : { ...request, isPreview: true };
  return {
    problem: isConfirmed ? null : "Confirm it: tick the box above the button.",
    isPreview: asked.isPreview,
    view: viewDecided(asked, await access.decide(asked), access),
    lines: read.lines,
  };
}

interface PageProps {
  readonly view: ConsoleView;
  /** As typed, or as the file has it. */
  readonly fields: Fields;
  readonly shown: Shown | null;
}

function DecisionsPage({ view, fields, shown }: PageProps) {
  const decided = shown?.view ?? null;
  const isPreview = shown?.isPreview === true;
  const isToDo = decided?.results.some(({ outcome }) => outcome === (isPreview ? "would-change" : "not-reached"));
  return (
    <ConsolePage view={view} place="records" title="Decide about many" from={view.paths.decide}>
      <h1>Decide about many</h1>
      <ProblemNote problem={shown?.problem ?? null} id="problem" />
      {shown === null || decided === null ? null : <Outcomes view={view} shown={shown} results={decided.results} />}
      {view.viewer.actor.role !== "admin" ? (
        <ReadOnlyNote />
      ) : decided === null ? (
        <LinesForm view={view} fields={fields} />
      ) : isToDo === true ? (
        <form class="card decide" method="post" action={view.paths.decide} enctype="multipart/form-data" id="change">
          <FormToken view={view} />
          <input type="hidden" name="until" value={decided.until} />
          {["lines", "reason"].map((name) => (
            <input type="hidden" name={name} value={fields[name] ?? ""} />
          ))}
          <label class="check">
            <input id="confirmed" type="checkbox" name="confirmed" value="yes" required /> I checked each of them in the
            API. What has gone on since the preview is left.
          </label>
          <div class="act">
            <button name="step" value="decide">
              {isPreview ? "Carry them out" : "Go on"}
            </button>
            <SiteName site={view.site} />
          </div>
        </form>
      ) : null}
    </ConsolePage>
  );
}

function LinesForm({ view, fields }: Pick<PageProps, "view" | "fields">) {
  return (
    <form class="card decide" method="post" action={view.paths.decide} enctype="multipart/form-data">
      <FormToken view={view} />
      <FormField id="file" label="File" hint="JSON lines, as for npx onceway records decide; or write them below.">
        <input id="file" type="file" name="file" />
      </FormField>
      <FormField id="lines" label="Decisions" hint="One on each line.">
        <textarea id="lines" name="lines" rows={8} class="mono" spellcheck={false}>
          {fields["lines"] ?? ""}
        </textarea>
      </FormField>
      <FormField
        id="reason"
        label="Reason"
        hint="For those without their own. Kept in each record's timeline, and in the log."
      >
        <input id="reason" name="reason" maxlength={1000} autocomplete="off" value={fields["reason"]} />
      </FormField>
      <button class="main" name="step" value="preview">
        Preview
      </button>
    </form>
  );
}

interface OutcomesProps {
  readonly view: ConsoleView;
  readonly shown: Shown;
  readonly results: DecidedView["results"];
}

/** For each outcome how many, and the first ten. */
function Outcomes({ view, shown: { lines }, results }: OutcomesProps) {
  const all = results.map((result, at) => ({ ...result, ...lines[at] }));
  return (
    <>
      {[...Map.groupBy(all, ({ outcome }) => outcome)].map(([outcome, its]) => (
        <section class="card" id={outcome}>
          <h2 id={`${outcome}-title`}>
            {its.length} {outcomeText(outcome)}
          </h2>
          <DataTable
            labelledBy={`${outcome}-title`}
            columns={[["Line", "num"], ["Decision"], ["State"], ["Key"], ["Warnings"]]}
            rows={its.slice(0, SHOWN).map(({ line, decision, state, id, key, ids, warnings }) => [
              line,
              decision?.action,
              state,
              [...(id === null ? [] : [id]), ...ids].map((one) => (
                <a class="mono" href={view.paths.record(recordId(one))}>
                  {key ?? one.slice(0, 12)}{" "}
                </a>
              )),
              warnings.join(" "),
            ])}
          />
        </section>
      ))}
    </>
  );
}
