// What the Worker hands to a shard: one message, made of parts that the Worker derived. The client's request itself
// never travels: no header and no URL of its own is a header or URL of the call to the shard, and no abort signal rides
// along. A message is its head's length (32 bits, big-endian), the head as JSON, and then the request's body.

import type { Origin } from "../config/resolved.ts";
import type { Policy } from "../core/record.ts";
import type { AttemptId, Fingerprint, RecordId } from "../core/units.ts";
import type { VerdictLists } from "../core/verdict.ts";
import type { HeaderPairs } from "./headers.ts";

/** The call to the origin, but for the attempt's number, which only the record knows. */
export interface OriginCall {
  readonly origin: Origin;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  /** Whether the request has a body at all; an empty one is a body. */
  readonly hasBody: boolean;
}

/** All that a shard needs to know to run one exchange. */
export interface ExchangeHead {
  readonly recordId: RecordId;
  /** The key as the client sent it; every response repeats it. */
  readonly echo: string;
  readonly fingerprint: Fingerprint;
  /** For the attempt that this request may start. */
  readonly attemptId: AttemptId;
  readonly policy: Policy;
  readonly lists: VerdictLists;
  /** How long a duplicate waits for the answer of the attempt in flight; 0 when it is answered at once. */
  readonly waitMs: number;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxResponseBodyBytes: number;
  readonly mismatchStatus: number;
  readonly omitHeaders: readonly string[];
  readonly call: OriginCall;
}

export interface ExchangeMessage {
  readonly head: ExchangeHead;
  readonly body: Uint8Array;
}

const LENGTH_BYTES = 4;

export function encodeMessage({ head, body }: ExchangeMessage): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const bytes = new Uint8Array(LENGTH_BYTES + json.byteLength + body.byteLength);
  new DataView(bytes.buffer).setUint32(0, json.byteLength);
  bytes.set(json, LENGTH_BYTES);
  bytes.set(body, LENGTH_BYTES + json.byteLength);
  return bytes;
}

/** Only ever reads what `encodeMessage` wrote, in the same deployment or the one before. */
export function decodeMessage(bytes: Uint8Array): ExchangeMessage {
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const bodyAt = LENGTH_BYTES + headBytes;
  const head: ExchangeHead = JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, bodyAt)));
  return { head, body: bytes.subarray(bodyAt) };
}
