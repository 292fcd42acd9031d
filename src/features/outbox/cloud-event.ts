// The events of a result, as CloudEvents (version 1.0, JSON). An event is made once, in the turn that writes its result, so it has the
// same id and content however often it is relayed.

import { matchesStatus, type NewEvent, type EventPublication } from "../../kernel/record/outbox.ts";
import type { Attempt } from "../../kernel/record/record.ts";
import type { EpochMs, RecordId } from "../../kernel/record/units.ts";
import { CONSUMER_LABEL } from "../../kernel/record/claim.ts";
import type { HeaderPairs } from "../../kernel/request/headers.ts";
import { base64Text } from "../../kernel/request/digest.ts";

/** What events can tell about a result. */
export interface ResultFacts {
  readonly recordId: RecordId;
  /** Whose turn its events take (kernel/record/lanes.ts). */
  readonly lane: number;
  /** The path of the route as configured, or what a queue is called. */
  readonly route: string;
  readonly key: string;
  readonly attempt: Pick<Attempt, "id" | "number">;
  readonly status: number;
  readonly completedAt: EpochMs;
  /** Of the response; empty if it is not kept. */
  readonly headers: HeaderPairs;
  readonly body: Uint8Array | BodyOmission;
  /** What the origin's response says in `Onceway-Event`; `null`: nothing. */
  readonly originEvents: string | null;
}

/** Why an event does not carry the response's body. */
export type BodyOmission = "not-kept" | "too-large";

/** The most bytes of an event: a queue takes 128,000 with its own data. */
const MAX_EVENT_BYTES = 120_000;

const encoder = new TextEncoder();

/** Those that the result has: each publication whose `when` names the status has one, or those that the origin has made. */
export function eventsOf(publications: readonly EventPublication[], facts: ResultFacts): readonly NewEvent[] {
  return publications.flatMap((publication, index) => {
    if (!matchesStatus(facts.status, publication.when)) return [];
    const id = `${idOf(facts)}-${index}`;
    return publication.data === "origin"
      ? originEvents(id, publication, facts)
      : [newEvent(id, publication, facts, resultData(publication, facts))];
  });
}

/** Consumers choose the ids of their attempts, and might choose one twice: in another record, or at another time, it makes another event. */
function idOf({ route, recordId, attempt: { id }, completedAt }: ResultFacts): string {
  return route.startsWith(CONSUMER_LABEL) ? `${recordId.slice(0, 32)}-${id}-${completedAt.toString(36)}` : id;
}

/** The content of an event as JSON, and what is sent if that is too much. */
interface Content {
  readonly whole: string;
  readonly reduced: string;
}

function newEvent(
  id: string,
  publication: EventPublication,
  facts: ResultFacts,
  { whole, reduced }: Content,
): NewEvent {
  const text = cloudEvent(id, publication, facts, whole);
  const isTooLarge = encoder.encode(text).byteLength > MAX_EVENT_BYTES;
  const event = isTooLarge ? cloudEvent(id, publication, facts, reduced) : text;
  return { id, destination: publication.to, lane: facts.lane, event };
}

/** `data` is JSON already, and stays as it is: to read and write it would change large numbers. */
function cloudEvent(id: string, { type, step }: EventPublication, facts: ResultFacts, data: string): string {
  const { recordId, route, key, attempt, completedAt } = facts;
  const attributes = {
    specversion: "1.0",
    id,
    source: `onceway:${encodeURI(route.toWellFormed())}`,
    type,
    subject: recordId,
    time: new Date(completedAt).toISOString(),
    datacontenttype: "application/json",
    attempt: attempt.number,
    ...(step === undefined ? null : { idempotencykey: `${key}:${step}` }),
  };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${data}}`;
}

function resultData({ data }: EventPublication, { status, headers, body }: ResultFacts): Content {
  const bare = JSON.stringify({ status });
  if (data !== "response") return { whole: bare, reduced: bare };
  const contentType = valueOf(headers, "content-type");
  const contentEncoding = valueOf(headers, "content-encoding");
  const about = { status, contentType, ...(contentEncoding === null ? null : { contentEncoding }) };
  const without = (bodyOmitted: BodyOmission): string => JSON.stringify({ ...about, bodyOmitted });
  const reduced = without("too-large");
  if (typeof body === "string") return { whole: without(body), reduced };
  // Compressed bytes are never text, whatever they look like.
  const member = contentEncoding === null ? bodyMember(contentType, body) : base64Member(body);
  return { whole: `${JSON.stringify(about).slice(0, -1)},${member}}`, reduced };
}

function valueOf(headers: HeaderPairs, wanted: string): string | null {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
}

const IS_JSON = /^[^;]*[/+]json\s*(?:;|$)/i;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A member of a JSON object: JSON as JSON and text as text, so that consumers need not decode it. */
function bodyMember(contentType: string | null, bytes: Uint8Array): string {
  let text;
  try {
    text = strict.decode(bytes);
  } catch {
    return base64Member(bytes);
  }
  const isJson = contentType !== null && IS_JSON.test(contentType) && isReadable(text);
  return `"body":${isJson ? text : JSON.stringify(text)}`;
}

function base64Member(bytes: Uint8Array): string {
  return `"bodyBase64":"${base64Text(bytes)}"`;
}

function isReadable(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

/** The type of the event for what an origin said that cannot be read: nothing that it wanted to tell is lost. */
const UNREADABLE_TYPE = "dev.onceway.origin-event.unreadable";

/**
 * The events that the origin has made itself: a JSON object `{ "type"?, "data"? }` or a list of them. Several header lines are
 * one list, as for any field (RFC 9110, section 5.3).
 */
function originEvents(id: string, publication: EventPublication, facts: ResultFacts): readonly NewEvent[] {
  const { status, originEvents: header } = facts;
  if (header === null) return [];
  const said = parseOriginEvents(header);
  if (said === null) {
    const content = { whole: JSON.stringify({ status, header }), reduced: JSON.stringify({ status }) };
    return [newEvent(id, { ...publication, type: UNREADABLE_TYPE }, facts, content)];
  }
  return said.map(({ type = publication.type, data = null }, at) => {
    const content = { whole: JSON.stringify(data), reduced: JSON.stringify({ dataOmitted: true }) };
    return newEvent(`${id}.${at}`, { ...publication, type }, facts, content);
  });
}

/** Each is a row, written in the turn of the result. */
const MAX_ORIGIN_EVENTS = 20;

interface OriginEvent {
  readonly type?: string;
  readonly data?: unknown;
}

function parseOriginEvents(text: string): readonly OriginEvent[] | null {
  let value: unknown;
  try {
    value = JSON.parse(`[${text}]`);
  } catch {
    return null;
  }
  const list: readonly unknown[] = Array.isArray(value) ? value.flat() : [];
  return list.length <= MAX_ORIGIN_EVENTS && list.every(isOriginEvent) ? list : null;
}

function isOriginEvent(value: unknown): value is OriginEvent {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !("type" in value) || (typeof value.type === "string" && value.type !== "");
}
