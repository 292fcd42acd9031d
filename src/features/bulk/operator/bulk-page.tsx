// What the page shows on which an administrator changes all records that a filter matches: the preview, the form, the result.

import type { PreviewView } from "../../../operator/change-schema.ts";
import type { AllChangeResult } from "./all-change.ts";
import { ACTION_NAMES, actionNamed, type RecordActionName } from "../../../operator/record-actions/record-actions.ts";
import { PreviewCard } from "../../../operator/console/change-forms.tsx";
import { FormToken, ConsolePage, ProblemNote, ReadOnlyNote, SiteName } from "../../../operator/console/page.tsx";
import { groupedDigits } from "../../../operator/console/rates.tsx";
import { COLUMNS, RecordsTable } from "../../../operator/console/records-table.tsx";
import { FormField, ResponseFields } from "../../../operator/console/response-fields.tsx";
import { unreachableText } from "../../../operator/console/shards.tsx";
import type { ConsoleView } from "../../../operator/console/view.ts";

type Fields = Readonly<Record<string, string>>;
type Found = Extract<AllChangeResult, { readonly kind: "done" }>;

/** What a page shows, besides the filter and the change. */
export interface ShownResult {
  /** Why nothing was done. */
  readonly problem: string | null;
  /** `null`: the filter cannot be used. */
  readonly found: Found | null;
  readonly isPreview: boolean;
  readonly until: number;
  /** What retries would get. */
  readonly response: PreviewView["preview"] | null;
}

function addressOf({ paths }: ConsoleView, query: Fields, change: RecordActionName): string {
  return `${paths.changeAll}?${new URLSearchParams({ ...query, change }).toString()}`;
}

export function ReadOnly({ view }: { readonly view: ConsoleView }) {
  return (
    <ConsolePage view={view} place="records" title="Change all that match">
      <h1>Change all that match</h1>
      <ReadOnlyNote />
    </ConsolePage>
  );
}

interface ChangeAllProps {
  readonly view: ConsoleView;
  /** The filter, as written. */
  readonly query: Fields;
  /** `null`: none is chosen yet. */
  readonly change: RecordActionName | null;
  /** As typed. */
  readonly fields: Fields;
  readonly shown: ShownResult;
}

export function ChangeAllPage(props: ChangeAllProps) {
  const { view, query, change, shown } = props;
  const { found, isPreview, problem } = shown;
  return (
    <ConsolePage view={view} place="records" title="Change all that match">
      <div class="head">
        <h1>Change all that match</h1>
        <a class="small" href={view.paths.listed(query)}>
          The list
        </a>
      </div>
      <p class="mono" id="filter">
        {Object.entries(query)
          .map(([name, value]) => `${name}=${value}`)
          .join(" ")}
      </p>
      <nav class="pages" aria-label="Change">
        {ACTION_NAMES.map((one) => (
          <a class="button" href={addressOf(view, query, one)} aria-current={one === change ? "page" : undefined}>
            {actionNamed(one).words.title}
          </a>
        ))}
      </nav>
      <ProblemNote problem={problem} id="problem" />
      {found === null ? null : <Counts view={view} change={change} found={found} isPreview={isPreview} />}
      {found === null || change === null || (isPreview ? found.matched === 0 : found.cursor === null) ? null : (
        <ChangeForm {...props} change={change} found={found} />
      )}
    </ConsolePage>
  );
}

interface CountsProps {
  readonly view: ConsoleView;
  readonly change: RecordActionName | null;
  readonly found: Found;
  readonly isPreview: boolean;
}

