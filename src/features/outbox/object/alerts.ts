// The alerts of this object: with the step that leaves an outcome unknown, with the end of an event, by the alarm, and when a
// Worker reports something. Each is stored as an event of the outbox, in the commit of what it tells. kernel/record/alerts.ts decides how often.

import {
  type Alert,
  type AlertReport,
  type AlertState,
  becomesUnknown,
  type DeadLetterReport,
  expectStillUnknown,
  lookAgainAt,
  withRestSent,
  SILENT_PASSES,
  type SilenceReport,
  raiseAlert,
} from "../../../kernel/record/alerts.ts";
import type { NewEvent } from "../../../kernel/record/outbox.ts";
import type { IdempotencyRecord } from "../../../kernel/record/record.ts";
import { epochMs, type EpochMs, keyHashOf, type RecordId, recordId } from "../../../kernel/record/units.ts";
import { type AlertFacts, alertEvents, type AlertReceiver } from "../alert-event.ts";
import type { ObjectAlarm } from "../../../kernel/object/alarm.ts";
import type { AlertRows, AlertEvents } from "./alert-rows.ts";
import type { StoredEvent } from "./rows.ts";

export interface AlertPorts {
  readonly store: { readonly alerts: AlertRows };
  readonly alarm: Pick<ObjectAlarm, "moveTo">;
  /** Those that want the alert. */
  readonly receivers: (alert: Alert) => readonly AlertReceiver[];
  /** These events have been written in this turn. */
  readonly published: (events: readonly NewEvent[], now: EpochMs) => void;
  /** This object's name. */
  readonly shard: string;
}

/** What `alertEvents` needs, without what this file knows by itself. */
type Facts = Omit<AlertFacts, "time" | "shard" | "alert">;

const SILENT_PREFIX = "silent-shard:";

export class AlertWriter {
  readonly #ports: AlertPorts;

  constructor(ports: AlertPorts) {
    this.#ports = ports;
  }

