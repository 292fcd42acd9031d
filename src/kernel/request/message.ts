// What the Worker sends to a shard: one message, built from parts that the Worker derived. The client's request itself is
// never passed on: none of its headers, its URL or its abort signal becomes part of the call to the shard. A message is
// the length of its head (32 bits, big-endian), the head as JSON, and then the request's body.

import { rawCall } from "../call.ts";
import type { Layout } from "../config/layout.ts";
import type { Origin, Route, RouteRules } from "../config/resolved.ts";
import type { MessageFacts } from "../record/parked-message.ts";
import {
  type AttemptId,
  type DurationMs,
  type Fingerprint,
  instanceOf,
  keyHashOf,
  type RecordId,
} from "../record/units.ts";
import type { RouteTelemetry } from "../traffic/exchange-reporter.ts";
import type { BodyReader } from "./body-reader.ts";
import type { ComparisonRule } from "./comparison.ts";
import type { RequestEncryption } from "../encryption/encryption.ts";
import type { FingerprintParts } from "./fingerprint.ts";
import type { HeaderPairs } from "./headers.ts";
import type { PreviousLayouts } from "../elsewhere.ts";
import type { HopTimer, MeasuredHop } from "../traffic/hop-meter.ts";
import type { OriginKey } from "./origin-key.ts";
import type { KeyCount } from "./scope.ts";
import type { StoredState } from "../verify/judge-state.ts";
import type { ReplayEdits } from "../request-feature.ts";

/** An exchange, by how its request's body travels: in the message; offered, and taken only if it is needed; or as a stream that is still coming. */
export const EXCHANGE_CALL = rawCall("exchange");
export const OFFER_CALL = rawCall("offer");
export const UPLOAD_CALL = rawCall("upload");

/** The call to the origin without the attempt's number, which only the record knows. */
export interface OriginCall {
  readonly origin: Origin;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  /** The key as these headers have it. Absent: this is no call with a key. */
  readonly key?: OriginKey;
  /** Whether the request has a body at all; an empty one is a body. */
  readonly hasBody: boolean;
}

/** How to ask the origin whether an operation took effect. */
export interface Verification {
  readonly origin: Origin;
  readonly url: string;
  /** The URL with `KEY_IN_URL` where it has the key. Only in messages: a record keeps the question that is asked. */
  readonly keyed?: string;
  readonly headers: HeaderPairs;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxBytes: number;
  /** How the answer is judged; absent: any 2xx says that the operation took effect, and 404 that it did not. */
  readonly state?: StoredState;
  /** Only in messages, and only with `state`: it has the key somewhere, so it is for this form of the key alone. */
  readonly namesKey?: true;
}

/** A body that follows the head as a stream. */
export interface StreamedUpload {
  /** The parts of the fingerprint that are known before the body; `null` where bodies are not compared. */
  readonly fingerprintParts: FingerprintParts | null;
  /** What the client declared; `null` when it sends in chunks. */
  readonly length: number | null;
  readonly maxBytes: number;
  /** In which form bodies of up to `WHOLE_BODY_BYTES` are compared; larger ones are compared as bytes. */
  readonly compare: "bytes" | "json";
  /** What a body is compared by beside that. */
  readonly comparison?: ComparisonRule;
}

/** Bodies up to this size may be held whole, larger ones never are. JSON is compared as such up to here. */
export const WHOLE_BODY_BYTES = 1 << 20;

/** Which record the request belongs to, and what operators call it: the key, and the path of its route as configured. */
export interface RecordName {
  readonly id: RecordId;
  readonly key: string;
  readonly route: string;
  /** A digest of the scope's values, on `encrypt_responses` routes; then `key` is empty. */
  readonly scopeDigest?: string;
  /** The names that the record would have in older scopes; if there are any. */
  readonly olderIds?: readonly RecordId[];
  /** What operators see of the request: kernel/record/request-note.ts. */
  readonly note?: string;
  /** Whose turn it takes in its object (kernel/record/lanes.ts); absent: lane 0. */
  readonly lane?: number;
  /** What decides about its object instead of its id: 128 bits or more in hexadecimal. Only of claims with a position. */
  readonly placedBy?: string;
}

/** What a record notes of its request. */
export interface NotedRequest {
  readonly note: string;
  /** The beginning of the body, and until when operators may read it, in milliseconds since the epoch. */
  readonly excerpt?: { readonly until: number; readonly text: string };
}