function Counts({ view, change, found, isPreview }: CountsProps) {
  const { matched, states, changed, refused, skipped, unanswered, records, unreachable, cursor } = found;
  const left = [
    [refused.inFlight, "an attempt is in flight, or may still be running"],
    [refused.completed, "completed, which can only be forgotten"],
    [refused.remembered, "of which only the key is left, which can only be forgotten"],
    [skipped, "changed meanwhile"],
    [unanswered, isPreview ? "their shard does not answer" : "their shard did not answer: they may have been changed"],
  ] as const;
  const inStates = Object.entries(states).filter(([, count]) => count > 0);
  return (
    <>
      {unreachable.length === 0 ? null : (
        <p class="note error" role="status" id="unreachable">
          <strong>{unreachableText(unreachable)}.</strong> Do it again later:{" "}
          <span class="mono">{unreachable.join(", ")}</span>
        </p>
      )}
      <div class="note" role="status" id="result">
        <p>
          {change === null ? (
            "Choose what to do with them above. "
          ) : (
            <strong>
              {isPreview ? "To be" : "Now"} {actionNamed(change).words.past}: {groupedDigits(changed)}.{" "}
            </strong>
          )}
          {groupedDigits(matched)} {matched === 1 ? "matches" : "match"}
          {inStates.length === 0
            ? ""
            : `: ${inStates.map(([state, count]) => `${groupedDigits(count)} ${state}`).join(", ")}`}
          .
        </p>
        {left.map(([count, why]) =>
          count === 0 || change === null ? null : (
            <p>
              Left: {groupedDigits(count)}, {why}.
            </p>
          ),
        )}
        {cursor === null ? null : (
          <p>Not all records have been looked at{isPreview ? ": there are more" : ". Go on with the rest below"}.</p>
        )}
      </div>
      {records.length === 0 ? null : (
        <section class="card" id="first">
          <h2 id="first-title">{records.length < matched ? `The first ${records.length}` : "Records"}</h2>
          <RecordsTable
            view={view}
            records={records}
            columns={[COLUMNS.route, COLUMNS.state, COLUMNS.attempt, COLUMNS.began]}
            labelledBy="first-title"
          />
        </section>
      )}
    </>
  );
}

/** What later steps take along, besides the filter, which is in the address. */
const KEPT_FIELDS = ["reason", "status", "headers", "body"];

function ChangeForm({
  view,
  query,
  change,
  fields,
  shown,
  found,
}: ChangeAllProps & { readonly change: RecordActionName; readonly found: Found }) {
  const { isPreview, until, response } = shown;
  const isTyped = response !== null || !isPreview;
  const { takesResponse, confirmAll, form, words } = actionNamed(change);
  return (
    <div class="card decide">
      <form method="post" action={addressOf(view, query, change)} id="change">
        <FormToken view={view} />
        <input type="hidden" name="until" value={new Date(until).toISOString()} />
        {isPreview || found.cursor === null ? null : <input type="hidden" name="cursor" value={found.cursor} />}
        {isTyped ? (
          KEPT_FIELDS.filter((name) => fields[name] !== undefined).map((name) => (
            <input type="hidden" name={name} value={fields[name] ?? ""} />
          ))
        ) : (
          <>
            {takesResponse ? <ResponseFields view={view} id={(name) => name} fields={fields} example={null} /> : null}
            <FormField id="reason" label={form.label} hint="Kept in each record's timeline, and in the log.">
              <input id="reason" name="reason" required maxlength={1000} autocomplete="off" value={fields["reason"]} />
            </FormField>
          </>
        )}
        {response === null ? null : <PreviewCard preview={response} omits="Their routes omit" />}
        {(takesResponse && !isTyped) || confirmAll === null ? null : (
          <label class="check">
            <input id="confirmed" type="checkbox" name="confirmed" value="yes" required /> {confirmAll}
          </label>
        )}
        <div class="act">
          {takesResponse && !isTyped ? (
            <button class="main" name="step" value="preview">
              Preview
            </button>
          ) : (
            <button name="step" value="change">
              {isPreview ? `${words.title} them` : "Go on"}
            </button>
          )}
          <SiteName site={view.site} />
        </div>
      </form>
    </div>
  );
}
