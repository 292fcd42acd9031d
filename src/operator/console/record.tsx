// One record: its state, history and response, and what can be done about it.

import { describeRecord } from "../../kernel/record/describe-record.ts";
import { epochMs } from "../../kernel/record/units.ts";
import type { RecordDetail } from "../operator.ts";
import type { ResponseView } from "../record-schema.ts";
import { ChangeForms, type ChangeDraft } from "./change-forms.tsx";
import { CopyButton } from "./copyable.tsx";
import type { ExampleResponse } from "../example-response.ts";
import { FormToken, ConsolePage } from "./page.tsx";
import { RecordFacts } from "./record-facts.tsx";
import { byteText } from "./shards.tsx";
import type { RecordActionName } from "../record-actions/record-actions.ts";
import { StateBadge } from "./state.tsx";
import { TimelineCard } from "./timeline.tsx";
import type { ConsoleView } from "./view.ts";

export interface RecordDetailPageProps {
  readonly view: ConsoleView;
  readonly record: RecordDetail;
  /** A refused change and its errors. */
  readonly draft: ChangeDraft | null;
  /** What the form for a response is filled in with. */
  readonly example: ExampleResponse | null;
}

/** How the three tones look. */
const NOTES = { settled: "note completed", unknown: "note unknown", neutral: "note" } as const;

export function RecordDetailPage({ view, record, draft, example }: RecordDetailPageProps) {
  const { key, state } = record;
  const { tone, headline, retry, advice, changes } = describeRecord(record, record.timeline, epochMs(view.now));
  // What decides nothing is possible while there is a history.
  const offered: readonly RecordActionName[] = state === "remembered" ? changes : [...changes, "note"];
  return (
    <ConsolePage
      view={view}
      place="records"
      title={`${key}: ${state}`}
      news={`State: ${state}`}
      from={view.paths.record(record.id)}
    >
      <div class="head" id="record-head" data-live>
        <div class="copyable">
          <h1 class="mono">{key}</h1> <CopyButton what="the key" />
        </div>
        <StateBadge state={state} />
      </div>
      <p class={NOTES[tone]} id="meaning" data-live>
        {headline} {retry}
      </p>
      <div class="columns">
        <div>
          {" "}
          <section class="card" id="timeline" data-live>
            <div class="head">
              <h2>Timeline</h2>
            </div>
            <TimelineCard timeline={record.timeline} now={view.now} />
          </section>
          {/* What was typed is not refreshed, and neither is a preview while somebody reads it. */}
          <section class="card" id="decide" data-live={draft === null ? true : undefined}>
            <div class="head">
              <h2>Actions</h2>
            </div>
            <p class="empty">{advice}</p>
            {view.viewer.actor.role === "admin" ? (
              <ChangeForms view={view} record={record} changes={offered} draft={draft} example={example} />
            ) : (
              <p class="empty">You are signed in with the read-only token. Changes need the administrator token.</p>
            )}
          </section>
        </div>
        <div>
          {" "}
          <ResponseCard view={view} record={record} />
          <section class="card" id="facts" data-live>
            <div class="head">
              <h2>Details</h2>
            </div>
            <RecordFacts record={record} view={view} />
          </section>
        </div>
      </div>
    </ConsolePage>
  );
}

function ResponseCard({ view, record }: Pick<RecordDetailPageProps, "view" | "record">) {
  return (
    <section class="card" id="response" data-live>
      <div class="head">
        <h2>Response</h2>
        {record.response !== null && view.viewer.actor.role === "admin" ? (
          <form method="post" action={view.paths.body(record.id)}>
            <FormToken view={view} />
            <button class="quiet">Download body, {byteText(record.response.sizeBytes)}</button>
          </form>
        ) : null}
      </div>
      {record.response === null ? <p class="empty">{noResponse(record)}</p> : <Response response={record.response} />}
    </section>
  );
}

function noResponse({ state, responseKept, encrypted, status }: RecordDetail): string {
  // Without a status there was none, or nobody knows of it.
  if (state === "remembered") return status === null ? "None is kept." : "Erased.";
  if (encrypted && responseKept === true) {
    return "Encrypted with the caller's own values, so only the caller's retry opens it.";
  }
  return responseKept === false
    ? `The origin answered${status === null ? "" : ` ${status}`}, and its response was not kept: it was too large, or could not be stored.`
    : "None yet.";
}

function Response({ response }: { readonly response: ResponseView }) {
  const { status, statusText, headers } = response;
  return (
    <dl class="facts mono">
      <dt>status</dt>
      <dd>
        {status} {statusText}
      </dd>
      {headers.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
