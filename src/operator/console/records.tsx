// The list of records, newest first: filtered, searched by key, in pages.

import { LAST_PAGE } from "../list-cursor.ts";
import { type ListRequest, parseListRequest } from "../list-request.ts";
import { partsText, totalText } from "../list-texts.ts";
import type { RecordState } from "../../kernel/record/record.ts";
import type { RecordPage } from "../operator.ts";
import { ConsolePage, ProblemNote } from "./page.tsx";
import { COLUMNS, RecordsTable } from "./records-table.tsx";
import { PageLinks } from "./table.tsx";
import { UnreachableShards } from "./shards.tsx";
import type { ConsoleView } from "./view.ts";

const MORE_CONDITIONS = ["key", "route", "since", "until", "caller", "status"] as const;
const CONDITIONS = [...MORE_CONDITIONS, "state"] as const;

export interface ReadFilter {
  /** The conditions, for links to other pages of the same list. */
  readonly query: Readonly<Record<string, string>>;
  /** `null` when a condition is invalid; `problem` says which. */
  readonly request: ListRequest | null;
  readonly problem: string | null;
}

/** A filter from the page's address, in the names and forms of the API. An empty field filters nothing. */
export function readFilter(search: URLSearchParams): ReadFilter {
  const asked = CONDITIONS.map((name) => [name, search.getAll(name).join(",").trim()] as const);
  const query = Object.fromEntries(asked.filter(([, value]) => value !== ""));
  const cursor = search.get("cursor");
  const parsed = parseListRequest(new URLSearchParams({ ...query, ...(cursor === null ? {} : { cursor }) }));
  return parsed.ok ? { query, request: parsed.value, problem: null } : { query, request: null, problem: parsed.reason };
}

export interface RecordsProps {
  readonly view: ConsoleView;
  /** As typed. */
  readonly filter: ReadFilter;
  /** `null` when the filter is invalid. */
  readonly listed: RecordPage | null;
  /** The configured routes' paths. */
  readonly routes: readonly string[];
  readonly isFirstPage: boolean;
  /** Every key has its own object: records are found only by their key. */
  readonly isPerKey: boolean;
  readonly done: string | null;
}

/** Periods to which a click narrows the list. */
const PERIODS = [
  ["Last hour", "1h"],
  ["Last day", "24h"],
] as const;

const STATES: readonly RecordState[] = ["waiting", "started", "unknown", "failed", "completed", "remembered"];

export function RecordsPage({ view, filter, listed, routes, isFirstPage, isPerKey, done }: RecordsProps) {
  return (
    <ConsolePage view={view} place="records" title="Records">
      {done === null ? null : (
        <p class="note completed" role="status">
          {done}
        </p>
      )}
      <div class="head">
        <h1 id="records-title">Records</h1>
        <span class="soft grow" id="records-total" data-live>
          {listed === null ? null : totalText(listed.total)}
        </span>
        <a class="small" href={view.paths.decide}>
          Decide about many
        </a>
        <a class="small" href={view.paths.forgetScope}>
          Forget a caller
        </a>
      </div>
      <UnreachableShards view={view} unreachable={listed?.unreachable ?? []} />
      <FilterForm view={view} filter={filter} routes={routes} />
      {listed === null ? null : (
        <Found view={view} filter={filter} listed={listed} isFirstPage={isFirstPage} isPerKey={isPerKey} />
      )}
    </ConsolePage>
  );
}

interface FieldProps {
  readonly query: ReadFilter["query"];
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly placeholder: string;
  readonly class?: string;
  readonly inputmode?: "numeric";
}

function Field({ query, name, label, hint, ...input }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>
        {label}
        {hint === undefined ? null : (
          <>
            {" "}
            <span class="soft small">{hint}</span>
          </>
        )}
      </label>
      <input id={name} name={name} value={query[name]} autocomplete="off" {...input} />
    </div>
  );
}

