// The operators' calls to a shard. Reads come through itty-durable's stub and are small. Changes and bodies, which are free text and bytes,
// come by `fetch`, like exchanges.

import { answerCall, type AnsweredCall, jsonCall, rawCall, respondToCall } from "../call.ts";
import type { ObjectClosing } from "../elsewhere.ts";
import type { OperatorEvent, RecordEvent, RefusedChange } from "../record/events.ts";
import type { HeldRows } from "../record/held-rows.ts";
import type { CountedState } from "../record/record.ts";
import { type TimelineEvent, timelineOf, unknownReason } from "../record/timeline.ts";
import { type EpochMs, type RecordId, epochMs, recordId } from "../record/units.ts";
import type { HeaderPairs } from "../request/headers.ts";
import { decodeMessage } from "../request/message.ts";
import type { ObjectPlace } from "../traffic/exchange-reporter.ts";
import type { CountedByShard, LeftCounts } from "./totals.ts";
import { readStoredBody } from "./answers.ts";
import type { ResponseHead } from "./exchange-answer.ts";
import { START } from "../resume/event-offsets.ts";
import type { RecordSteps } from "./record-steps.ts";
import type { BodyExcerpt } from "../notes/excerpts.ts";
import type { Ledger } from "../store/ledger.ts";
import type { ListQuery } from "../store/list-query.ts";
import { type ListPage, MAX_COUNTED, type OpenCounts, type RecordList, type SeenRecord } from "../store/record-list.ts";
import { readOrReport } from "../store/unreadable.ts";
import { isEncrypted, sizeOf, type StoredResponse } from "../store/response-rows.ts";
import type { ObjectTimers } from "./timers.ts";

/** Questions, through itty-durable. */
export const OPERATOR_CALLS = {
  list: jsonCall<ListQuery, ListPage>("list"),
  /** `null`: the record does not exist. */
  inspect: jsonCall<RecordId, SeenDetail | null>("inspect"),
  /** Whether there is a row for the record, also one that cannot be read. */
  has: jsonCall<RecordId, boolean>("has"),
  counts: jsonCall<void, ShardCounts>("counts"),
  numbers: jsonCall<void, ShardNumbers>("numbers"),
  /** Only of the operators' object: the current generation of the console's sessions. */
  sessions: jsonCall<void, string>("sessions"),
  /** Only of the operators' object: begins a new generation, and returns it. */
  endSessions: jsonCall<void, string>("end-sessions"),
};

/** Changes one record, and reads the bytes of a stored response. */
export const CHANGE_CALL = rawCall("change");
export const BODY_CALL = rawCall("body");

/** A whole record, except the bytes of its response. */
export interface SeenDetail extends SeenRecord {
  /** Oldest first. */
  readonly timeline: readonly TimelineEvent[];
  readonly response: {
    readonly status: number;
    readonly statusText: string;
    readonly headers: HeaderPairs;
    readonly sizeBytes: number;
  } | null;
  /** What is kept of the request's body. */
  readonly excerpt: BodyExcerpt | null;
}

export interface ShardCounts extends Omit<OpenCounts, "atLeast"> {
  readonly inFlight: number;
  /** Which of the counts by state may be too small. */
  readonly atLeast: readonly CountedState[];
  /** How long ago the oldest attempt in flight began; 0 when none is in flight. */
  readonly oldestMs: number;
  /** How long ago the attempt of the longest undecided record began; 0 when no outcome is unknown. */
  readonly oldestUnknownMs: number;
  /** Accepted requests that wait for their next attempt. */
  readonly waiting: number;
  /** For how long the one that is due longest has been due; 0 when none is. */
  readonly oldestWaitingMs: number;
  /** How many attempts of accepted requests run: at most PLACES (accepted-attempts.ts). */
  readonly placesTaken: number;
  /** Size of the database. */
  readonly bytes: number;
  /** `null`: keys begin here. */
  readonly closed: ClosedState | null;
  /** When all finished records have expired, at most an eighth of a retention too late; `null` without any. */
  readonly lastExpiresAt: EpochMs | null;
  /** Where the object runs, with a 1; of several objects how many run where. Absent: nobody finds it out. */
  readonly places?: PlaceCounts;
}

/** By the code of a data centre, or a word. */
export type PlaceCounts = Readonly<Record<string, number>>;

/** An object in which no key begins any more. */
export interface ClosedState extends ObjectClosing {
  /** All that it still holds. */
  readonly holds: readonly HeldRows[];
  /** Once it holds nothing: what it leaves behind. */
  readonly left: LeftCounts | null;
}

