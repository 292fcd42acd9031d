// Writes the response of a record to the record's row, and reads it back.

import { type BodyNumber, bodyNumber } from "../record/units.ts";
import { exactBuffer, FIRST_CHUNK_KEY } from "./bodies.ts";
import { readStoredJson, readWhole, UnreadableError } from "./unreadable.ts";

/** Those that may be bytes. */
export interface ResponseColumns {
  /** Bytes: the envelope of an encrypted response. */
  readonly headers: string | ArrayBuffer | null;
  /** The body, if it is small. */
  readonly body: ArrayBuffer | null;
}

/** The columns of a record's row that its response needs. */
export interface ResponseRow extends ResponseColumns {
  readonly attempt_id: string;
  readonly status: number | null;
  readonly kept: number | null;
  readonly status_text: string | null;
  readonly body_bytes: number | null;
  readonly chunks: number | null;
  /** The body in chunks that belongs to the record, or will, if it gets any. */
  readonly body_number: number | null;
}

/** A response to store, or as it was found. */
export interface StoredResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: StoredBody;
}

/** The same for a response that only its caller can read. What is in memory, in chunks or in R2 is encrypted too. */
export interface EncryptedResponse {
  /** Status, headers and the size of the body, encrypted. */
  readonly envelope: Uint8Array;
  readonly body: StoredBody;
}

export type KeptResponse = StoredResponse | EncryptedResponse;

export function isEncrypted(response: KeptResponse): response is EncryptedResponse {
  return "envelope" in response;
}

/** The column `kept`: whether the response is stored, or stored encrypted. */
export const KEPT = { no: 0, open: 1, encrypted: 2 } as const;

/** The value of `kept` for a completed record. */
export function keptOf(isKept: boolean, response: KeptResponse | null): number {
  if (!isKept) return KEPT.no;
  return response !== null && isEncrypted(response) ? KEPT.encrypted : KEPT.open;
}

/** A kept body: whole in memory, in chunks, or in R2. Bodies in chunks or R2 are already written completely. */
export type StoredBody = { readonly kind: "inline"; readonly bytes: Uint8Array } | ChunkedBody | RemoteBody;

/** The first chunk has the response's headers beside it. */
export interface ChunkedBody {
  readonly kind: "chunks";
  readonly body: BodyNumber;
  readonly count: number;
  readonly size: number;
}

interface RemoteBody {
  readonly kind: "remote";
  readonly name: string;
  readonly size: number;
}

/**
 * The most bytes of headers and body in a record's row. To look up a record costs the same whatever lies in the rows (`npm run
 * bench -- rows`), but a row that is found is read whole, and hundreds of duplicates may wait for the same body. So a larger body
 * is in chunks, and read when it is sent.
 */
export const IN_ROW_BYTES = 16 * 1024;

/** Headers as they are stored. */
export function storedHeadText({ headers }: Pick<StoredResponse, "headers">): string {
  return JSON.stringify(headers);
}

/** Whether a response with a body of so many bytes is stored in its record's row, headers and body. */
export function fitsRow(response: KeptResponse, bodyBytes: number): boolean {
  return headBytes(response) + bodyBytes <= IN_ROW_BYTES;
}

function headBytes(response: KeptResponse): number {
  if (isEncrypted(response)) return response.envelope.byteLength;
  const { headers, statusText } = response;
  // Each pair takes six more characters as text.
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 6, statusText.length);
}

/** In bytes. */
export function sizeOf(body: StoredBody): number {
  return body.kind === "inline" ? body.bytes.byteLength : body.size;
}

/** The columns for the values of `writeResponse`, in the same order. */
export const RESPONSE_COLUMNS = ["status_text", "headers", "body", "body_bytes", "chunks"];

/** The columns that `readResponse` reads besides the record's own, and what they are joined with. */
export const RESPONSE_MEMBERS = ["status_text", "body_bytes", "chunks", "body_number"];
export const FOUND_RESPONSE_COLUMNS = `ifnull(headers, head) AS headers, CASE WHEN chunks = 1 AND body_bytes <= ${IN_ROW_BYTES} THEN bytes ELSE body END AS body`;
export const FIRST_CHUNKS = `LEFT JOIN chunks AS first ON first.number = CASE WHEN chunks > 0 THEN ${FIRST_CHUNK_KEY} END`;

export function writeResponse(response: KeptResponse | null): readonly SqlStorageValue[] {
  if (response === null) return [null, null, null, null, null];
  const { body } = response;
  const [statusText, head] = isEncrypted(response)
    ? [null, exactBuffer(response.envelope)]
    : // The first chunk has the headers beside it.
      [response.statusText, body.kind === "chunks" ? null : storedHeadText(response)];
  switch (body.kind) {
    case "inline":
      return [statusText, head, exactBuffer(body.bytes), body.bytes.byteLength, 0];
    case "chunks":
      return [statusText, head, null, body.size, body.count];
    case "remote":
      return [statusText, head, null, body.size, 0];
  }
}

/** `null` when the record has no response or does not keep it. */
export function readResponse(row: ResponseRow): KeptResponse | null {
  const { attempt_id: name, status, status_text, headers, body, body_bytes, chunks, body_number } = row;
  if (headers instanceof ArrayBuffer) {
    return row.kept === KEPT.encrypted ? { envelope: new Uint8Array(headers), body: storedBody() } : null;
  }
  if (row.kept !== KEPT.open || headers === null) return null;
  const pairs = readStoredJson(headers, "a response's headers", isHeaders);
  if (status === null || status_text === null) throw new UnreadableError("a response's status");
  return { status, statusText: status_text, headers: pairs, body: storedBody() };

  function storedBody(): StoredBody {
    const size = readWhole(body_bytes, "the size of a response");
    const count = readWhole(chunks, "the pieces of a response");
    if (body !== null) return { kind: "inline", bytes: new Uint8Array(body) };
    if (count === 0 || body_number === null) return { kind: "remote", name, size };
    return { kind: "chunks", body: bodyNumber(body_number), count, size };
  }
}

function isHeaders(value: unknown): value is StoredResponse["headers"] {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string"))
  );
}
