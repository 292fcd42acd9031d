// How the response of a record stands in the record's row, and comes back from it.

import { exactBuffer } from "./bodies.ts";

/** As much of a record's row as its response needs. */
export interface ResponseRow {
  readonly attempt_id: string;
  readonly status: number | null;
  readonly kept: number | null;
  readonly status_text: string | null;
  readonly headers: string | null;
  /** `null`: in chunks, or in the bucket. */
  readonly body: ArrayBuffer | null;
  readonly body_bytes: number | null;
  readonly chunks: number | null;
}

export interface StoredResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: StoredBody;
}

/** A body in its record's row, in chunks, or in the bucket; of the latter two all is already written. */
export type StoredBody =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  | { readonly kind: "chunks"; readonly name: string; readonly count: number; readonly size: number }
  | { readonly kind: "remote"; readonly name: string; readonly size: number };

/** In bytes. */
export function sizeOf(body: StoredBody): number {
  return body.kind === "inline" ? body.bytes.byteLength : body.size;
}

/** What `writeResponse` gives values for, in its order. */
export const RESPONSE_COLUMNS = ["status_text", "headers", "body", "body_bytes", "chunks"];

export function writeResponse(response: StoredResponse | null): readonly SqlStorageValue[] {
  if (response === null) return [null, null, null, null, null];
  const { statusText, headers, body } = response;
  const pairs = JSON.stringify(headers);
  switch (body.kind) {
    case "inline":
      return [statusText, pairs, exactBuffer(body.bytes), body.bytes.byteLength, 0];
    case "chunks":
      return [statusText, pairs, null, body.size, body.count];
    case "remote":
      return [statusText, pairs, null, body.size, 0];
  }
}

/** `null` where the record has none, or does not keep it. */
export function readResponse(row: ResponseRow): StoredResponse | null {
  const { status, status_text, headers, body, body_bytes, chunks } = row;
  if (row.kept !== 1 || headers === null) return null;
  const pairs: StoredResponse["headers"] = JSON.parse(headers);
  return { status: status ?? 0, statusText: status_text ?? "", headers: pairs, body: storedBody() };

  function storedBody(): StoredBody {
    const size = body_bytes ?? 0;
    if (body !== null) return { kind: "inline", bytes: new Uint8Array(body) };
    const count = chunks ?? 0;
    return count > 0
      ? { kind: "chunks", name: row.attempt_id, count, size }
      : { kind: "remote", name: row.attempt_id, size };
  }
}