/** What the lines of the log about one exchange have in common: its key's hash and its instance, which its client gets with a problem. */
export interface LogNames {
  readonly keyHash: string;
  /** None where it is no exchange: the alarm verifies, or a monitor asks. */
  readonly instance?: string;
}

/** An attempt of an accepted request has the instance of that request. */
export function logNames({ record, request: { attemptId } }: NamedExchange): LogNames {
  const keyHash = keyHashOf(record.id);
  return attemptId === undefined ? { keyHash } : { keyHash, instance: instanceOf(attemptId) };
}

/** Without an attempt's id: the question of a monitor. */
export interface NamedExchange {
  readonly record: Pick<RecordName, "id">;
  readonly request: Partial<Pick<RequestFacts, "attemptId">>;
}

/** What decides about a record's object, in each layout. */
export function placingOf({ id, placedBy = id }: Pick<RecordName, "id" | "placedBy">): string {
  return placedBy;
}

/** What the shard needs to know of the client's request. */
export interface RequestFacts {
  /** The key as the client sent it; every response repeats it. */
  readonly echo: string;
  /** For the attempt that this request may start. */
  readonly attemptId: AttemptId;
  readonly fingerprint: Fingerprint;
  /** The same request's fingerprint in a record from before `encrypt_responses` was switched; see encryption.ts. */
  readonly otherFingerprint?: Fingerprint;
  /** Whether requests with this fingerprint have the same bytes. */
  readonly sameBytes: boolean;
  /** `null` when the whole body is in the message; then `fingerprint` covers it. */
  readonly upload: StreamedUpload | null;
  /** Whether the Worker caches the answer if it is a small replay (replay-cache.ts). */
  readonly isCached: boolean;
  /** The last event of a stream that the client has seen (HTML standard, section 9.2.4). */
  readonly lastEventId: string | null;
}

/** A request that may be answered before its result is there, or that may be a duplicate of one that was. */
export interface AsyncRequest {
  /** Whether a new one is accepted. Otherwise its client waits for the result. */
  readonly accepts: boolean;
  /** Where the outcome can be read: a path and a query, to which the shard adds the fingerprint's beginning. */
  readonly monitor: string;
  /** How long the result itself may be waited for. */
  readonly waitMs: DurationMs;
  /** Whether the client has asked for it (RFC 7240, section 4.1). */
  readonly isPreferred: boolean;
}

/** All that a shard needs to know to run one exchange. */
export interface ExchangeHead {
  readonly record: RecordName;
  readonly request: RequestFacts;
  readonly rules: RouteRules;
  readonly call: OriginCall;
  /** `null` when the origin cannot be asked. */
  readonly verification: Verification | null;
  readonly telemetry: RouteTelemetry;
  /** What the Worker has measured before; absent: nothing. */
  readonly hops?: readonly MeasuredHop[];
  /** Only in messages of `encrypt_responses` routes. */
  readonly encryption?: RequestEncryption;
  /** Only where the route limits new keys. */
  readonly newKeys?: KeyCount;
  /** Only where the route keeps the beginnings of bodies for operators. */
  readonly excerpt?: NotedRequest["excerpt"];
  /** Only on routes that accept requests. */
  readonly async?: AsyncRequest;
  /** Set for a queue's message that is not to wait any longer: if its outcome is unknown, it is stored with its record. */
  readonly park?: true;
  /** Only with `park`: what its dead letter would say of it. */
  readonly message?: MessageFacts;
  /** What is known of the layouts before that of the object which is addressed; absent: nothing. */
  readonly previous?: PreviousLayouts;
}

/** What a replay depends on. */
export type ReplayHead = Pick<ExchangeHead, "record" | "rules" | "encryption"> & {
  readonly request: Pick<RequestFacts, "echo" | "upload" | "lastEventId" | "isCached"> & NamedExchange["request"];
};

export type ExchangeMessage = ShardMessage<ExchangeHead>;

/** The names that the request's record has, or would have, in a layout: its own, then those of older scopes. */
export type NamesIn = (layout: Layout) => Promise<readonly [RecordId, ...RecordId[]]>;

/** What the Worker sends: a whole message, or the beginning of one and a reader for the rest of its body. */
export interface ExchangeRequest extends ExchangeMessage {
  readonly rest: BodyReader | null;
  /** Of a JSON-RPC call: the route that names it, and what a replay has for this call. */
  readonly route?: Route;
  readonly edits?: ReplayEdits;
  /** What the record is to note of the request. Only a shard needs it; absent: the head has it already. */
  readonly note?: () => Promise<NotedRequest | null>;
  readonly namesIn: NamesIn;
  /** Where its client may ask what became of it; `null`: nowhere. */
  readonly lookUpAddress?: () => string | null;
  /** Only where the way to the object is measured. */
  readonly timer?: HopTimer;
  /** Frees the memory of `body`, which cannot be sent afterwards. May be called more than once. */
  free(): void;
}

