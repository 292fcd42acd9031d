// What is known of a record beside its state, history and response: its request, its times and rules, and the names under which it is found.

import type { Schedule } from "../../kernel/record/record.ts";
import { keyHashOf } from "../../kernel/record/units.ts";
import type { RecordDetail } from "../operator.ts";
import { elapsedText } from "./browser/times.ts";
import { CopyableText, CopyButton } from "./copyable.tsx";
import { byteText } from "./shards.tsx";
import { TimeText } from "./time.tsx";
import type { ConsoleView } from "./view.ts";

interface RecordFactsProps {
  readonly view: ConsoleView;
  readonly record: RecordDetail;
}

/** What is noted of the request, and how often it came again. */
function Request({ view, record: { request, replays, excerpt } }: RecordFactsProps) {
  const { caller, label } = request ?? { caller: null, label: null };
  const facts: readonly (readonly [name: string, value: string])[] =
    request === null
      ? []
      : [
          ["Request", `${request.method} ${request.target ?? ""}`.trimEnd()],
          ["Key", request.fromContent === true ? FROM_CONTENT : ""],
          ["Body", request.sizeBytes === null ? "" : byteText(request.sizeBytes)],
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
      {label === null ? null : (
        <>
          <dt>Label</dt>
          <dd>
            <CopyableText text={label} what="the label" />
          </dd>
        </>
      )}
      {caller === null ? null : (
        <>
          <dt>Caller</dt>
          <dd class="copyable">
            <a class="mono" href={view.paths.listed({ caller })}>
              {caller}
            </a>{" "}
            <CopyButton what="the digest of the caller" />
          </dd>
        </>
      )}
      {replays === null ? null : (
        <>
          <dt>Replayed</dt>
          <dd>
            {replays.count} {replays.count === 1 ? "time" : "times"} in 24 hours, last{" "}
            <TimeText at={replays.lastAt} now={view.now} />
          </dd>
        </>
      )}
    </>
  );
}

const FROM_CONTENT = "made from the content: an equal request of its caller is the same operation until this expires";

/** When the record changes by itself. */
function Times({ record, now }: Pick<RecordFactsProps, "record"> & { readonly now: number }) {
  const { attempt, lockedUntil, expiresAt, nextAttemptAt, giveUpAt, lastAttempt } = record;
  return (
    <>
      {nextAttemptAt === null ? null : (
        <>
          <dt>Next attempt</dt>
          <dd>
            {attempt + 1}, <TimeText at={nextAttemptAt} now={now} rel="due" />
          </dd>
        </>
      )}
      {giveUpAt === null || lastAttempt === null ? null : (
        <>
          <dt>Given up</dt>
          <dd>
            after attempt {lastAttempt}, or <TimeText at={giveUpAt} now={now} rel="in" />
          </dd>
        </>
      )}
      {lockedUntil > now ? (
        <>
          <dt>Lock ends</dt>
          <dd>
            <TimeText at={lockedUntil} now={now} rel="in" />
          </dd>
        </>
      ) : null}
      {expiresAt === null ? null : (
        <>
          <dt>Expires</dt>
          <dd>
            <TimeText at={expiresAt} now={now} rel="in" />
          </dd>
        </>
      )}
    </>
  );
}

export function RecordFacts({ record, view }: RecordFactsProps) {
  const { now } = view;
  const { id, shard, layout, route, attempt, startedAt, fingerprint, policy } = record;
  return (
    <dl class="facts">
      <Request record={record} view={view} />
      <dt>Route</dt>
      <dd class="mono">{route}</dd>
      <dt>{attempt === 0 ? "Accepted" : "Attempt"}</dt>
      <dd>
        {attempt === 0 ? null : `${attempt}, `}
        <TimeText at={startedAt} now={now} />
      </dd>
      <Times record={record} now={now} />
      <dt>Policy</dt>
      <dd>
        unknown = "{policy.unknown}", lock {elapsedText(policy.lockMs)}, retention {elapsedText(policy.retentionMs)}
        {policy.unknown === "retry" ? "" : `, ${elapsedText(policy.unknownRetentionMs)} while the outcome is unknown`}
        {policy.schedule === undefined ? "" : `, ${scheduleText(policy.schedule)}`}
        {policy.rememberMs === undefined ? "" : `, key remembered for ${elapsedText(policy.rememberMs)}`}
      </dd>
      {record.encrypted ? (
        <>
          <dt>Encrypted</dt>
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
      <dd>
        <CopyableText text={id} what="the record's id" />
      </dd>
      <dt>In logs</dt>
      <dd>
        <CopyableText text={keyHashOf(id)} what="the key's hash in logs" />
      </dd>
      <dt>Command</dt>
      <dd>
        <CopyableText text={`npx onceway records show ${keyHashOf(id)}`} what="the command" />
      </dd>
      <dt>Fingerprint</dt>
      <dd>
        <CopyableText text={fingerprint} what="the fingerprint" />
      </dd>
    </dl>
  );
}

function scheduleText({ attempts, firstPauseMs, longestPauseMs, giveUpAfterMs }: Schedule): string {
  const pauses = `${elapsedText(firstPauseMs)} to ${elapsedText(longestPauseMs)}`;
  return `at most ${attempts} attempts in ${elapsedText(giveUpAfterMs)}, ${pauses} between them`;
}