  /** The alert that a step of a record makes; `null`: none. */
  ofStep(
    id: RecordId,
    before: IdempotencyRecord | null,
    after: IdempotencyRecord | null,
    route: () => string,
    now: EpochMs,
  ): AlertEvents | null {
    if (!becomesUnknown(before, after)) return null;
    const { attempt, expiresAt, verifyAt } = after;
    const old = this.#stillUnknown(attempt.startedAt);
    // Where the gateway asks the origin itself, only what stays undecided makes an alert.
    const first = verifyAt === null ? this.#first("outcome-unknown", "outcome-unknown", now) : null;
    if (old.length === 0 && first === null) return null;
    const states = [...old, ...(first === null ? [] : [first.state])];
    if (first === null || first.more === null) return { events: [], states, at: now };
    const name = route();
    const events = this.#events("outcome-unknown", now, {
      id: `alert-outcome-unknown-${attempt.id}`,
      subject: id,
      summary: `Attempt ${attempt.number} of an operation at ${name} may or may not have taken effect.${others(first.more)}`,
      page: pageOf(id),
      data: {
        route: name,
        recordId: id,
        keyHash: keyHashOf(id),
        attempt: attempt.number,
        since: iso(attempt.startedAt),
        expiresAt: iso(expiresAt),
        more: first.more,
      },
    });
    return { events, states, at: now };
  }

  /** Outcomes that are still unknown are looked for no later than a day after this one. */
  #stillUnknown(since: EpochMs): readonly AlertState[] {
    if (this.#ports.receivers("outcome-still-unknown").length === 0) return [];
    const state = expectStillUnknown(
      this.#ports.store.alerts.get("outcome-still-unknown"),
      "outcome-still-unknown",
      since,
    );
    return state === null ? [] : [state];
  }

  #first(alert: Alert, name: string, now: EpochMs, times = 1): ReturnType<typeof raiseAlert> | null {
    if (this.#ports.receivers(alert).length === 0) return null;
    return raiseAlert(this.#ports.store.alerts.get(name), name, now, times);
  }

  #events(alert: Alert, now: EpochMs, facts: Facts, except: string | null = null): readonly NewEvent[] {
    const receivers = this.#ports.receivers(alert).filter(({ name }) => name !== except);
    return alertEvents(receivers, { alert, time: now, shard: this.#ports.shard, ...facts });
  }

  /** These have been written, in this turn. */
  added({ events, states }: AlertEvents, now: EpochMs): void {
    for (const { due } of states) if (due !== null) this.#ports.alarm.moveTo(due);
    if (events.length > 0) this.#ports.published(events, now);
  }

  /** Stores it, in this turn. */
  #tell(subject: RecordId | null, alert: AlertEvents, now: EpochMs): void {
    this.#ports.store.alerts.tell(subject, alert);
    this.added(alert, now);
  }

  /**
   * Events have died. The destination that did not take them gets no alert, and nobody gets one of a dead event of this kind: alerts that
   * make alerts would never end.
   */
  diedEvents(event: StoredEvent, dead: number, reason: string, now: EpochMs): void {
    const { destination } = event;
    if (event.id.startsWith(DEAD_EVENT_ID)) return;
    if (this.#ports.receivers("dead-event").every(({ name }) => name === destination)) return;
    const first = this.#first("dead-event", `dead-event:${destination}`, now, dead);
    if (first === null) return;
    const { state } = first;
    const events = first.more === null ? [] : this.#deadEvents(destination, dead + first.more, reason, event, now);
    this.#tell(event.record, { events, states: [state], at: now }, now);
  }

  #deadEvents(
    destination: string,
    count: number,
    reason: string | null,
    event: StoredEvent | null,
    now: EpochMs,
  ): readonly NewEvent[] {
    const facts: Facts = {
      id: `${DEAD_EVENT_ID}${event?.id ?? crypto.randomUUID()}`,
      subject: destination,
      summary: `${count} ${count === 1 ? "event" : "events"} for ${destination} were given up.`,
      page: "",
      data: {
        destination,
        count,
        reason,
        ...(event === null ? {} : { event: event.id, recordId: event.record, since: iso(event.since) }),
      },
    };
    return this.#events("dead-event", now, facts, destination);
  }

  /** By the alarm: the rest of earlier alerts, and outcomes that are still unknown. */
  tellDue(now: EpochMs): void {
    for (const state of this.#ports.store.alerts.due(now)) {
      if (state.name === "outcome-still-unknown") this.#tellStillUnknown(state, now);
      else this.#tellRest(state, now);
    }
  }

  nextAt(): EpochMs | null {
    return this.#ports.store.alerts.next();
  }

  #tellStillUnknown(state: AlertState, now: EpochMs): void {
    const { alerts } = this.#ports.store;
    const unknown = alerts.unknownOutcomes(now);
    const due = lookAgainAt(unknown, now);
    if (due === null) {
      alerts.erase(state.name);
      return;
    }
    const { old, oldestSince } = unknown;
    const events =
      old === 0 || oldestSince === null
        ? []
        : this.#events("outcome-still-unknown", now, {
            id: `alert-outcome-still-unknown-${crypto.randomUUID()}`,
            subject: this.#ports.shard,
            summary: `${old} ${old === 1 ? "operation has" : "operations have"} been undecided for a day or longer.`,
            page: "/console/records?state=unknown&until=24h",
            data: { count: old, since: iso(oldestSince) },
          });
    this.#tell(null, { events, states: [{ ...state, at: now, due }], at: now }, now);
  }

  #tellRest(state: AlertState, now: EpochMs): void {
    const events = this.#restOf(state, now);
    this.#tell(null, { events, states: [withRestSent(state, now)], at: now }, now);
  }

  #restOf({ name, count, at }: AlertState, now: EpochMs): readonly NewEvent[] {
    const [alert = "", about = ""] = name.split(":", 2);
    const minutes = Math.max(1, Math.round((now - at) / 60_000));
    const id = `alert-${alert}-${crypto.randomUUID()}`;
    switch (alert) {
      case "outcome-unknown":
        return this.#events("outcome-unknown", now, {
          id,
          subject: this.#ports.shard,
          summary: `The outcome of ${count} more ${count === 1 ? "operation" : "operations"} became unknown within ${minutes} min.`,
          page: "/console/records?state=unknown",
          data: { count, since: iso(at) },
        });
      case "dead-event":
        return this.#deadEvents(about, count, null, null, now);
      case "dead-letter":
        return this.#events("dead-letter", now, {
          id,
          subject: about,
          summary: `${count} more ${count === 1 ? `message of ${about} became a dead letter` : `messages of ${about} became dead letters`} within ${minutes} min.`,
          page: "",
          data: { queue: about, count, since: iso(at) },
        });
      default:
        return [];
    }
  }

  /** A Worker has something to tell. */
  report(report: AlertReport, now: EpochMs): void {
    if (report.alert === "dead-letter") this.#deadLetter(report, now);
    else this.#silence(report, now);
  }

  #deadLetter({ queue, messageId, reason, recordId: id }: DeadLetterReport, now: EpochMs): void {
    const first = this.#first("dead-letter", `dead-letter:${queue}`, now);
    if (first === null) return;
    const events =
      first.more === null
        ? []
        : this.#events("dead-letter", now, {
            id: `alert-dead-letter-${queue}/${messageId}`,
            subject: id ?? queue,
            summary: `A message of ${queue} became a dead letter: ${reason}.${others(first.more)}`,
            page: id === null ? "" : pageOf(id),
            data: { queue, messageId, reason, recordId: id, since: iso(now), more: first.more },
          });
    this.#tell(id === null ? null : recordId(id), { events, states: [first.state], at: now }, now);
  }

  /** Tells of a silence once when it begins, after two passes, and once when it ends. */
  #silence({ silent, watched }: SilenceReport, now: EpochMs): void {
    const { alerts } = this.#ports.store;
    const known = new Map(alerts.below(SILENT_PREFIX).map((one) => [one.name.slice(SILENT_PREFIX.length), one]));
    const states = silent.map((shard) => {
      const one = known.get(shard);
      const count = Math.min((one?.count ?? 0) + 1, SILENT_PASSES + 1);
      return { name: SILENT_PREFIX + shard, at: one?.at ?? now, count, due: null };
    });
    const begun = states.filter(({ count }) => count === SILENT_PASSES);
    const over = [...known].filter(([shard]) => !silent.includes(shard));
    const answering = over.filter(([shard, { count }]) => watched.includes(shard) && count >= SILENT_PASSES);
    const events = [
      ...this.#silenceEvents("begun", begun, now),
      ...this.#silenceEvents(
        "ended",
        answering.map(([, state]) => state),
        now,
      ),
    ];
    if (states.length > 0 || events.length > 0) this.#tell(null, { events, states, at: now }, now);
    for (const [, { name }] of over) alerts.erase(name);
  }

  #silenceEvents(phase: "begun" | "ended", states: readonly AlertState[], now: EpochMs): readonly NewEvent[] {
    const [first] = states;
    if (first === undefined) return [];
    const shards = states.map(({ name }) => name.slice(SILENT_PREFIX.length));
    const one = shards.length === 1;
    const what = phase === "begun" ? `${one ? "does" : "do"} not answer` : `${one ? "answers" : "answer"} again`;
    return this.#events("silent-shard", now, {
      id: `alert-silent-shard-${phase}-${crypto.randomUUID()}`,
      subject: shards[0] ?? "",
      summary: `${one ? shards[0] : `${shards.length} shards`} ${what}.`,
      page: "/console/shards",
      data: { phase, shards, since: iso(epochMs(Math.min(...states.map(({ at }) => at)))) },
    });
  }
}

const DEAD_EVENT_ID = "alert-dead-event-";

function pageOf(id: string): string {
  return `/console/records/${id}`;
}

function iso(at: EpochMs): string {
  return new Date(at).toISOString();
}

function others(more: number): string {
  return more === 0 ? "" : ` ${more} more have had no alert.`;
}
