// What operators see of the outbox of all shards, and what they do to it. Each shard is first asked for its counts, which are few, and
// then only those are asked that have what is wanted.

import { describeDestination } from "../settings/read-destinations.ts";
import type { Destination } from "../../../kernel/config/resolved.ts";
import { ALL_LANES, EVENT_STATES, type EventState, NO_RECORD } from "../../../kernel/record/outbox.ts";
import { type CallsOf, callsOf } from "../../../kernel/object/itty.ts";
import { shardStub } from "../../../kernel/object/call-shard.ts";
import { type EventsChanged, OUTBOX_CALLS } from "../object/outbox-calls.ts";
import { shardTitle } from "../../../kernel/object/shard-address.ts";

import type { DestinationCounts, SeenEvent } from "../object/list.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { askHolders, type AskedHolders, unlessSilent } from "../../../operator/ask-shards.ts";
import { type AuditLog, auditedAction } from "../../../operator/audited.ts";
import { dropEvents, type EventsChange, resendEvents } from "./events-request-schema.ts";
import type { OutboxChangedView, OutboxDestinationView, OutboxEventView, OutboxPageView } from "./outbox-schema.ts";
import { OTHER_HALF } from "../../../operator/asking-plan.ts";
import { collectPages, isoTime, type PageStart } from "../../../operator/shard-pages.ts";
import type { LayoutShardAddress, ShardDirectory } from "../../../operator/shards.ts";

export interface EventFilter {
  /** `null`: any. */
  readonly destination: string | null;
  readonly state: EventState | null;
}

/** For how long one request changes events. What is left is changed by the next one. */
const MAX_MS = 5000;

/** One shard's counts of one destination. */
interface Held {
  readonly address: LayoutShardAddress;
  readonly counts: DestinationCounts;
}

interface Counted extends Pick<AskedHolders<never>, "unreachable" | "notAsked"> {
  readonly held: readonly Held[];
}

const NOT_COUNTED: Counted = {
  held: [],
  unreachable: [],
  notAsked: { earlier: 0, missing: 0, oldestAnswerAt: null },
};

export class OutboxOperator {
  readonly #namespace: DurableObjectNamespace;
  readonly #directory: ShardDirectory;
  readonly #destinations: readonly Destination[];

  constructor(namespace: DurableObjectNamespace, directory: ShardDirectory, destinations: readonly Destination[]) {
    this.#namespace = namespace;
    this.#directory = directory;
    this.#destinations = destinations;
  }

  /** `null` when the cursor is invalid. Rejects when no shard answers. */
  async list(filter: EventFilter, limit: number, cursor: string | null): Promise<OutboxPageView | null> {
    const { listed } = this.#directory;
    const begin = cursor === null ? null : readCursor(cursor);
    const start = cursor === null ? 0 : listed.findIndex((address) => shardTitle(address) === begin?.shard);
    if (start === -1) return null;
    const { held, unreachable, notAsked } = await this.#count();
    const names = new Set(
      held.filter(({ counts }) => hasAny(counts, filter)).map(({ address }) => shardTitle(address)),
    );
    const { items, next, silent } = await collectPages(
      listed.slice(start).filter((address) => names.has(shardTitle(address))),
      limit,
      begin,
      async (address, after, most) => {
        const page = await this.#calls(address).list({ ...filter, after, limit: most });
        return { items: page.events, next: page.next };
      },
    );
    return {
      destinations: this.#summaries(held),
      events: items.map(({ item, shard }) => viewEvent(item, shard)),
      cursor: next === null ? null : writeCursor(next),
      notListed: this.#directory.notListed,
      unreachable: [...unreachable, ...silent],
      notAsked,
    };
  }

  async change(action: "resend" | "drop", change: EventsChange, by: Actor): Promise<OutboxChangedView> {
    const { destination, state, event, isPreview, reason } = change;
    const { held, unreachable, notAsked } = event === null || isPreview ? await this.#count() : NOT_COUNTED;
    const wanted = held.filter(({ counts }) => hasAny(counts, { destination, state }));
    if (isPreview)
      return {
        ...previewOf(
          wanted.map(({ counts }) => counts),
          state,
        ),
        unreachable,
        notAsked,
      };
    const addresses =
      event === null
        ? wanted.map(({ address }) => address)
        : this.#directory.listed.filter((address) => shardTitle(address) === event.shard);
    const one = event === null ? null : { id: event.id, at: event.place };
    const until = Date.now() + MAX_MS;
    const ask = { action, destination, state, event: one };
    let events = 0;
    let calls = 0;
    let more = false;
    const silent = [...unreachable];
    const changeIn = async (address: LayoutShardAddress): Promise<void> => {
      let slice: EventsChanged | null = null;
      do {
        calls += 1;
        if (calls > OTHER_HALF) {
          more = true;
          return;
        }
        slice = await unlessSilent(address, this.#calls(address).change(ask));
        events += slice?.events ?? 0;
      } while (slice?.more === true && Date.now() < until);
      if (slice === null) silent.push(shardTitle(address));
      more ||= slice?.more === true;
    };
    await Promise.all(addresses.map(changeIn));
    console.warn({
      message: action === "resend" ? "events sent again" : "events dropped",
      destination,
      state,
      event: event?.id ?? null,
      events,
      by: by.name,
      reason,
      unreachable: silent,
    });
    return { events, more, unreachable: silent, notAsked };
  }

  async #count(): Promise<Counted> {
    const { holders, unreachable, notAsked } = await askHolders(this.#namespace, this.#directory, "outbox", (shard) =>
      shard(OUTBOX_CALLS).counts(),
    );
    const held = holders.flatMap(({ address, held: all }) => all.map((counts) => ({ counts, address })));
    return { held, unreachable, notAsked };
  }

