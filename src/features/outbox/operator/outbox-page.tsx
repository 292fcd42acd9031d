// The outbox: what destinations have not taken, and the form with which an administrator sends events again or drops them. All events of
// a destination are counted first.

import type { Hono } from "hono";
import { EVENT_STATES } from "../../../kernel/record/outbox.ts";
import { parseEventsQuery } from "./outbox-api.ts";
import { resendEvents } from "./events-request-schema.ts";
import type { EventFilter, EventsActions, OutboxOperator } from "./outbox-operator.ts";
import type { OutboxChangedView, OutboxDestinationView, OutboxEventView, OutboxPageView } from "./outbox-schema.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { restText } from "../rest-text.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { CopyableText } from "../../../operator/console/copyable.tsx";
import { FormToken, LogReason, ConsolePage, ProblemNote, showPage } from "../../../operator/console/page.tsx";
import { groupedAtLeast } from "../../../operator/console/rates.tsx";
import { UnreachableShards } from "../../../operator/console/shards.tsx";
import { PageLinks, DataTable } from "../../../operator/console/table.tsx";
import { TimeText } from "../../../operator/console/time.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";

type Fields = Readonly<Record<string, string>>;

/** What a form has done; a text: why nothing was done. */
type Outcome = (OutboxChangedView & { readonly step: string }) | string;

export function eventRoutes(
  app: Hono<SignedRequest>,
  paths: ConsolePaths,
  outbox: Pick<OutboxOperator, "list">,
  actions: EventsActions,
): void {
  app.get(paths.below("events"), async (c) => {
    const search = new URL(c.req.url).searchParams;
    const event = search.get("event");
    search.delete("event");
    const parsed = parseEventsQuery(search);
    if (!parsed.ok) return c.notFound();
    const { limit, cursor, ...filter } = parsed.value;
    const page = await outbox.list(filter, limit, cursor);
    if (page === null) return c.redirect(paths.below("events"), 303);
    return showPage(<Events view={c.var.view} page={page} filter={filter} event={event} isFirst={cursor === null} />);
  });

  app.post(paths.below("events"), async (c) => {
    const { view, fields } = c.var;
    const outcome = await change(fields, actions, view.viewer.actor);
    const filter = { destination: fields["destination"] ?? null, state: stateOf(fields) };
    const page = await outbox.list(filter, 50, null);
    if (page === null) return c.notFound();
    const event = fields["event"] ?? null;
    const props = { view, page, filter, event, isFirst: true, outcome, reason: fields["reason"] ?? "" };
    return showPage(<Events {...props} />, typeof outcome === "string" ? 400 : 200);
  });
}

function stateOf({ state }: Fields): EventFilter["state"] {
  return EVENT_STATES.find((one) => one === state) ?? null;
}

async function change(fields: Fields, actions: EventsActions, by: Actor): Promise<Outcome> {
  const { step = "count", destination, reason = "", confirmed, event } = fields;
  if (step !== "count" && confirmed !== "yes") return "Confirm it: tick the box above the buttons.";
  const state = stateOf(fields);
  const [shard, place, id] = event?.split("~") ?? [];
  const asked =
    event === undefined
      ? { ...(step === "count" ? { preview: true } : { confirm: true }), ...(state === null ? {} : { state }) }
      : { event: { shard, place, id } };
  const parsed = resendEvents.body.parse({ destination, reason, ...asked });
  if (!parsed.ok) return parsed.reason;
  const result = await actions[step === "drop" ? "drop" : "resend"].perform(parsed.value, by);
  return result.kind === "done" ? { ...result.view, step } : result.reason;
}

interface EventsProps {
  readonly view: ConsoleView;
  readonly page: OutboxPageView;
  readonly filter: EventFilter;
  /** The one that is chosen: `<shard>~<place>~<id>`. */
  readonly event: string | null;
  readonly isFirst: boolean;
  readonly outcome?: Outcome;
  readonly reason?: string;
}

function Events({ view, page, filter, event, isFirst, outcome, reason }: EventsProps) {
  const { events, cursor, unreachable, notAsked } = page;
  const query = queryOf(filter);
  const { destination } = filter;
  return (
    <ConsolePage
      view={view}
      place="events"
      title="Events"
      from={`${view.paths.below("events")}?${new URLSearchParams(query).toString()}`}
    >
      <h1 id="events-title">Events</h1>
      <UnreachableShards view={view} unreachable={unreachable} notAsked={notAsked} />
      {outcome === undefined ? null : <Result outcome={outcome} />}
      <Destinations view={view} page={page} />
      <h2 id="left-title">{destination === null ? "Not taken" : `Not taken by ${destination}`}</h2>
      <section class="card" id="events" data-live>
        {events.length === 0 ? (
          <p class="empty">Nothing is left: every event has been taken.</p>
        ) : (
          <DataTable
            labelledBy="left-title"
            columns={[["Event"], ["State"], ["Tries", "num"], ["Published", "when"], ["Next try", "when"], ["Why"]]}
            rows={events.map((one) => eventRow(one, view, query))}
          />
        )}
        <PageLinks path={view.paths.below("events")} query={query} isFirst={isFirst} cursor={cursor} />
      </section>
      {destination === null || view.viewer.actor.role !== "admin" ? null : (
        <ChangeForm view={view} filter={{ ...filter, destination }} event={event} reason={reason ?? ""} />
      )}
    </ConsolePage>
  );
}

