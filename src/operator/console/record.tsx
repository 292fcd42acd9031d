// One record: its state, history and response, and what can be done about it.

import { describeRecord } from "../../core/describe-record.ts";
import { epochMs } from "../../core/units.ts";
import type { RecordDetail } from "../operator.ts";
import type { ResponseView } from "../record-schema.ts";
import type { Drive } from "../../core/record.ts";
import { formatDuration } from "./browser/duration.ts";
import { ChangeForms, type Draft } from "./change-forms.tsx";
import { Page } from "./page.tsx";
import { size } from "./shards.tsx";
import { State } from "./state.tsx";
import { Time } from "./time.tsx";
import { Timeline } from "./timeline.tsx";
import type { View } from "./view.ts";

export interface RecordPageProps {
  readonly view: View;
  readonly record: RecordDetail;
  /** A refused change and its errors. */
  readonly draft: Draft | null;
}

/** How the three tones look. */
const NOTES = { settled: "note completed", doubt: "note unknown", neutral: "note" } as const;

export function RecordPage({ view, record, draft }: RecordPageProps) {
  const { key, state } = record;
  const { tone, headline, retry, advice, changes } = describeRecord(record, record.timeline, epochMs(view.now));
  return (
    <Page
      view={view}
      place="records"
      title={`${key}: ${state}`}
      news={`State: ${state}`}
      from={view.paths.record(record.id)}
    >
      <div class="head" id="record-head" data-live>
        <h1 class="mono">{key}</h1>
        <State state={state} />
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
            <Timeline timeline={record.timeline} now={view.now} />
          </section>
          {/* A preview is not refreshed while somebody reads it. */}
          <section class="card" id="decide" data-live={(draft?.preview ?? null) === null ? true : undefined}>
            <div class="head">
              <h2>Actions</h2>
            </div>
            <p class="empty">{advice}</p>
            {view.viewer.actor.role === "admin" ? (
              <ChangeForms view={view} record={record} changes={changes} draft={draft} />
            ) : (
              <p class="empty">You are signed in with the read-only token. Changes need the administrator token.</p>
            )}
          </section>
        </div>
        <div>
          {" "}
          <section class="card" id="response" data-live>
            <div class="head">
              <h2>Response</h2>
              {record.response !== null && view.viewer.actor.role === "admin" ? (
                <a class="small" href={view.paths.body(record.id)} download>
                  Body, {size(record.response.sizeBytes)}
                </a>
              ) : null}
            </div>
            {record.response === null ? (
              <p class="empty">{noResponse(record)}</p>
            ) : (
              <Response response={record.response} />
            )}
          </section>
          <section class="card" id="facts" data-live>
            <div class="head">
              <h2>Details</h2>
            </div>
            <Facts record={record} view={view} />
          </section>
        </div>
      </div>
    </Page>
  );
}

function noResponse({ state, responseKept, sealed, status }: RecordDetail): string {
  if (state === "remembered") return "Erased.";
  if (sealed && responseKept === true) {
    return "Sealed: it is encrypted with the caller's own values, so only the caller's retry opens it.";
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

/** What is noted of the request, and how often it came again. */
function Request({ view, record: { request, replays, excerpt } }: Pick<RecordPageProps, "view" | "record">) {
  const caller = request?.caller ?? null;
  const facts: readonly (readonly [name: string, value: string])[] =
    request === null
      ? []
      : [
          ["Request", `${request.method} ${request.target ?? ""}`.trimEnd()],
          ["Label", request.label ?? ""],
          ["Body", request.sizeBytes === null ? "" : size(request.sizeBytes)],
          ["Begins with", excerpt?.text ?? ""],
        ];
  return (
    <>
      {facts
        .filter(([, value]) => value !== "")
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </>
        ))}
      {caller === null ? null : (
        <>
          <dt>Caller</dt>
          <dd>
            <a class="mono" href={view.paths.listed({ caller })}>
              {caller}
            </a>
          </dd>
        </>
      )}
      {replays === null ? null : (
        <>
          <dt>Replayed</dt>
          <dd>
            {replays.count} {replays.count === 1 ? "time" : "times"} in 24 hours, last{" "}
            <Time at={replays.lastAt} now={view.now} />
          </dd>
        </>
      )}
    </>
  );
}

function Facts({ record, view }: { readonly record: RecordDetail; readonly view: View }) {
  const { now } = view;
  const { id, shard, layout, route, attempt, startedAt, lockedUntil, expiresAt, fingerprint, policy } = record;
  const { nextAttemptAt, giveUpAt, lastAttempt } = record;
  return (
    <dl class="facts">
      <Request record={record} view={view} />
      <dt>Route</dt>
      <dd class="mono">{route}</dd>
      <dt>{attempt === 0 ? "Accepted" : "Attempt"}</dt>
      <dd>
        {attempt === 0 ? null : `${attempt}, `}
        <Time at={startedAt} now={now} />
      </dd>
      {nextAttemptAt === null ? null : (
        <>
          <dt>Next attempt</dt>
          <dd>
            {attempt + 1}, <Time at={nextAttemptAt} now={now} rel="due" />
          </dd>
        </>
      )}
      {giveUpAt === null || lastAttempt === null ? null : (
        <>
          <dt>Given up</dt>
          <dd>
            after attempt {lastAttempt}, or <Time at={giveUpAt} now={now} rel="in" />
          </dd>
        </>
      )}
      {lockedUntil > now ? (
        <>
          <dt>Lock ends</dt>
          <dd>
            <Time at={lockedUntil} now={now} rel="in" />
          </dd>
        </>
      ) : null}
      {expiresAt === null ? null : (
        <>
          <dt>Expires</dt>
          <dd>
            <Time at={expiresAt} now={now} rel="in" />
          </dd>
        </>
      )}
      <dt>Policy</dt>
      <dd>
        unknown = "{policy.unknown}", lock {formatDuration(policy.lockMs)}, retention{" "}
        {formatDuration(policy.retentionMs)}
        {policy.unknown === "retry"
          ? ""
          : `, ${formatDuration(policy.unknownRetentionMs)} while the outcome is unknown`}
        {policy.drive === undefined ? "" : `, ${driveText(policy.drive)}`}
        {policy.rememberMs === undefined ? "" : `, key remembered for ${formatDuration(policy.rememberMs)}`}
      </dd>
      {record.sealed ? (
        <>
          <dt>Sealed</dt>
          <dd>key and response are for the caller only; a search for the full key finds the record</dd>
        </>
      ) : null}
      <dt>Shard</dt>
      <dd class="mono">{shard}</dd>
      {view.isChangingLayout ? (
        <>
          <dt>Layout</dt>
          <dd class="mono">{layout}</dd>
        </>
      ) : null}
      <dt>Record</dt>
      <dd class="mono">{id}</dd>
      <dt>Fingerprint</dt>
      <dd class="mono">{fingerprint}</dd>
    </dl>
  );
}

function driveText({ attempts, firstPauseMs, longestPauseMs, giveUpAfterMs }: Drive): string {
  const pauses = `${formatDuration(firstPauseMs)} to ${formatDuration(longestPauseMs)}`;
  return `at most ${attempts} attempts in ${formatDuration(giveUpAfterMs)}, ${pauses} between them`;
}
