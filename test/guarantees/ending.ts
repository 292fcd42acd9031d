// What came back for one request: an answer with everything that the checker compares, or none.

/** What the origin puts into every answer to identify it. */
export interface OriginMarks {
  /** Number of the arrival that this answers, or of the question or (below 0) the operator decision that provided it. */
  readonly arrival: number;
  /** The client's request that the arrival was forwarded from. */
  readonly request: string;
  readonly key: string;
  readonly scope: string;
  /** The effect that the answer reports; null if there was none. */
  readonly effect: string | null;
  readonly bytes: number;
  /** What the body says of the answer, whatever its status; absent: nothing, and it is no JSON. */
  readonly says?: "result" | "refused" | "ambiguous";
  /** The id of the JSON-RPC call that the body answers; absent: it is no response to one. */
  readonly callId?: string;
}

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly complete: boolean;
  /** The client itself cut it short. */
  readonly left: boolean;
  /** The `Idempotency-Key` that the gateway echoes. */
  readonly echo: string | null;
  /** The monitor that a 202 of the gateway names; null: it is another answer. */
  readonly monitor: string | null;
  /** The 202 says that no attempt of the request has begun. */
  readonly isUnbegun?: boolean;
  /** The code, if the answer is one of the gateway's problems. */
  readonly code: string | null;
  /** What the problem says of a new key; absent: it is none, or says nothing. */
  readonly safeNewKey?: boolean;
  readonly replayed: boolean;
  readonly expiresAt: number | null;
  readonly retryAfterMs: number | null;
  /** An answer without the origin's marks contains the text that only the origin's answers contain. */
  readonly leaks: boolean;
  readonly origin: OriginMarks | null;
  /** Digest of the status line and the origin's headers, except framing and headers that a replay may omit. */
  readonly headers: string;
  readonly hasCookie: boolean;
  /** The headers whose names say that they are the gateway's, in lower case. */
  readonly gatewayHeaders: readonly string[];
  /** `Content-Security-Policy` and `X-Content-Type-Options`. */
  readonly contentPolicy: string | null;
  readonly typeOptions: string | null;
  readonly sha256: string;
  readonly bytes: number;
  /** Compared with the bytes that the origin's marks announce; `none`: the answer has no marks. */
  readonly body: "whole" | "prefix" | "other" | "none";
}

export type Ending =
  | Answer
  /** `left`: the client reset the connection. `broken`: it was refused or lost. `patience`: no answer came in time. */
  | { readonly kind: "none"; readonly why: "left" | "broken" | "patience"; readonly error?: string };
