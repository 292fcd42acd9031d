// What the Worker hands to a shard: one message, made of parts that the Worker derived. The client's request itself
// never travels: no header and no URL of its own is a header or URL of the call to the shard, and no abort signal rides
// along. A message is its head's length (32 bits, big-endian), the head as JSON, and then the request's body.

import type { Origin } from "../config/resolved.ts";
import type { BodyForm, DuplicateRule } from "../config/words.ts";
import type { Policy } from "../core/record.ts";
import type { AttemptId, Fingerprint, RecordId } from "../core/units.ts";
import type { VerdictLists } from "../core/verdict.ts";
import type { Telemetry } from "../traffic/exchange-reporter.ts";
import type { BodyReader } from "./body-reader.ts";
import type { FingerprintParts } from "./fingerprint.ts";
import type { HeaderPairs } from "./headers.ts";

/**
 * Where a message is sent, by how its body travels: in the message; offered, and taken only if it is needed; or as a stream
 * that is still coming. A shard answers these fixed URLs alone, which no client chooses.
 */
export const EXCHANGE_URL = "https://key-shard/exchange";
export const OFFER_URL = "https://key-shard/offer";
export const UPLOAD_URL = "https://key-shard/upload";

/** The call to the origin, but for the attempt's number, which only the record knows. */
export interface OriginCall {
  readonly origin: Origin;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  /** Whether the request has a body at all; an empty one is a body. */
  readonly hasBody: boolean;
}

/** How to ask the origin whether an operation took effect. */
export interface Verification {
  readonly origin: Origin;
  readonly url: string;
  readonly headers: HeaderPairs;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxBytes: number;
}

/** A body that follows the head as a stream. */
export interface Upload {
  /** What of the fingerprint is known before the body; `null` where bodies are not compared and it is known already. */
  readonly fingerprintParts: FingerprintParts | null;
  /** What the client declared; `null` when it sends in chunks. */
  readonly length: number | null;
  readonly maxBytes: number;
  /** In which form bodies of up to `WHOLE_BODY_BYTES` are compared; larger ones are compared as bytes. */
  readonly compare: Exclude<BodyForm, "none">;
}

/** Bodies up to this size may be held whole, larger ones never are. JSON is compared as such up to here. */
export const WHOLE_BODY_BYTES = 1 << 20;

/** All that a shard needs to know to run one exchange. */
export interface ExchangeHead {
  readonly recordId: RecordId;
  /** The idempotency key, and the path of its route as configured: what operators call the record. */
  readonly key: string;
  readonly route: string;
  /** The key as the client sent it; every response repeats it. */
  readonly echo: string;
  readonly fingerprint: Fingerprint;
  /** `null` when the body is all there; then `fingerprint` is that of the request. */
  readonly upload: Upload | null;
  /** Whether requests with this fingerprint have the same bytes. */
  readonly sameBytes: boolean;
  /** For the attempt that this request may start. */
  readonly attemptId: AttemptId;
  readonly policy: Policy;
  readonly lists: VerdictLists;
  readonly duplicate: DuplicateRule;
  /** How long a duplicate waits for the answer of the attempt in flight, or for its beginning. */
  readonly waitMs: number;
  /** The last event of a stream that the client has seen (HTML standard, section 9.2.4). */
  readonly lastEventId: string | null;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxResponseBodyBytes: number;
  readonly mismatchStatus: number;
  readonly omitHeaders: readonly string[];
  readonly call: OriginCall;
  /** `null` where the route asks nobody. */
  readonly verification: Verification | null;
  /** What is to be said of this exchange, and the trace that it belongs to. */
  readonly telemetry: Telemetry;
}

export type ExchangeMessage = Message<ExchangeHead>;

/** What the Worker hands over: a whole message, or the beginning of one and the rest of its body. */
export interface ExchangeRequest extends ExchangeMessage {
  readonly rest: BodyReader | null;
  /** Gives the memory of `body` back: it cannot be sent any more. To be called once or more. */
  free(): void;
}

/** The length of the head's length. */
export const LENGTH_BYTES = 4;

/** A head, any JSON, and bytes. */
export interface Message<Head> {
  readonly head: Head;
  readonly body: Uint8Array;
}

export function encodeMessage<Head>({ head, body }: Message<Head>): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const bytes = new Uint8Array(LENGTH_BYTES + json.byteLength + body.byteLength);
  new DataView(bytes.buffer).setUint32(0, json.byteLength);
  bytes.set(json, LENGTH_BYTES);
  bytes.set(body, LENGTH_BYTES + json.byteLength);
  return bytes;
}

/** Only ever reads what `encodeMessage` wrote, in the same deployment or the one before. */
export function decodeMessage<Head>(bytes: Uint8Array): Message<Head> {
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const bodyAt = LENGTH_BYTES + headBytes;
  const head: Head = JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, bodyAt)));
  return { head, body: bytes.subarray(bodyAt) };
}