/** The length of the head's length. */
export const LENGTH_BYTES = 4;

/** A head, any JSON, and bytes. */
export interface ShardMessage<Head> {
  readonly head: Head;
  readonly body: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeMessage<Head>({ head, body }: ShardMessage<Head>): Uint8Array {
  return encodeText(JSON.stringify(head), body);
}

/** The same for an exchange. */
export function encodeExchange({ head, body }: ExchangeMessage): Uint8Array {
  return encodeText(exchangeHeadText(head), body);
}

function encodeText(head: string, body: Uint8Array): Uint8Array {
  const json = encoder.encode(head);
  const bytes = new Uint8Array(LENGTH_BYTES + json.byteLength + body.byteLength);
  new DataView(bytes.buffer).setUint32(0, json.byteLength);
  bytes.set(json, LENGTH_BYTES);
  bytes.set(body, LENGTH_BYTES + json.byteLength);
  return bytes;
}

/** Reads only what `encodeMessage` wrote, in the same deployment or the one before. */
export function decodeMessage<Head>(bytes: Uint8Array): ShardMessage<Head> {
  const { text, body } = decodeText(bytes);
  const head: Head = JSON.parse(text);
  return { head, body };
}

/** The same for an exchange. */
export function decodeExchange(bytes: Uint8Array): ExchangeMessage {
  const { text, body } = decodeText(bytes);
  return { head: readHead(text), body };
}

function decodeText(bytes: Uint8Array): { readonly text: string; readonly body: Uint8Array } {
  const bodyAt = LENGTH_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  return { text: decoder.decode(bytes.subarray(LENGTH_BYTES, bodyAt)), body: bytes.subarray(bodyAt) };
}

/** How the text of an exchange's head begins. */
const BEGIN = '{"rules":';

/** The texts of rules that have been written. A route's rules are one object as long as the isolate lives. */
const written = new WeakMap<RouteRules, string>();

/**
 * An exchange's head as JSON. The rules, half of it, come first: they are the same in all messages of a route, so neither side
 * writes or reads their JSON twice.
 */
export function exchangeHeadText(head: ExchangeHead): string {
  let rules = written.get(head.rules);
  if (rules === undefined) {
    rules = JSON.stringify(head.rules);
    written.set(head.rules, rules);
  }
  const { verification } = head;
  const byState = verification?.state === undefined ? null : { verification: null, verificationByState: verification };
  return `${BEGIN}${rules},${JSON.stringify({ ...head, ...byState, rules: undefined }).slice(1)}`;
}

/**
 * A head on its way. A verification by state travels under a name of its own: an object of an older release would believe any 2xx, and without
 * a verification it leaves the outcome to a person.
 */
type SentHead = ExchangeHead & { readonly verificationByState?: Verification };

function received({ verificationByState, ...head }: SentHead): ExchangeHead {
  return verificationByState === undefined ? head : { ...head, verification: verificationByState };
}

/** What a call needs of the message that brought its request, for a record that keeps the request. */
export function storedHead({ record, request, rules, call: origin, telemetry }: ExchangeHead): string {
  const kept = { record, request, rules, call: origin, telemetry, verification: null } satisfies ExchangeHead;
  return JSON.stringify(kept);
}

interface KnownRules {
  readonly text: string;
  readonly rules: RouteRules;
}

/** Enough for the routes of most configurations. */
const MAX_KNOWN = 64;

/** Rules that have been read, by their texts. */
const known: KnownRules[] = [];

/** Reads what `exchangeHeadText` wrote. */
export function readHead(text: string): ExchangeHead {
  const begins = text.startsWith(BEGIN) ? known.find((one) => text.startsWith(one.text, BEGIN.length)) : undefined;
  if (begins !== undefined) {
    const rest: Omit<SentHead, "rules"> = JSON.parse(`{${text.slice(BEGIN.length + begins.text.length + 1)}`);
    return received({ ...rest, rules: begins.rules });
  }
  const head: SentHead = JSON.parse(text);
  const rules = JSON.stringify(head.rules);
  if (known.length < MAX_KNOWN && text.startsWith(rules, BEGIN.length)) known.push({ text: rules, rules: head.rules });
  return received(head);
}
