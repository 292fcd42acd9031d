// Writes the response of a record to the record's row, and reads it back.

import { exactBuffer } from "./bodies.ts";

/** The columns of a record's row that its response needs. */
export interface ResponseRow {
  readonly bucket: number;
  readonly id: string;
  readonly attempt_id: string;
  readonly status: number | null;
  readonly kept: number | null;
  readonly status_text: string | null;
  readonly headers: string | null;
  /** 1: the body is in the row. `null`: no response. */
  readonly in_row: number | null;
  /** A body in the row, if it is small. */
  readonly body: ArrayBuffer | null;
  readonly body_bytes: number | null;
  readonly chunks: number | null;
}

export interface FoundResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: FoundBody;
}

/** A response to store. */
export interface StoredResponse extends FoundResponse {
  readonly body: StoredBody;
}

/** A kept body: in its record's row, in chunks, or in R2. Bodies in chunks or R2 are already written completely. */
export type StoredBody =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  | { readonly kind: "chunks"; readonly name: string; readonly count: number; readonly size: number }
  | { readonly kind: "remote"; readonly name: string; readonly size: number };

/** A body in its record's row. `name` is the id of the attempt that the row belongs to. */
export interface RowBody {
  readonly kind: "row";
  readonly bucket: number;
  readonly id: string;
  readonly name: string;
  readonly size: number;
}

/** A body as found: only a small body is read together with its row. */
export type FoundBody = StoredBody | RowBody;

/** Larger bodies are read from the row when they are sent: hundreds of duplicates may wait for the same body. */
const READ_WITH_ROW_BYTES = 16 * 1024;

/** In bytes. */
export function sizeOf(body: FoundBody): number {
  return body.kind === "inline" ? body.bytes.byteLength : body.size;
}

/** The columns for the values of `writeResponse`, in the same order. */
export const RESPONSE_COLUMNS = ["status_text", "headers", "body", "body_bytes", "chunks"];

/** The columns that `readResponse` reads besides the record's own. */
export const FOUND_RESPONSE_COLUMNS = `status_text, headers, body IS NOT NULL AS in_row, CASE WHEN length(body) <= ${READ_WITH_ROW_BYTES} THEN body END AS body, body_bytes, chunks`;

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

/** `null` when the record has no response or does not keep it. */
export function readResponse(row: ResponseRow): FoundResponse | null {
  const { bucket, id, attempt_id: name, status, status_text, headers, body, body_bytes, chunks } = row;
  if (row.kept !== 1 || headers === null) return null;
  const pairs: FoundResponse["headers"] = JSON.parse(headers);
  return { status: status ?? 0, statusText: status_text ?? "", headers: pairs, body: storedBody() };

  function storedBody(): FoundBody {
    const size = body_bytes ?? 0;
    if (body !== null) return { kind: "inline", bytes: new Uint8Array(body) };
    if (row.in_row === 1) return { kind: "row", bucket, id, name, size };
    const count = chunks ?? 0;
    return count > 0 ? { kind: "chunks", name, count, size } : { kind: "remote", name, size };
  }
}