/** The head of a message that changes a record. With `resolve`, the message's body is the response's body. */
export interface ChangeHead {
  readonly id: RecordId;
  readonly event: RecordEvent;
  /** Only with `resolve`. */
  readonly headers: HeaderPairs;
  /** Only says whether it would be refused. */
  readonly isPreview: boolean;
}

export interface ChangeAnswer {
  /** Why the record was not changed; `null` if it was. */
  readonly why: RefusedChange | null;
  /** The record as it stands now; `null` when it does not exist. */
  readonly detail: SeenDetail | null;
}

/** The storage key of the current session generation of the console; only the operators' object has it. */
const SESSIONS = "sessions";

export interface OperatorPorts {
  readonly kept: Pick<SyncKvStorage, "get" | "put">;
  readonly ledger: Ledger;
  readonly list: RecordList;
  readonly steps: Pick<RecordSteps, "see" | "change" | "note" | "whyNot">;
  readonly closing: () => ObjectClosing | null;
  readonly place: ObjectPlace | null;
  readonly databaseBytes: () => number;
  readonly placesTaken: () => number;
  /** Waits for the end of a verification of the record that is under way. Whether there was one. */
  readonly verificationEnd: (id: RecordId) => Promise<boolean>;
  /** All that would be lost without this object. */
  readonly held: () => readonly HeldRows[];
  /** What this object has counted. */
  readonly left: () => LeftCounts;
  readonly timers: ObjectTimers;
}

/** How long an operator may read nothing of a body. */
const IDLE_MS = 30_000;

export class OperatorCalls {
  readonly #ports: OperatorPorts;

  constructor(ports: OperatorPorts) {
    this.#ports = ports;
  }

  list(query: ListQuery): ListPage {
    const now = epochMs(Date.now());
    return this.#ports.list.page(query, (id, record) => this.#ports.steps.see(id, record, now), now);
  }

  /** The session generation. The first is random too: a fixed first value would revive ended sessions in a new object. */
  sessions(): string {
    return this.#ports.kept.get<string>(SESSIONS) ?? this.endSessions();
  }

  endSessions(): string {
    const next = crypto.randomUUID().replaceAll("-", "");
    this.#ports.kept.put(SESSIONS, next);
    return next;
  }

  inspect(id: RecordId): SeenDetail | null {
    const { ledger, steps } = this.#ports;
    const now = epochMs(Date.now());
    const entry = ledger.find(id);
    const record = entry === null ? null : steps.see(id, entry.record, now);
    if (entry === null || record === null) return null;
    const { response } = entry;
    // The stored record says how an attempt was lost. A record that is still started here shows that its attempt is alive.
    const timeline = timelineOf(entry.history, record.state === "started" ? record : entry.record, now);
    // An encrypted response is kept, but nobody but its caller can read it.
    const isShown = record.state === "completed" && response !== null && !isEncrypted(response);
    const summary = isShown ? { ...headOf(response), sizeBytes: sizeOf(response.body) } : null;
    const label = ledger.label(id, entry);
    const reason = record.state === "unknown" ? unknownReason(timeline) : null;
    return { id, ...label, record, reason, timeline, response: summary, excerpt: ledger.excerpts.find(id, label, now) };
  }

  counts(): ShardCounts {
    const { ledger, list, steps, databaseBytes, placesTaken } = this.#ports;
    const now = epochMs(Date.now());
    const { atLeast: openAtLeast, ...open } = list.countOpen(now);
    const due = ledger.due.count(MAX_COUNTED);
    const atLeast: readonly CountedState[] = due === MAX_COUNTED ? ["waiting", ...openAtLeast] : openAtLeast;
    const counts = { started: 0, completed: 0, remembered: 0, ...open, waiting: due };
    let oldestMs = 0;
    for (const { id, entry } of ledger.inFlight()) {
      const record = steps.see(id, entry.record, now);
      if (record === null) continue;
      counts[record.state] += 1;
      if (record.state === "started") oldestMs = Math.max(oldestMs, now - entry.record.attempt.startedAt);
    }
    const { started: inFlight, waiting, failed, unknown } = counts;
    const accepted = {
      waiting,
      oldestWaitingMs: Math.max(0, now - (ledger.due.next() ?? now)),
      placesTaken: placesTaken(),
    };
    return {
      inFlight,
      failed,
      unknown,
      oldestMs,
      oldestUnknownMs: Math.max(0, now - (list.oldestUnknown(now) ?? now)),
      ...accepted,
      atLeast,
      bytes: databaseBytes(),
      closed: this.#closed(),
      lastExpiresAt: list.lastExpiry(),
      ...this.#places(),
    };
  }