  #summaries(held: readonly Held[]): readonly OutboxDestinationView[] {
    const configured = this.#destinations.map(({ name }) => name);
    const names = [...new Set([...configured, ...held.map(({ counts }) => counts.destination).toSorted()])];
    return names.map((destination) => {
      const known = this.#destinations.find(({ name }) => name === destination);
      return summaryOf(
        destination,
        known === undefined ? null : describeDestination(known),
        held.filter(({ counts }) => counts.destination === destination),
      );
    });
  }

  #calls(address: LayoutShardAddress): CallsOf<typeof OUTBOX_CALLS> {
    return callsOf(OUTBOX_CALLS, shardStub(this.#namespace, address));
  }
}

function hasAny(counts: DestinationCounts, { destination, state }: EventFilter): boolean {
  if (destination !== null && counts.destination !== destination) return false;
  return state === null || counts[state] > 0;
}

function previewOf(held: readonly DestinationCounts[], state: EventState | null): EventsChanged {
  const states = EVENT_STATES.filter((one) => state === null || one === state);
  return {
    events: held.reduce((sum, counts) => states.reduce((all, one) => all + counts[one], sum), 0),
    more: held.some(({ atLeast }) => states.some((one) => atLeast.includes(one))),
  };
}

function summaryOf(destination: string, target: string | null, held: readonly Held[]): OutboxDestinationView {
  const oldest = (of: "oldestPending" | "oldestDeath"): string | null => {
    const times = held.flatMap(({ counts }) => (counts[of] === null ? [] : [counts[of]]));
    return times.length === 0 ? null : isoTime(Math.min(...times));
  };
  return {
    destination,
    target,
    pending: held.reduce((sum, { counts }) => sum + counts.pending, 0),
    dead: held.reduce((sum, { counts }) => sum + counts.dead, 0),
    atLeast: EVENT_STATES.filter((state) => held.some(({ counts }) => counts.atLeast.includes(state))),
    oldestPendingAt: oldest("oldestPending"),
    oldestDeadAt: oldest("oldestDeath"),
    resting: held.flatMap(({ address, counts: { resting } }) =>
      resting === null
        ? []
        : [{ ...resting, shard: shardTitle(address), of: ALL_LANES, until: isoTime(resting.until) }],
    ),
  };
}

function viewEvent(
  { id, at, record, destination, state, tries, since, due, last }: SeenEvent,
  shard: string,
): OutboxEventView {
  return {
    id,
    shard,
    place: at,
    recordId: record === NO_RECORD ? null : record,
    destination,
    state,
    tries,
    publishedAt: isoTime(since),
    nextTryAt: state === "dead" ? null : isoTime(due),
    diedAt: state === "dead" ? isoTime(due) : null,
    reason: last,
  };
}

const CURSOR = /^([a-z0-9-]{1,64})~([A-Za-z0-9_:-]{1,80}\.\d{1,2}\.\d{1,16}\.\d{1,16})?$/;

/** `<shard>~<place>`; the place is empty at the start. */
function writeCursor({ shard, after }: PageStart<string>): string {
  return `${shard}~${after ?? ""}`;
}

function readCursor(cursor: string): PageStart<string> | null {
  const [, shard, after = null] = CURSOR.exec(cursor) ?? [];
  return shard === undefined ? null : { shard, after };
}

/** What is done to events, audited. */
export type EventsActions = ReturnType<typeof eventsActions>;

export function eventsActions(outbox: OutboxOperator, audit: AuditLog) {
  const audited = (action: typeof resendEvents | typeof dropEvents) =>
    auditedAction(action, audit, async (asked: EventsChange, by) => {
      const view = await outbox.change(action.word, asked, by);
      return { kind: "done", view, gist: `${view.events} events` };
    });
  return { resend: audited(resendEvents), drop: audited(dropEvents) };
}