/** States first, which most lists begin with; the rest is folded while no other condition is set. */
function FilterForm({ view, filter, routes }: Pick<RecordsProps, "view" | "filter" | "routes">) {
  const { query, problem } = filter;
  const states = query["state"]?.split(",") ?? [];
  const { since: _since, until: _until, ...others } = query;
  const isFolded = MORE_CONDITIONS.every((name) => query[name] === undefined);
  return (
    <form class="filter card" method="get" action={view.paths.records} role="search">
      <fieldset>
        <legend class="unseen">State</legend>
        {STATES.map((state) => (
          <label class="check chip">
            <input type="checkbox" name="state" value={state} checked={states.includes(state)} /> {state}
          </label>
        ))}
        {PERIODS.map(([name, since]) => (
          <a
            class="small"
            href={`${view.paths.records}?${new URLSearchParams({ ...others, since }).toString()}`}
            aria-current={since === query["since"] && query["until"] === undefined ? "true" : undefined}
          >
            {name}
          </a>
        ))}
        <button class="main">Search</button>
      </fieldset>
      <details open={!isFolded}>
        <summary>More conditions</summary>
        <div class="conditions">
          <div class="field wide">
            <label for="key">
              Idempotency key{" "}
              <span class="soft small">or the first 8 or more digits of a record's id or a log's keyHash</span>
            </label>
            <input
              id="key"
              name="key"
              type="search"
              value={query["key"]}
              autocomplete="off"
              spellcheck={false}
              class="mono"
            />
          </div>
          <div class="field wide">
            <label for="route">Route</label>
            <select id="route" name="route">
              <option value="">All routes</option>
              {routes.map((route) => (
                <option value={route} selected={route === query["route"]}>
                  {route}
                </option>
              ))}
            </select>
          </div>
          <Field query={query} name="since" label="Since" hint="how long ago, or a time" placeholder="24h" />
          <Field query={query} name="until" label="Until" hint="the same" placeholder="2026-11-23T08:30:00Z" />
          <Field query={query} name="caller" label="Caller" placeholder="3f9a0c51d2be" class="mono" />
          <Field query={query} name="status" label="Status" placeholder="201" inputmode="numeric" />
        </div>
      </details>
      <ProblemNote problem={problem} />
    </form>
  );
}

interface FoundProps extends Pick<RecordsProps, "view" | "filter" | "isFirstPage" | "isPerKey"> {
  readonly listed: RecordPage;
}

function Found({ view, filter, listed, isFirstPage, isPerKey }: FoundProps) {
  const { query } = filter;
  const parts = partsText(listed.parts);
  return (
    <section class="card" id="records" data-live>
      {parts === null ? null : <p class="note">{parts}</p>}
      {/* A key names few. */}
      {view.viewer.actor.role !== "admin" || Object.keys(query).length === 0 || query["key"] !== undefined ? null : (
        <p class="small">
          <a href={`${view.paths.changeAll}?${new URLSearchParams(query).toString()}`}>Change all that match …</a>
        </p>
      )}
      {listed.records.length === 0 ? (
        <p class="empty">{nothing(filter, isPerKey, listed)}</p>
      ) : (
        <RecordsTable
          view={view}
          records={listed.records}
          columns={[
            COLUMNS.route,
            COLUMNS.state,
            COLUMNS.attempt,
            COLUMNS.began,
            COLUMNS.status,
            COLUMNS.expires,
            ...(listed.records.some(({ state }) => state === "waiting") ? [COLUMNS.next] : []),
            ...(view.isChangingLayout ? [COLUMNS.layout] : []),
          ]}
          labelledBy="records-title"
        />
      )}
      <PageLinks
        path={view.paths.records}
        query={query}
        isFirst={isFirstPage}
        cursor={listed.cursor}
        previous={listed.previous}
        last={LAST_PAGE}
      />
    </section>
  );
}

function nothing({ query }: ReadFilter, isPerKey: boolean, { cursor, unreachable }: RecordPage): string {
  if (cursor !== null) return "No match on this page. Continue with the next page.";
  if (isPerKey && query["key"] === undefined)
    return "Every key has its own object, so records are found only by their key. Enter a key.";
  if (unreachable.length > 0) return "No match in the shards that answer.";
  if (Object.keys(query).length === 0)
    return "No records. Every protected request with a key creates one, until it expires.";
  if (query["key"] !== undefined) {
    return "No such record. Enter the full key, or the first 8 or more digits of an id. The record may have expired, or its request may never have arrived.";
  }
  return "No record matches. Remove a condition.";
}