  #places(): Pick<ShardCounts, "places"> {
    const known = this.#ports.place?.known ?? null;
    return known === null ? {} : { places: { [known]: 1 } };
  }

  /** For operators, who also want to see where the object runs. */
  async countsAndPlace(): Promise<ShardCounts> {
    await this.#ports.place?.find();
    return this.counts();
  }

  #closed(): ClosedState | null {
    const { closing, held, left } = this.#ports;
    const closed = closing();
    if (closed === null) return null;
    const holds = held();
    return { ...closed, holds, left: holds.length === 0 ? left() : null };
  }

  get calls(): readonly AnsweredCall[] {
    return [
      answerCall(OPERATOR_CALLS.list, (query) => this.list(query)),
      answerCall(OPERATOR_CALLS.inspect, (id) => this.inspect(id)),
      answerCall(OPERATOR_CALLS.has, (id) => this.#ports.ledger.has(id)),
      answerCall(OPERATOR_CALLS.counts, () => this.countsAndPlace()),
      answerCall(OPERATOR_CALLS.sessions, () => this.sessions()),
      answerCall(OPERATOR_CALLS.endSessions, () => this.endSessions()),
      respondToCall(CHANGE_CALL, (request) => this.#changeOne(request)),
      respondToCall(BODY_CALL, (request) => this.#body(request)),
    ];
  }

  async #changeOne(request: Request): Promise<Response> {
    const { head, body: bytes } = decodeMessage<ChangeHead>(new Uint8Array(await request.arrayBuffer()));
    const { id, event, headers, isPreview } = head;
    const { steps } = this.#ports;
    if (isPreview) return this.#answer(id, steps.whyNot(id, event));
    const body = { kind: "inline", bytes } as const;
    const response = event.type === "resolve" ? { status: event.status, statusText: "", headers, body } : null;
    if (event.type === "note") return this.#answer(id, steps.note(id, event));
    // Its answer may say what the operator wants to decide, who then decides about a result without knowing it.
    const wasAsked = await this.#ports.verificationEnd(id);
    const isNews = wasAsked && event.type === "forget" && this.inspect(id)?.record.state === "completed";
    return this.#answer(id, isNews ? "in-flight" : changeRecord(steps, id, event, response));
  }

  #answer(id: RecordId, why: RefusedChange | null): Response {
    // One that can be forgotten may be one that cannot be read.
    const detail = readOrReport(() => this.inspect(id), { recordId: id });
    const answer: ChangeAnswer = { why, detail };
    return Response.json(answer);
  }

  /** The bytes of a record's stored response; 404 when it keeps none. */
  async #body(request: Request): Promise<Response> {
    const { ledger, steps, timers } = this.#ports;
    const id = recordId(await request.text());
    const entry = ledger.find(id);
    const record = entry === null ? null : steps.see(id, entry.record, epochMs(Date.now()));
    const response = record?.state === "completed" ? (entry?.response ?? null) : null;
    if (response === null || isEncrypted(response)) return new Response(null, { status: 404 });
    const bytes = await readStoredBody(response.body, { stores: ledger, cipher: null }, START, {
      timers,
      idleMs: IDLE_MS,
    });
    if (bytes === null) return new Response(null, { status: 404 });
    const answer = new Response(bytes, { encodeBody: "manual" });
    // As in `Exchanges.run`.
    if (request.signal.aborted) void answer.body?.cancel().catch(() => undefined);
    return answer;
  }
}

/** An operator's change to one record. Returns why it was refused; `null` when it was made. */
export function changeRecord(
  steps: Pick<RecordSteps, "change">,
  id: RecordId,
  event: OperatorEvent,
  response: StoredResponse | null,
): RefusedChange | null {
  const why = steps.change(id, event, response);
  if (why === null && event.type === "forget") {
    // Logged, because the record's timeline is erased with it.
    console.warn({ message: "record forgotten", recordId: id, by: event.by, reason: event.reason });
  }
  return why;
}

function headOf({ status, statusText, headers }: ResponseHead): ResponseHead {
  return { status, statusText, headers };
}

/** All numbers of one shard: what it has ever counted, and what it holds now. */
export interface ShardNumbers extends ShardCounts, Omit<CountedByShard, "shard"> {
  readonly callsInFlight: number;
  /** Whether what it has counted could not be written. */
  readonly isUnwritten: boolean;
  /** How long the alarm's most overdue work has been due. */
  readonly overdueMs: number;
  /** What each feature holds, by its name. */
  readonly features: Readonly<Record<string, unknown>>;
}