function queryOf({ destination, state }: EventFilter): Fields {
  return { ...(destination === null ? {} : { destination }), ...(state === null ? {} : { state }) };
}

function Destinations({ view, page: { destinations } }: Pick<EventsProps, "view" | "page">) {
  const { paths, now } = view;
  return (
    <section class="card" id="destinations" data-live>
      {destinations.length === 0 ? (
        <p class="empty">No destinations are configured (DESTINATIONS).</p>
      ) : (
        <DataTable
          labelledBy="events-title"
          columns={[["Destination"], ["Pending", "num"], ["Dead", "num"], ["Oldest", "when"], ["Rests"]]}
          rows={destinations.map(({ destination, target, atLeast, resting, ...one }) => {
            const oldest = one.oldestPendingAt ?? one.oldestDeadAt;
            const count = (state: "pending" | "dead") => (
              <a href={`${paths.below("events")}?${new URLSearchParams({ destination, state }).toString()}`}>
                {groupedAtLeast(one[state], atLeast.includes(state))}
              </a>
            );
            return [
              <a class="mono" href={`${paths.below("events")}?${new URLSearchParams({ destination }).toString()}`}>
                {target ?? `${destination} (not configured)`}
              </a>,
              count("pending"),
              count("dead"),
              oldest === null ? "–" : <TimeText at={Date.parse(oldest)} now={now} />,
              <Rests resting={resting} now={now} />,
            ];
          })}
        />
      )}
    </section>
  );
}

function Rests({ resting, now }: Pick<OutboxDestinationView, "resting"> & { readonly now: number }) {
  const rest = restText(resting);
  if (rest === null) return <>–</>;
  return (
    <>
      {rest.lanes}, tried again <TimeText at={Date.parse(rest.until)} now={now} rel="due" />: {rest.why}
    </>
  );
}

function eventRow(one: OutboxEventView, { paths, now }: ConsoleView, query: Fields) {
  const { id, shard, place, destination, state, tries, publishedAt, nextTryAt, reason } = one;
  const chosen = new URLSearchParams({ ...query, destination, event: `${shard}~${place}~${id}` }).toString();
  return [
    <a class="mono" href={`${paths.below("events")}?${chosen}#change`}>
      {id}
    </a>,
    state,
    String(tries),
    <TimeText at={Date.parse(publishedAt)} now={now} />,
    nextTryAt === null ? "–" : <TimeText at={Date.parse(nextTryAt)} now={now} rel="due" />,
    reason ?? "–",
  ];
}

interface ChangeFormProps {
  readonly view: ConsoleView;
  readonly filter: EventFilter & { readonly destination: string };
  readonly event: string | null;
  readonly reason: string;
}

function ChangeForm({ view, filter: { destination, state }, event, reason }: ChangeFormProps) {
  const which = event === null ? `All ${state === null ? "" : `${state} `}events for ${destination}` : "One event";
  return (
    <form
      class="card decide"
      id="change"
      method="post"
      action={view.paths.below("events")}
      aria-labelledby="change-title"
    >
      <h2 id="change-title">{which}</h2>
      <p>
        {event === null ? (
          "Choose one above to change it alone."
        ) : (
          <CopyableText text={event.split("~")[2] ?? ""} what="the event's id" />
        )}
      </p>
      <FormToken view={view} />
      <input type="hidden" name="destination" value={destination} />
      {state === null ? null : <input type="hidden" name="state" value={state} />}
      {event === null ? null : <input type="hidden" name="event" value={event} />}
      <LogReason value={reason} />
      <label class="check">
        <input type="checkbox" name="confirmed" value="yes" /> Sent again, they arrive with the ids that they had.
        Dropped, nobody gets them.
      </label>
      <div>
        {event !== null ? null : (
          <>
            <button class="main" name="step" value="count">
              Count
            </button>{" "}
          </>
        )}
        <button name="step" value="resend">
          Send again
        </button>{" "}
        <button name="step" value="drop">
          Drop
        </button>
      </div>
    </form>
  );
}

const DONE: Fields = { count: "To change", resend: "Sent again", drop: "Dropped" };

function Result({ outcome }: { readonly outcome: Outcome }) {
  if (typeof outcome === "string") return <ProblemNote problem={outcome} />;
  return (
    <p class="note" role="status" id="result">
      <strong>
        {DONE[outcome.step]}: {groupedAtLeast(outcome.events, outcome.more)}.
      </strong>{" "}
      {outcome.more && outcome.step !== "count" ? "There may be more: do it again." : null}
      {outcome.events === 0 && outcome.step !== "count"
        ? "A try moves an event: choose it again if it is still left."
        : null}
    </p>
  );
}
